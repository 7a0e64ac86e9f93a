"""What one piece or one side attacks, as a set of squares; pins and checks don't count.

Sides by fills (:mod:`nnuelab.chess.fills`), whose time doesn't depend on the number of pieces.
"""

import numpy as np

from nnuelab.chess import attacks, fills
from nnuelab.chess.moves import piece_attacks
from nnuelab.chess.pawns import pawn_attacks, pawns_of
from nnuelab.chess.position import BISHOP, KING, KNIGHT, QUEEN, ROOK
from nnuelab.jit import jit, lsb

_NONE = np.uint64(0)


@jit
def attacks_of(role, square, occupied):
    """:func:`nnuelab.chess.moves.piece_attacks` as a function of its own, not inlined."""
    return piece_attacks(role, square, occupied)


@jit
def attacked_by_all_but_king(position, color):
    """Squares that a colour's pieces attack, those aside that its king alone does."""
    own = position.colors[color]
    queens = position.roles[QUEEN]
    straight, diagonal = fills.sliders(
        (position.roles[ROOK] | queens) & own,
        (position.roles[BISHOP] | queens) & own,
        ~(position.colors[0] | position.colors[1]),
    )
    by_pawns = pawn_attacks(pawns_of(position, color), color)
    return straight | diagonal | fills.knights(position.roles[KNIGHT] & own) | by_pawns


@jit
def attacked_by(position, color):
    """Squares that a colour attacks."""
    king = attacks.king(lsb(position.roles[KING] & position.colors[color]))
    return attacked_by_all_but_king(position, color) | king


@jit
def attacked_by_officers(position, color):
    """Squares that a colour's knights, bishops, rooks and queens attack, a set for each role."""
    own = position.colors[color]
    empty = ~(position.colors[0] | position.colors[1])
    queens = position.roles[QUEEN] & own
    rooks, bishops = fills.sliders(position.roles[ROOK] & own, position.roles[BISHOP] & own, empty)
    straight, diagonal = fills.sliders(queens, queens, empty) if queens else (_NONE, _NONE)
    return fills.knights(position.roles[KNIGHT] & own), bishops, rooks, straight | diagonal
