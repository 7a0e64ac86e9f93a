"""Sets of squares around pawns, for a whole bitboard at once: shifts and fills, without tables.

Seen by White, whose pawns move towards higher ranks: the player's own when the board is turned over
for Black, as feature blocks have it. Every set is a uint64; squares beyond an edge are lost.
"""

import numpy as np

from nnuelab.chess.position import BLACK, PAWN, WHITE
from nnuelab.jit import inline

_ONE, _EIGHT, _SIXTEEN, _THIRTY_TWO = (np.uint64(n) for n in (1, 8, 16, 32))
_NOT_FILE_A, _NOT_FILE_H = ~np.uint64(0x0101010101010101), ~np.uint64(0x8080808080808080)


@inline
def pawns_of(position, color):
    """Squares of the pawns of a colour."""
    return position.roles[PAWN] & position.colors[color]


@inline
def ahead(squares):
    """All squares on a file with one of ``squares`` and on a higher rank than that."""
    found = squares << _EIGHT
    found |= found << _EIGHT
    found |= found << _SIXTEEN
    return found | found << _THIRTY_TWO


@inline
def behind(squares):
    """All squares on a file with one of ``squares`` and on a lower rank than that."""
    found = squares >> _EIGHT
    found |= found >> _EIGHT
    found |= found >> _SIXTEEN
    return found | found >> _THIRTY_TWO


@inline
def files(squares):
    """All squares of the files that ``squares`` are on."""
    return squares | ahead(squares) | behind(squares)


@inline
def beside(squares):
    """The left and right neighbours of ``squares``."""
    return (squares & _NOT_FILE_A) >> _ONE | (squares & _NOT_FILE_H) << _ONE


@inline
def attacked_upwards(pawns):
    """Squares that White's pawns on ``pawns`` attack."""
    return beside(pawns) << _EIGHT


@inline
def attacked_downwards(pawns):
    """Squares that Black's pawns on ``pawns`` attack."""
    return beside(pawns) >> _EIGHT


@inline
def pawn_attacks(pawns, color):
    """Squares that a colour's pawns on ``pawns`` attack."""
    return attacked_upwards(pawns) if color == WHITE else attacked_downwards(pawns)


@inline
def passed(position):
    """White's pawns that no pawn of either colour stands in the way of.

    None of Black's is in front of them, on their file or beside it, and none of White's on it.
    """
    own, enemy = pawns_of(position, WHITE), pawns_of(position, BLACK)
    return own & ~behind(own | enemy | beside(enemy))


@inline
def pawns_moved(old, new):
    """Whether pawns of either colour are on other squares in one position than in the other."""
    moved = pawns_of(old, WHITE) ^ pawns_of(new, WHITE)
    moved |= pawns_of(old, BLACK) ^ pawns_of(new, BLACK)
    return moved != 0
