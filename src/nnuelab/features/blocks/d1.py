"""D1: which pieces stand on each falling diagonal (a8-h1 and its parallels)."""

from nnuelab.features import COLORS, DIAGS1, ROLES, diagonal1_of, piece_square


@piece_square("D1", DIAGS1, ROLES, COLORS)
def on_diagonal1(square, role, color):
    """A piece of role r and colour c stands on falling diagonal d."""
    return diagonal1_of(square), role, color
