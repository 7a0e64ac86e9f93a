"""A board of five bitboards, for reading games: only played moves are made, none is generated.

The bits of the piece codes (role * 2 + colour), one plane for each, and the occupied squares. A
capture needs no test, a record is packed from the planes as they are, and whether a move is legal
is asked of the one that was played. A third of the time of `position` and `moves`.
"""

import numpy as np

from nnuelab.chess import attacks
from nnuelab.chess.attacks import bit
from nnuelab.chess.moves import (
    CASTLING,
    CASTLING_EMPTY,
    CASTLING_KEPT,
    DOUBLE_PUSH,
    EN_PASSANT,
    NORMAL,
    PROMOTION,
    pack,
)
from nnuelab.chess.movetext import ANY_PIECE, CASTLES_LONG, NO_MOVE
from nnuelab.chess.position import BISHOP, KING, KNIGHT, NO_SQUARE, PAWN, QUEEN, ROOK
from nnuelab.jit import at, inline, jit, lsb

BOARD = np.dtype(
    [
        ("occupied", "u8"),
        ("black", "u8"),  # bit 0 of the code
        ("ones", "u8"),  # bits 0, 1 and 2 of the role
        ("twos", "u8"),
        ("fours", "u8"),
        ("turn", "i8"),
        ("castling", "i8"),
        ("ep", "i8"),  # target square of a legal en-passant capture, else NO_SQUARE
        ("halfmove", "i8"),
        ("ply", "i8"),
    ]
)

ILLEGAL, AMBIGUOUS = -np.arange(1, 3)
"""In place of a move: no legal move fits, more than one does."""

_ONE, _NONE, _ALL = np.uint64(1), np.uint64(0), ~np.uint64(0)
_EIGHT, _FILE_A = np.uint64(8), np.uint64(0x0101010101010101)
_RANK_2, _RANK_7 = np.uint64(0xFF << 8), np.uint64(0xFF << 48)
_REACH = np.zeros((6, 64), np.uint64)  # of a role on an empty board; nothing for pawns
_ODD, _TWO, _FOUR = np.array(
    [[(role >> i & 1) * int(_ALL) for role in range(6)] for i in range(3)], np.uint64
)


@jit
def _fill_reach(reach):
    for square in range(64):
        reach[KNIGHT, square] = attacks.knight(square)
        reach[BISHOP, square] = attacks.bishop(square, _NONE)
        reach[ROOK, square] = attacks.rook(square, _NONE)
        reach[QUEEN, square] = attacks.queen(square, _NONE)
        reach[KING, square] = attacks.king(square)


_fill_reach(_REACH)


@jit
def set_board(board, position):
    """Writes a POSITION's pieces and state to a BOARD."""
    roles = position.roles
    board.occupied = position.colors[0] | position.colors[1]
    board.black = position.colors[1]
    board.ones = roles[KNIGHT] | roles[ROOK] | roles[KING]
    board.twos = roles[BISHOP] | roles[ROOK]
    board.fours = roles[QUEEN] | roles[KING]
    board.turn = position.turn
    board.castling = position.castling
    board.ep = position.ep
    board.halfmove = position.halfmove
    board.ply = 2 * (np.int64(position.fullmove) - 1) + np.int64(position.turn)


@inline
def _own(board, us):
    return board.occupied & (board.black ^ (np.uint64(us) - _ONE))


@inline
def _of_role(board, role):
    """Squares of both colours' pieces of a role."""
    i = at(role)
    return board.occupied & ~(
        (board.ones ^ _ODD[i]) | (board.twos ^ _TWO[i]) | (board.fours ^ _FOUR[i])
    )


@inline
def _is_attacked(board, square, occupied, enemy, us):
    """Whether one of ``enemy`` attacks a square when ``occupied`` squares block."""
    one, two, four = board.ones, board.twos, board.fours
    diagonal = ~one & (two | four) & enemy
    straight = ((one & two) | (four & ~one)) & enemy
    pawns, knights, kings = ~(one | two | four), one & ~(two | four), one & four
    found = attacks.bishop(square, occupied) & diagonal
    found |= attacks.rook(square, occupied) & straight
    found |= attacks.knight(square) & knights & enemy
    found |= attacks.pawn(us, square) & pawns & enemy
    found |= attacks.king(square) & kings & enemy
    return found != _NONE


@inline
def in_check(board):
    """Whether the side to move is in check."""
    us = np.int64(board.turn)
    own = _own(board, us)
    king = lsb(board.ones & board.fours & own)
    return _is_attacked(board, king, board.occupied, board.occupied ^ own, us)


@inline
def _is_safe(board, start, target, captured, us):
    """Whether the own king is not attacked after a move that captures on ``captured``."""
    own = _own(board, us)
    kings = board.ones & board.fours & own
    king = target if kings == bit(start) else lsb(kings)
    enemy = board.occupied & ~own & ~captured
    occupied = (board.occupied & ~(bit(start) | captured)) | bit(target)
    return not _is_attacked(board, king, occupied, enemy, us)


