"""Legal moves and how they change a position.

A move is an int64: from | to << 6 | kind << 12. Castling is written as the king's two squares.
"""

import numpy as np

from nnuelab.chess import attacks
from nnuelab.chess.attacks import bit
from nnuelab.chess.position import (
    BISHOP,
    EMPTY,
    KNIGHT,
    NO_SQUARE,
    PAWN,
    QUEEN,
    ROOK,
    WHITE,
    attackers,
    capturable_en_passant,
    castling_key,
    ep_key,
    king_square,
    piece_key,
    set_checkers,
    turn_key,
)
from nnuelab.jit import copy_record, inline, jit, lsb

NORMAL, DOUBLE_PUSH, CASTLING, EN_PASSANT = range(4)
PROMOTION = 4  # kinds 4..7 promote to knight, bishop, rook, queen
NO_MOVE = 0
MAX_MOVES = 512  # 218 is the most in a reachable position; more queens have some 300

_RANK_1, _RANK_8 = np.uint64(0xFF), np.uint64(0xFF << 56)
_ONE = np.uint64(1)
_ALL = ~np.uint64(0)
# Squares that must be empty, by castling right: White's O-O and O-O-O, Black's
_CASTLING_EMPTY = np.array([0x60, 0x0E, 0x60 << 56, 0x0E << 56], np.uint64)


@inline
def origin(move):
    """Square a move starts from."""
    return move & 63


@inline
def target(move):
    """Square a move goes to."""
    return (move >> 6) & 63


@inline
def kind(move):
    """NORMAL, DOUBLE_PUSH, CASTLING, EN_PASSANT, or PROMOTION + (role - KNIGHT)."""
    return (move >> 12) & 7


@inline
def is_promotion(move):
    """True for a pawn that becomes a piece."""
    return kind(move) >= PROMOTION


@inline
def is_capture(position, move):
    """True when a move takes something, en passant included."""
    return position.board[target(move)] != EMPTY or kind(move) == EN_PASSANT


@inline
def pack(from_square, to_square, move_kind):
    """The move as one integer."""
    return from_square | (to_square << 6) | (move_kind << 12)


@inline
def _add(out, n, square, targets):
    while targets:
        out[n] = pack(square, lsb(targets), NORMAL)
        n += 1
        targets &= targets - _ONE
    return n


@inline
def _add_pawn(out, n, square, to_square, captures_only):
    if to_square >= 56 or to_square < 8:
        out[n] = pack(square, to_square, PROMOTION + QUEEN - KNIGHT)
        n += 1
        if not captures_only:
            for role in range(KNIGHT, QUEEN):
                out[n] = pack(square, to_square, PROMOTION + role - KNIGHT)
                n += 1
    else:
        out[n] = pack(square, to_square, NORMAL)
        n += 1
    return n


@inline
def _pawn_moves(position, out, n, captures_only, allowed, occupied, enemy, king):
    us = np.int64(position.turn)
    forward = 8 if us == WHITE else -8
    promotion_rank = _RANK_8 if us == WHITE else _RANK_1
    start_rank = 1 if us == WHITE else 6
    pawns = position.roles[PAWN] & position.colors[us]
    while pawns:
        square = lsb(pawns)
        pawns &= pawns - _ONE
        mask = allowed
        if position.pinned & bit(square):
            mask &= attacks.line(king, square)
        captures = attacks.pawn(us, square) & enemy & mask
        while captures:
            n = _add_pawn(out, n, square, lsb(captures), captures_only)
            captures &= captures - _ONE
        push = square + forward
        if not occupied & bit(push):
            if mask & bit(push) and (not captures_only or promotion_rank & bit(push)):
                n = _add_pawn(out, n, square, push, captures_only)
            if not captures_only and square >> 3 == start_rank:
                double = push + forward
                if not occupied & bit(double) and mask & bit(double):
                    out[n] = pack(square, double, DOUBLE_PUSH)
                    n += 1
    if position.ep != NO_SQUARE:
        n = _en_passant_moves(position, out, n, us, king, occupied, enemy)
    return n


@inline
def _en_passant_moves(position, out, n, us, king, occupied, enemy):
    square = np.int64(position.ep)
    captured = square ^ 8
    pawns = attacks.pawn(us ^ 1, square) & position.roles[PAWN] & position.colors[us]
    while pawns:
        start = lsb(pawns)
        pawns &= pawns - _ONE
        after = (occupied ^ bit(start) ^ bit(captured)) | bit(square)
        if not attackers(position, king, after) & enemy & ~bit(captured):
            out[n] = pack(start, square, EN_PASSANT)
            n += 1
    return n


