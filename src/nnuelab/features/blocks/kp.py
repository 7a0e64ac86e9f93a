"""KP: Half-KP, the first feature set of NNUE: the own king and each piece that is no king."""

from nnuelab.features import (
    COLORS,
    FILES,
    KING,
    KING_SQUARES,
    RANKS,
    ROLES_BUT_KING,
    file_of,
    king_piece,
    rank_of,
)


@king_piece("KP", KING_SQUARES, FILES, RANKS, ROLES_BUT_KING, COLORS, aliases=("HALFKP",))
def half_kp(king, square, role, color):
    """The own king stands on k, and a piece of role r (no king) and colour c on the square."""
    if role == KING:
        return None
    return king, file_of(square), rank_of(square), role, color
