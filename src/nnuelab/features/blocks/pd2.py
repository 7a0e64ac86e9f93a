"""PD2: pairs of neighbours on each rising diagonal (a1-h8 and its parallels)."""

from nnuelab.features import COLORS_ENEMY_FIRST, DIAGS2, ROLES, neighbours


@neighbours("PD2", DIAGS2, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=DIAGS2)
def on_diagonal2(line, role, color, other_role, other_color):
    """On rising diagonal d, piece 1 stands left of piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color
