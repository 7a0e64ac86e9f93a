"""Attacks and mobility: a set of squares for each role and colour.

Sets are uint64[12] by piece code (role * 2 + colour). They are computed whole: with fills instead
of tables (:mod:`nnuelab.chess.fills`) that costs less than finding out what a move has touched.
Only where the pieces stand is read, so both colours are treated alike, whoever's turn it is.
"""

import numpy as np

from nnuelab.chess import attacks, fills
from nnuelab.chess.attacks import bit
from nnuelab.chess.position import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK
from nnuelab.jit import inline, jit, lsb

# Typed like all constants that kernels are called with: a literal argument is compiled for anew.
_WHITE, _BLACK = np.int64(0), np.int64(1)
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_SEVEN, _EIGHT, _NINE = np.uint64(7), np.uint64(8), np.uint64(9)
_NOT_FILE_A, _NOT_FILE_H = ~np.uint64(0x0101010101010101), ~np.uint64(0x8080808080808080)


@inline
def _pawn_attacks(pawns, color):
    """Squares that pawns of a colour attack."""
    if color == _WHITE:
        return (pawns & _NOT_FILE_A) << _SEVEN | (pawns & _NOT_FILE_H) << _NINE
    return (pawns & _NOT_FILE_A) >> _NINE | (pawns & _NOT_FILE_H) >> _SEVEN


@inline
def pawn_steps(pawns, color):
    """Squares in front of pawns of a colour."""
    return pawns << _EIGHT if color == _WHITE else pawns >> _EIGHT


@inline
def reaching(position, squares):
    """Pieces of both colours that attack at least one of ``squares`` (uint64)."""
    queens = position.roles[QUEEN]
    pawns = position.roles[PAWN]
    straight, diagonal = fills.sliders(
        squares, squares, ~(position.colors[_WHITE] | position.colors[_BLACK])
    )
    # A pawn attacks where a pawn of the other colour would attack it from.
    found = _pawn_attacks(squares, _BLACK) & pawns & position.colors[_WHITE]
    found |= _pawn_attacks(squares, _WHITE) & pawns & position.colors[_BLACK]
    found |= fills.knights(squares) & position.roles[KNIGHT]
    found |= straight & (position.roles[ROOK] | queens)
    found |= diagonal & (position.roles[BISHOP] | queens)
    for color in range(2):
        king = position.roles[KING] & position.colors[color]
        if attacks.king(lsb(king)) & squares:
            found |= king
    return found


@inline
def _attacked_by(position, us, sets):
    own, empty = position.colors[us], ~(position.colors[0] | position.colors[1])
    queens = position.roles[QUEEN] & own
    straight, diagonal = fills.sliders(
        position.roles[ROOK] & own, position.roles[BISHOP] & own, empty
    )
    queens_straight, queens_diagonal = fills.sliders(queens, queens, empty)
    sets[2 * PAWN + us] = _pawn_attacks(position.roles[PAWN] & own, us)
    sets[2 * KNIGHT + us] = fills.knights(position.roles[KNIGHT] & own)
    sets[2 * BISHOP + us] = diagonal
    sets[2 * ROOK + us] = straight
    sets[2 * QUEEN + us] = queens_straight | queens_diagonal
    sets[2 * KING + us] = attacks.king(lsb(position.roles[KING] & own))


@inline
def attacked(position, sets):
    """Squares that the pieces of each role and colour attack, whatever is there, ignoring pins.

    Parameters
    ----------
    position : POSITION
    sets : uint64[12], written
    """
    _attacked_by(position, _WHITE, sets)
    _attacked_by(position, _BLACK, sets)


@inline
def attackers(position, sets):
    """Enemy pieces that attack at least one piece of each role and colour.

    Parameters
    ----------
    position : POSITION
    sets : uint64[12], written
    """
    for piece in range(12):
        color = piece & 1
        victims = position.roles[piece >> 1] & position.colors[color]
        sets[piece] = reaching(position, victims) & position.colors[color ^ 1]


