"""D2: which pieces stand on each rising diagonal (a1-h8 and its parallels)."""

from nnuelab.features import COLORS, DIAGS2, ROLES, diagonal2_of, piece_square


@piece_square("D2", DIAGS2, ROLES, COLORS)
def on_diagonal2(square, role, color):
    """A piece of role r and colour c stands on rising diagonal d."""
    return diagonal2_of(square), role, color