@inline
def find(board, role, origins, target, kind):
    """The one legal move that fits the result of `movetext.read_move`.

    Returns
    -------
    int64
        Packed as in ``chess.moves``, or ILLEGAL, AMBIGUOUS.
    """
    if role > KING:
        if role != ANY_PIECE:
            if role == NO_MOVE:
                return ILLEGAL
            return _castle(board, np.int64(role == CASTLES_LONG))
        role = _role_on(board, lsb(origins))
        if kind != NORMAL and role != PAWN:
            return ILLEGAL
        steps = (target & 7) - (lsb(origins) & 7)
        if role == KING and (steps == 2 or steps == -2):
            return _castle(board, np.int64(steps < 0)) if target >> 3 == 7 * board.turn else ILLEGAL
    us = np.int64(board.turn)
    own = _own(board, us)
    goal = bit(target)
    movers = _of_role(board, role) & own & origins
    if role == PAWN:
        movers, kind = _pawns(board, movers, goal, origins, target, kind, us)
    else:
        movers &= _REACH[at(role), at(target)]
    captured = goal & ~own
    if kind == EN_PASSANT:
        captured = bit(target ^ 8)
    if movers & (movers - _ONE):
        movers = _possible(board, movers, target, captured, us)
        if movers & (movers - _ONE):
            return AMBIGUOUS
    if not movers or own & goal:
        return ILLEGAL
    start = lsb(movers)
    if attacks.between(start, target) & board.occupied:
        return ILLEGAL
    if not _is_safe(board, start, target, captured, us):
        return ILLEGAL
    return pack(start, target, kind)


@inline
def _role_on(board, square):
    shift = np.uint64(square)
    return np.int64(
        (board.ones >> shift & _ONE)
        | (board.twos >> shift & _ONE) << _ONE
        | (board.fours >> shift & _ONE) << np.uint64(2)
    )


@jit
def _possible(board, movers, target, captured, us):
    """Those of several pieces that nothing keeps from the target."""
    found = _NONE
    while movers:
        start = lsb(movers)
        movers &= movers - _ONE
        free = not attacks.between(start, target) & board.occupied
        if free and _is_safe(board, start, target, captured, us):
            found |= bit(start)
    return found


@inline
def _pawns(board, pawns, goal, origins, target, kind, us):
    """Own ``pawns`` that can go to the target, and the kind of their move."""
    if (kind != NORMAL) != (target < 8 or target >= 56):
        return _NONE, kind
    if origins & (_FILE_A << np.uint64(target & 7)):  # SAN names the file of a pawn that captures
        one_back = goal >> _EIGHT if us == 0 else goal << _EIGHT
        free = one_back & ~board.occupied
        two_back = free >> _EIGHT & _RANK_2 if us == 0 else free << _EIGHT & _RANK_7
        pawns &= one_back | two_back
        if board.occupied & goal:
            pawns = _NONE
        return pawns, DOUBLE_PUSH if pawns & two_back else kind
    pawns &= attacks.pawn(us ^ 1, target)
    if target == board.ep:
        return pawns, EN_PASSANT
    return pawns if board.occupied & goal else _NONE, kind


@jit
def _castle(board, side):
    """Castling short (side 0) or long (1)."""
    us = np.int64(board.turn)
    right = 2 * us + side
    occupied = board.occupied
    if not board.castling >> right & 1 or occupied & CASTLING_EMPTY[right]:
        return ILLEGAL
    king = 4 + 56 * us
    step = 1 - 2 * side
    enemy = occupied & ~_own(board, us)
    for steps in range(3):
        if _is_attacked(board, king + steps * step, occupied, enemy, us):
            return ILLEGAL
    return pack(king, king + 2 * step, CASTLING)


@inline
def _put(board, squares, role, us):
    """Puts a piece on a square, replacing any other."""
    i = at(role)
    board.occupied |= squares
    board.black = board.black & ~squares | squares & (_NONE - np.uint64(us))
    board.ones = board.ones & ~squares | squares & _ODD[i]
    board.twos = board.twos & ~squares | squares & _TWO[i]
    board.fours = board.fours & ~squares | squares & _FOUR[i]


@inline
def _clear(board, squares):
    board.occupied &= ~squares
    board.black &= ~squares
    board.ones &= ~squares
    board.twos &= ~squares
    board.fours &= ~squares


@inline
def play(board, move):
    """Makes a legal move."""
    us = np.int64(board.turn)
    start, target, kind = move & 63, move >> 6 & 63, move >> 12
    role = _role_on(board, start)
    quiet = np.int64(role != PAWN) & ~np.int64(board.occupied >> np.uint64(target) & _ONE)
    board.halfmove = (board.halfmove + 1) * (quiet & 1)
    board.ep = NO_SQUARE
    _clear(board, bit(start))
    _put(board, bit(target), role, us)
    board.castling &= np.int64(CASTLING_KEPT[at(start)] & CASTLING_KEPT[at(target)])
    board.turn = us ^ 1
    board.ply += 1
    if kind != NORMAL:
        _finish(board, target, kind, us)


@jit
def _finish(board, target, kind, us):
    """The rest of moves that are not of the normal kind."""
    if kind == DOUBLE_PUSH:
        takers = _of_role(board, PAWN) & _own(board, us ^ 1) & attacks.pawn(us, target ^ 8)
        if takers and _possible(board, takers, target ^ 8, bit(target), us ^ 1):
            board.ep = target ^ 8
    elif kind == CASTLING:
        short = target & 7 == 6
        _clear(board, bit(target + 1 if short else target - 2))
        _put(board, bit(target - 1 if short else target + 1), ROOK, us)
    elif kind == EN_PASSANT:
        _clear(board, bit(target ^ 8))
    else:
        _put(board, bit(target), kind - PROMOTION + KNIGHT, us)