@inline
def _piece_moves(position, out, n, allowed, occupied, king):
    us = np.int64(position.turn)
    own = position.colors[us]
    knights = position.roles[KNIGHT] & own & ~position.pinned  # a pinned knight never moves
    while knights:
        square = lsb(knights)
        knights &= knights - _ONE
        n = _add(out, n, square, attacks.knight(square) & allowed)
    diagonal = (position.roles[BISHOP] | position.roles[QUEEN]) & own
    while diagonal:
        square = lsb(diagonal)
        diagonal &= diagonal - _ONE
        targets = attacks.bishop(square, occupied) & allowed
        if position.pinned & bit(square):
            targets &= attacks.line(king, square)
        n = _add(out, n, square, targets)
    straight = (position.roles[ROOK] | position.roles[QUEEN]) & own
    while straight:
        square = lsb(straight)
        straight &= straight - _ONE
        targets = attacks.rook(square, occupied) & allowed
        if position.pinned & bit(square):
            targets &= attacks.line(king, square)
        n = _add(out, n, square, targets)
    return n


@inline
def _castling_moves(position, out, n, us, king, occupied):
    enemy = position.colors[us ^ 1]
    for side in range(2):  # 0 short, 1 long
        right = 2 * us + side
        if position.castling & (1 << right) and not occupied & _CASTLING_EMPTY[right]:
            step = -1 if side else 1
            if (
                not attackers(position, king + step, occupied) & enemy
                and not attackers(position, king + 2 * step, occupied) & enemy
            ):
                out[n] = pack(king, king + 2 * step, CASTLING)
                n += 1
    return n


@inline
def _generate(position, out, captures_only):
    us = np.int64(position.turn)
    own, enemy = position.colors[us], position.colors[us ^ 1]
    occupied = own | enemy
    king = king_square(position, us)
    targets = enemy if captures_only else ~own
    n = 0
    without_king = occupied ^ bit(king)
    steps = attacks.king(king) & targets
    while steps:
        square = lsb(steps)
        steps &= steps - _ONE
        if not attackers(position, square, without_king) & enemy:
            out[n] = pack(king, square, NORMAL)
            n += 1
    checkers = position.checkers
    evasions = _ALL
    if checkers:
        if checkers & (checkers - _ONE):
            return n  # only the king can answer a double check
        evasions = checkers | attacks.between(king, lsb(checkers))
    elif not captures_only and position.castling:
        n = _castling_moves(position, out, n, us, king, occupied)
    n = _piece_moves(position, out, n, targets & evasions, occupied, king)
    return _pawn_moves(position, out, n, captures_only, evasions, occupied, enemy, king)


@jit
def legal_moves(position, out):
    """Writes all legal moves to ``out`` (int64, at least MAX_MOVES) and returns their number."""
    return _generate(position, out, False)


@jit
def captures(position, out):
    """Writes legal captures, en passant and queen promotions to ``out``; returns their number."""
    return _generate(position, out, True)


def _castling_kept() -> np.ndarray:
    """Castling rights that survive a move from or to each square."""
    kept = np.full(64, 15, np.uint8)
    for square, lost in ((0, 2), (4, 3), (7, 1), (56, 8), (60, 12), (63, 4)):
        kept[square] ^= lost
    return kept


_KEPT = _castling_kept()


@inline
def _remove(position, piece, square):
    position.roles[piece >> 1] ^= bit(square)
    position.colors[piece & 1] ^= bit(square)
    position.board[square] = EMPTY
    position.key ^= piece_key(piece, square)


@inline
def _put(position, piece, square):
    position.roles[piece >> 1] ^= bit(square)
    position.colors[piece & 1] ^= bit(square)
    position.board[square] = piece
    position.key ^= piece_key(piece, square)


@inline
def _pass_turn(position):
    position.turn ^= 1
    position.key ^= turn_key()
    set_checkers(position)


@jit
def make(old, new, move):
    """Writes the position after a legal ``move`` in ``old`` to ``new``; ``old`` stays as it is."""
    copy_record(new, old)
    us = np.int64(new.turn)
    start, square, move_kind = origin(move), target(move), kind(move)
    piece = np.int64(new.board[start])
    captured = np.int64(new.board[square])
    new.key ^= ep_key(new.ep) ^ castling_key(new.castling)
    new.ep = NO_SQUARE
    new.halfmove += 1
    new.fullmove += us
    if captured != EMPTY:
        _remove(new, captured, square)
        new.halfmove = 0
    _remove(new, piece, start)
    if piece >> 1 == PAWN:
        new.halfmove = 0
        if move_kind >= PROMOTION:
            piece = 2 * (move_kind - PROMOTION + KNIGHT) + us
        elif move_kind == EN_PASSANT:
            _remove(new, 2 * PAWN + (us ^ 1), square ^ 8)
    _put(new, piece, square)
    if move_kind == CASTLING:
        short = square > start
        _remove(new, 2 * ROOK + us, square + 1 if short else square - 2)
        _put(new, 2 * ROOK + us, square - 1 if short else square + 1)
    new.castling &= _KEPT[start] & _KEPT[square]
    new.key ^= castling_key(new.castling)
    _pass_turn(new)
    if move_kind == DOUBLE_PUSH and capturable_en_passant(new, square ^ 8):
        new.ep = square ^ 8
        new.key ^= ep_key(new.ep)


@jit
def make_null(old, new):
    """Writes the position after passing to ``new``; only when not in check."""
    copy_record(new, old)
    new.key ^= ep_key(new.ep)
    new.ep = NO_SQUARE
    new.halfmove += 1
    new.fullmove += new.turn
    _pass_turn(new)
