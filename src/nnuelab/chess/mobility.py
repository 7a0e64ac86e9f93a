"""Attacks and mobility: a set of squares for each role and colour.

Sets are uint64[12] by piece code (role * 2 + colour), of those pieces that stand on the squares
``movers``. They are computed whole: with fills instead of tables (:mod:`nnuelab.chess.fills`) that
costs less than finding out what a move has touched. Both colours are treated alike, whoever's turn
it is, and only where the pieces stand is read, but for castling.
"""

import numpy as np

from nnuelab.chess import attacks, fills
from nnuelab.chess.attacks import bit
from nnuelab.chess.moves import piece_attacks
from nnuelab.chess.pawns import pawn_attacks
from nnuelab.chess.position import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK
from nnuelab.jit import at, inline, jit, lsb

# Typed like all constants that kernels are called with: a literal argument is compiled for anew.
_WHITE, _BLACK = np.int64(0), np.int64(1)
_ONE, _ZERO = np.uint64(1), np.uint64(0)
_EIGHT = np.uint64(8)
EVERYWHERE = ~_ZERO
"""Movers: all pieces."""

_RANK_2, _RANK_7 = np.uint64(0xFF << 8), np.uint64(0xFF << 48)
# By side (king's, queen's), on rank 1: where the king passes, what has to be empty, where it ends.
_KING_PATHS = np.array([0x70, 0x1C], np.uint64)
_BETWEEN = np.array([0x60, 0x0E], np.uint64)
_CASTLED = np.array([0x40, 0x04], np.uint64)


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
    found = pawn_attacks(squares, _BLACK) & pawns & position.colors[_WHITE]
    found |= pawn_attacks(squares, _WHITE) & pawns & position.colors[_BLACK]
    found |= fills.knights(squares) & position.roles[KNIGHT]
    found |= straight & (position.roles[ROOK] | queens)
    found |= diagonal & (position.roles[BISHOP] | queens)
    for color in range(2):
        king = position.roles[KING] & position.colors[color]
        if attacks.king(lsb(king)) & squares:
            found |= king
    return found


@inline
def _king_attacks(king):
    """Squares that a king attacks, given as a bitboard, which may be empty."""
    return attacks.king(lsb(king)) if king else _ZERO


@inline
def _attacked_by(position, movers, us, sets):
    own, empty = position.colors[us] & movers, ~(position.colors[0] | position.colors[1])
    queens = position.roles[QUEEN] & own
    straight, diagonal = fills.sliders(
        position.roles[ROOK] & own, position.roles[BISHOP] & own, empty
    )
    queens_straight, queens_diagonal = fills.sliders(queens, queens, empty)
    sets[2 * PAWN + us] = pawn_attacks(position.roles[PAWN] & own, us)
    sets[2 * KNIGHT + us] = fills.knights(position.roles[KNIGHT] & own)
    sets[2 * BISHOP + us] = diagonal
    sets[2 * ROOK + us] = straight
    sets[2 * QUEEN + us] = queens_straight | queens_diagonal
    sets[2 * KING + us] = _king_attacks(position.roles[KING] & own)


@inline
def attacked(position, movers, sets):
    """Squares that the pieces of each role and colour attack, whatever is there, ignoring pins."""
    _attacked_by(position, movers, _WHITE, sets)
    _attacked_by(position, movers, _BLACK, sets)


@inline
def attackers(position, movers, sets):
    """Enemy pieces that attack at least one of the pieces of each role and colour."""
    for piece in range(12):
        color = piece & 1
        victims = position.roles[piece >> 1] & position.colors[color] & movers
        sets[piece] = reaching(position, victims) & position.colors[color ^ 1]


@inline
def _pawn_moves(position, pawns, us):
    """Squares that pawns of a colour could go to, checks aside."""
    enemy = position.colors[us ^ 1]
    empty = ~(position.colors[us] | enemy)
    return (pawn_attacks(pawns, us) & enemy) | (pawn_steps(pawns, us) & empty)


@inline
def _moves(position, movers, us):
    """Squares that a colour's ``movers`` of each role but the king could go to, checks aside.

    Those of its own pieces are among them, but for pawns.
    """
    empty = ~(position.colors[_WHITE] | position.colors[_BLACK])
    straight, diagonal = fills.sliders(
        position.roles[ROOK] & movers, position.roles[BISHOP] & movers, empty
    )
    queens = position.roles[QUEEN] & movers
    queens_straight, queens_diagonal = fills.sliders(queens, queens, empty)
    by_pawns = _pawn_moves(position, position.roles[PAWN] & movers, us)
    by_knights = fills.knights(position.roles[KNIGHT] & movers)
    return by_pawns, by_knights, diagonal, straight, queens_straight | queens_diagonal


@inline
def moves(position, movers, sets):
    """Squares that the pieces of each role and colour could go to, the safety of their king aside.

    The study's rule, see :func:`mobility`.
    """
    for us in range(2):
        own = position.colors[at(us)]
        pawns, knights, bishops, rooks, queens = _moves(position, own & movers, us)
        sets[2 * PAWN + us] = pawns
        sets[2 * KNIGHT + us] = knights & ~own
        sets[2 * BISHOP + us] = bishops & ~own
        sets[2 * ROOK + us] = rooks & ~own
        sets[2 * QUEEN + us] = queens & ~own
        sets[2 * KING + us] = _king_attacks(position.roles[KING] & own & movers) & ~own


@jit
def _moves_of_some(position, movers, us):
    """:func:`_moves` as a function of its own: it is seldom needed a second time."""
    return _moves(position, movers, us)


