"""PD1: pairs of neighbours on each falling diagonal (a8-h1 and its parallels)."""

from nnuelab.features import COLORS_ENEMY_FIRST, DIAGS1, ROLES, neighbours


@neighbours("PD1", DIAGS1, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=DIAGS1)
def on_diagonal1(line, role, color, other_role, other_color):
    """On falling diagonal d, piece 1 stands left of piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color