@inline
def _moves(position, movers, us):
    """Squares that a colour's ``movers`` of each role but the king could go to, checks aside."""
    own, enemy = position.colors[us], position.colors[us ^ 1]
    empty = ~(own | enemy)
    straight, diagonal = fills.sliders(
        position.roles[ROOK] & movers, position.roles[BISHOP] & movers, empty
    )
    queens = position.roles[QUEEN] & movers
    queens_straight, queens_diagonal = fills.sliders(queens, queens, empty)
    pawns = position.roles[PAWN] & movers
    by_pawns = (_pawn_attacks(pawns, us) & enemy) | (pawn_steps(pawns, us) & empty)
    by_knights = fills.knights(position.roles[KNIGHT] & movers)
    return by_pawns, by_knights, diagonal, straight, queens_straight | queens_diagonal


@jit
def _moves_with_pins(position, pinned, us):
    """The same of all pieces when some are pinned: those only move on the line of their king."""
    own = position.colors[us]
    king = lsb(position.roles[KING] & own)
    pawns, knights, bishops, rooks, queens = _moves(position, own & ~pinned, us)
    while pinned:  # a knight has no square on the line
        square = lsb(pinned)
        pinned &= pinned - _ONE
        line = attacks.line(king, square)
        by_pawn, _, by_bishop, by_rook, by_queen = _moves(position, bit(square), us)
        pawns |= by_pawn & line
        bishops |= by_bishop & line
        rooks |= by_rook & line
        queens |= by_queen & line
    return pawns, knights, bishops, rooks, queens


@inline
def _mobility_of(position, us, sets):
    them = us ^ 1
    own, enemy = position.colors[us], position.colors[them]
    empty = ~(own | enemy)
    queens = position.roles[QUEEN]
    straight = (position.roles[ROOK] | queens) & enemy
    diagonal = (position.roles[BISHOP] | queens) & enemy
    king_bit = position.roles[KING] & own
    king = lsb(king_bit)
    # A king doesn't hide from a slider behind itself.
    danger, more_danger = fills.sliders(straight, diagonal, empty | king_bit)
    danger |= more_danger
    danger |= fills.knights(position.roles[KNIGHT] & enemy)
    danger |= _pawn_attacks(position.roles[PAWN] & enemy, them)
    danger |= attacks.king(lsb(position.roles[KING] & enemy))
    sets[2 * KING + us] = attacks.king(king) & ~own & ~danger

    pawns, knights, bishops, rooks, queens = _moves(position, own, us)
    checkers, pinned = fills.checks_and_pins(king_bit, own, straight, diagonal, empty)
    if pinned:
        pawns, knights, bishops, rooks, queens = _moves_with_pins(position, pinned, us)
    checkers |= attacks.pawn(us, king) & position.roles[PAWN] & enemy
    checkers |= attacks.knight(king) & position.roles[KNIGHT] & enemy
    allowed = ~own
    if checkers:
        # One checker can be taken or shut out, two can't.
        allowed = checkers | attacks.between(king, lsb(checkers))
        if checkers & (checkers - _ONE):
            allowed = _ZERO
    sets[2 * PAWN + us] = pawns & allowed
    sets[2 * KNIGHT + us] = knights & allowed
    sets[2 * BISHOP + us] = bishops & allowed
    sets[2 * ROOK + us] = rooks & allowed
    sets[2 * QUEEN + us] = queens & allowed


@inline
def mobility(position, sets):
    """Squares that the pieces of each role and colour can move to, whoever's turn it is.

    The study's rule: attack sets without squares of the own colour; of pawns, captures of enemy
    pieces and the single push; only where the own king is not attacked afterwards. Neither
    castling, en passant nor double pushes.

    Parameters
    ----------
    position : POSITION
    sets : uint64[12], written
    """
    _mobility_of(position, _WHITE, sets)
    _mobility_of(position, _BLACK, sets)