@inline
def _attacked(position, us, found):
    """Squares that a colour attacks, of whose pieces ``found`` is what :func:`_moves` found."""
    _, knights, bishops, rooks, queens = found
    own = position.colors[us]
    by_king = attacks.king(lsb(position.roles[KING] & own))
    by_pawns = pawn_attacks(position.roles[PAWN] & own, us)
    return by_king | by_pawns | knights | bishops | rooks | queens


@inline
def _safe_moves(position, movers, us, found, attacked, sets):
    """Writes the sets of a colour, whose pieces found some squares and whose enemy attacks some."""
    them = us ^ 1
    own, enemy = position.colors[us], position.colors[them]
    occupied = own | enemy
    queens = position.roles[QUEEN]
    straight = (position.roles[ROOK] | queens) & enemy
    diagonal = (position.roles[BISHOP] | queens) & enemy
    king_bit = position.roles[KING] & own
    king = lsb(king_bit)
    checkers, pinned = fills.checks_and_pins(king_bit, own, straight, diagonal, ~occupied)
    danger, sliders = attacked, checkers
    while sliders:  # a king doesn't hide from a slider behind itself
        slider = lsb(sliders)
        sliders &= sliders - _ONE
        danger |= attacks.line(king, slider) & ~bit(slider)
    sets[2 * KING + us] = _king_attacks(king_bit & movers) & ~own & ~danger

    free = own & movers & ~pinned
    if free != own:
        found = _moves_of_some(position, free, us)
    pawns, knights, bishops, rooks, queens = found
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
    pinned &= movers
    while pinned:  # on the line of the king there may be moves
        square = lsb(pinned)
        pinned &= pinned - _ONE
        role = np.int64(position.board[square]) >> 1
        if role == PAWN:
            targets = _pawn_moves(position, bit(square), us)
        else:
            targets = piece_attacks(role, square, occupied)
        sets[2 * role + us] |= targets & attacks.line(king, square) & allowed


@inline
def mobility(position, movers, sets):
    """Squares that the pieces of each role and colour can move to.

    The study's rule: attack sets without squares of the own colour; of pawns, captures of enemy
    pieces and the single push; only where the own king is not attacked afterwards. Neither
    castling, en passant nor double pushes.
    """
    white = _moves(position, position.colors[_WHITE], _WHITE)
    black = _moves(position, position.colors[_BLACK], _BLACK)
    _safe_moves(position, movers, _WHITE, white, _attacked(position, _BLACK, black), sets)
    _safe_moves(position, movers, _BLACK, black, _attacked(position, _WHITE, white), sets)


@inline
def pinned(position, movers, sets):
    """Where pieces of each role and colour stand that alone keep a slider from their king."""
    occupied = position.colors[0] | position.colors[1]
    for us in range(2):
        own, enemy = position.colors[at(us)], position.colors[at(us ^ 1)]
        queens = position.roles[QUEEN]
        _, found = fills.checks_and_pins(
            position.roles[KING] & own,
            own,
            (position.roles[ROOK] | queens) & enemy,
            (position.roles[BISHOP] | queens) & enemy,
            ~occupied,
        )
        for role in range(6):
            sets[2 * role + us] = position.roles[role] & found & movers


@inline
def double_steps(position, movers, sets):
    """Squares that pawns of each colour reach by their first, double step."""
    empty = ~(position.colors[0] | position.colors[1])
    for piece in range(12):
        sets[piece] = _ZERO
    white = position.roles[PAWN] & position.colors[_WHITE] & movers & _RANK_2
    black = position.roles[PAWN] & position.colors[_BLACK] & movers & _RANK_7
    sets[2 * PAWN] = ((white << _EIGHT) & empty) << _EIGHT & empty
    sets[2 * PAWN + 1] = ((black >> _EIGHT) & empty) >> _EIGHT & empty


@inline
def castling(position, movers, sets):
    """Squares that the king of each colour reaches by castling, which it has the right to."""
    occupied = position.colors[0] | position.colors[1]
    for piece in range(12):
        sets[piece] = _ZERO
    for us in range(2):
        king = position.roles[KING] & position.colors[at(us)] & movers
        rank = np.uint64(56 * us)
        for side in range(2):
            path = _KING_PATHS[side] << rank
            between = _BETWEEN[side] << rank
            if king and position.castling >> (2 * us + side) & 1 and not occupied & between:
                attacked = False
                while path:
                    square = path & (~path + _ONE)
                    path ^= square
                    attacked |= reaching(position, square) & position.colors[at(us ^ 1)] != _ZERO
                if not attacked:
                    sets[2 * KING + us] |= _CASTLED[side] << rank


@inline
def xrays(position, movers, sets):
    """Squares that sliders of each role and colour attack behind the first piece on their way."""
    occupied = position.colors[0] | position.colors[1]
    for piece in range(12):
        sets[piece] = _ZERO
    sliders = (position.roles[BISHOP] | position.roles[ROOK] | position.roles[QUEEN]) & movers
    while sliders:
        square = lsb(sliders)
        sliders &= sliders - _ONE
        kind = np.int64(position.board[square])
        if kind >> 1 != ROOK:
            seen = attacks.bishop(square, occupied)
            sets[kind] |= attacks.bishop(square, occupied & ~seen) & ~seen
        if kind >> 1 != BISHOP:
            seen = attacks.rook(square, occupied)
            sets[kind] |= attacks.rook(square, occupied & ~seen) & ~seen


@inline
def standing(position, movers, sets):
    """Where the pieces of each role and colour stand."""
    for piece in range(12):
        sets[piece] = position.roles[piece >> 1] & position.colors[piece & 1] & movers
