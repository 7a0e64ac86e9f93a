"""PH: pairs of neighbours on each rank, indexed as in the study."""

from nnuelab.features import COLORS_ENEMY_FIRST, RANKS, ROLES, neighbours


@neighbours("PH", RANKS, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=RANKS)
def on_rank(line, role, color, other_role, other_color):
    """On rank k, piece 1 stands left of piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color
