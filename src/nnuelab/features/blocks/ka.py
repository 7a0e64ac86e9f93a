"""KA: the study's KING-ALL, a table of ALL for each square of the own king."""

from nnuelab.features import (
    COLORS,
    FILES,
    KING_SQUARES,
    RANKS,
    ROLES,
    file_of,
    king_piece,
    rank_of,
)


@king_piece("KA", KING_SQUARES, FILES, RANKS, ROLES, COLORS, aliases=("KINGALL",))
def king_all(king, square, role, color):
    """The own king stands on k, and a piece of role r and colour c on the square."""
    return king, file_of(square), rank_of(square), role, color
