"""V: which pieces stand on each rank."""

from nnuelab.features import COLORS, RANKS, ROLES, piece_square, rank_of


@piece_square("V", RANKS, ROLES, COLORS)
def on_rank(square, role, color):
    """A piece of role r and colour c stands on rank k."""
    return rank_of(square), role, color
