"""ALL: the usual 768 features of a chess NNUE."""

from nnuelab.features import COLORS, FILES, RANKS, ROLES, file_of, piece_square, rank_of


@piece_square("ALL", FILES, RANKS, ROLES, COLORS, aliases=("HV", "PIECE"))
def all_squares(square, role, color):
    """A piece of role r and colour c stands on the square."""
    return file_of(square), rank_of(square), role, color
