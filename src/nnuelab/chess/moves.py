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
    is_attacked,
    king_square,
    piece_key,
    set_checkers,
    turn_key,
)
from nnuelab.jit import at, copy_record, inline, jit, lsb, popcount

# Typed like all constants that kernels are called with: a literal argument is compiled for anew.
NORMAL, DOUBLE_PUSH, CASTLING, EN_PASSANT = np.arange(4)
PROMOTION = np.int64(4)  # kinds 4..7 promote to knight, bishop, rook, queen
NO_MOVE = 0
MAX_MOVES = 512  # 218 is the most in a reachable position; more queens have some 300

_FILE_A, _FILE_H = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_RANK_3, _RANK_6 = np.uint64(0xFF << 16), np.uint64(0xFF << 40)
LAST_RANKS = np.uint64(0xFF000000000000FF)
_ONE, _SEVEN, _EIGHT, _NINE = np.uint64(1), np.uint64(7), np.uint64(8), np.uint64(9)
_ALL, _NONE = ~np.uint64(0), np.uint64(0)
# Squares that must be empty, by castling right: White's O-O and O-O-O, Black's
CASTLING_EMPTY = np.array([0x60, 0x0E, 0x60 << 56, 0x0E << 56], np.uint64)


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


_YES, _NO = np.bool_(True), np.bool_(False)
_START = np.int64(0)  # of a list

# A generator lists moves or counts them: `counting` is a constant in its callers, so each is
# compiled to a function of its own, and a set of targets is counted by one instruction. Constants
# are `loud`, too, whether captures, en passant and queen promotions belong to the list, and
# `quiet`, whether all other moves do.


@inline
def _add(out, n, square, targets, counting):
    if counting:
        return n + popcount(targets)
    while targets:
        out[at(n)] = pack(square, lsb(targets), NORMAL)
        n += 1
        targets &= targets - _ONE
    return n


@inline
def _add_pawns(out, n, targets, step, move_kind, loud, quiet, counting):
    """Moves of pawns to ``targets``, each from ``step`` squares before its target."""
    promotions = targets & LAST_RANKS
    if counting:
        return n + popcount(targets) + 3 * popcount(promotions)
    targets ^= promotions
    while targets:
        square = lsb(targets)
        targets &= targets - _ONE
        out[at(n)] = pack(square - step, square, move_kind)
        n += 1
    while promotions:
        square = lsb(promotions)
        promotions &= promotions - _ONE
        if loud:
            out[at(n)] = pack(square - step, square, PROMOTION + QUEEN - KNIGHT)
            n += 1
        if quiet:
            for role in range(KNIGHT, QUEEN):
                out[at(n)] = pack(square - step, square, PROMOTION + role - KNIGHT)
                n += 1
    return n


@inline
def _pawn_moves(position, out, n, loud, quiet, counting, allowed, occupied, enemy, king):
    """All pawns at once; a pinned one only moves along its pin, a line through the king."""
    us = np.int64(position.turn)
    white = us == WHITE
    free = position.roles[PAWN] & position.colors[us]
    pinned = free & position.pinned
    free ^= pinned
    taken = enemy & allowed & (_ALL if loud else LAST_RANKS)
    takers = free | (pinned & attacks.diagonal(king))
    targets = (takers & ~_FILE_H) << _NINE if white else (takers & ~_FILE_A) >> _NINE
    step = 9 if white else -9
    n = _add_pawns(out, n, targets & taken, step, NORMAL, loud, quiet, counting)
    takers = free | (pinned & attacks.antidiagonal(king))
    targets = (takers & ~_FILE_A) << _SEVEN if white else (takers & ~_FILE_H) >> _SEVEN
    step = 7 if white else -7
    n = _add_pawns(out, n, targets & taken, step, NORMAL, loud, quiet, counting)
    walkers = free | (pinned & (_FILE_A << np.uint64(king & 7)))
    step = 8 if white else -8
    if white:
        targets = (walkers << _EIGHT) & ~occupied
        doubles = ((targets & _RANK_3) << _EIGHT) & ~occupied & allowed
    else:
        targets = (walkers >> _EIGHT) & ~occupied
        doubles = ((targets & _RANK_6) >> _EIGHT) & ~occupied & allowed
    targets &= allowed & (_ALL if quiet else LAST_RANKS)
    n = _add_pawns(out, n, targets, step, NORMAL, loud, quiet, counting)
    if quiet:
        n = _add_pawns(out, n, doubles, 2 * step, DOUBLE_PUSH, loud, quiet, counting)
    if loud and position.ep != NO_SQUARE:
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
            out[at(n)] = pack(start, square, EN_PASSANT)
            n += 1
    return n


@inline
def _piece_moves(position, out, n, counting, allowed, occupied, king):
    us = np.int64(position.turn)
    own = position.colors[us]
    knights = position.roles[KNIGHT] & own & ~position.pinned  # a pinned knight never moves
    while knights:
        square = lsb(knights)
        knights &= knights - _ONE
        n = _add(out, n, square, attacks.knight(square) & allowed, counting)
    diagonal = (position.roles[BISHOP] | position.roles[QUEEN]) & own
    while diagonal:
        square = lsb(diagonal)
        diagonal &= diagonal - _ONE
        targets = attacks.bishop(square, occupied) & allowed
        if position.pinned & bit(square):
            targets &= attacks.line(king, square)
        n = _add(out, n, square, targets, counting)
    straight = (position.roles[ROOK] | position.roles[QUEEN]) & own
    while straight:
        square = lsb(straight)
        straight &= straight - _ONE
        targets = attacks.rook(square, occupied) & allowed
        if position.pinned & bit(square):
            targets &= attacks.line(king, square)
        n = _add(out, n, square, targets, counting)
    return n


@inline
def _castling_moves(position, out, n, us, king, safe_steps, occupied):
    for side in range(2):  # 0 short, 1 long
        right = 2 * us + side
        if position.castling & (1 << right) and not occupied & CASTLING_EMPTY[right]:
            step = -1 if side else 1
            passes = safe_steps & bit(king + step)
            if passes and not is_attacked(position, king + 2 * step, occupied, us):
                out[at(n)] = pack(king, king + 2 * step, CASTLING)
                n += 1
    return n


@inline
def _generate(position, out, n, loud, quiet, counting):
    us = np.int64(position.turn)
    own, enemy = position.colors[us], position.colors[us ^ 1]
    occupied = own | enemy
    king = king_square(position, us)
    targets = (enemy if loud else _NONE) | (~occupied if quiet else _NONE)
    without_king = occupied ^ bit(king)
    steps = attacks.king(king) & targets
    safe = steps
    while steps:
        square = lsb(steps)
        steps &= steps - _ONE
        if is_attacked(position, square, without_king, us):
            safe ^= bit(square)
    n = _add(out, n, king, safe, counting)
    checkers = position.checkers
    evasions = _ALL
    if checkers:
        if checkers & (checkers - _ONE):
            return n  # only the king can answer a double check
        evasions = checkers | attacks.between(king, lsb(checkers))
    elif quiet and position.castling:
        n = _castling_moves(position, out, n, us, king, safe, occupied)
    n = _piece_moves(position, out, n, counting, targets & evasions, occupied, king)
    return _pawn_moves(position, out, n, loud, quiet, counting, evasions, occupied, enemy, king)


@jit
def legal_moves(position, out):
    """Writes all legal moves to ``out`` (int64, at least MAX_MOVES) and returns their number."""
    return _generate(position, out, _START, _YES, _YES, _NO)


@jit
def captures(position, out, n):
    """Writes legal captures, en passant and queen promotions to out[n:]; returns the list's end."""
    return _generate(position, out, n, _YES, _NO, _NO)


@jit
def quiet_moves(position, out, n):
    """Writes all other legal moves to out[n:]; returns the list's end."""
    return _generate(position, out, n, _NO, _YES, _NO)


@jit
def count_moves(position, scratch):
    """The number of legal moves; ``scratch`` (int64, at least MAX_MOVES) is overwritten."""
    return _generate(position, scratch, _START, _YES, _YES, _YES)


@inline
def piece_attacks(role, square, occupied):
    """Squares that a piece of a role, but for pawns, attacks when ``occupied`` squares block."""
    targets = attacks.king(square)
    if role == KNIGHT:
        targets = attacks.knight(square)
    elif role == BISHOP:
        targets = attacks.bishop(square, occupied)
    elif role == ROOK:
        targets = attacks.rook(square, occupied)
    elif role == QUEEN:
        targets = attacks.queen(square, occupied)
    return targets


@inline
def _reaches(position, start, square, move_kind, us):
    """Whether the piece on ``start`` moves to ``square`` like that, its king aside."""
    role = np.int64(position.board[start]) >> 1
    own, enemy = position.colors[us], position.colors[us ^ 1]
    occupied = own | enemy
    if role == PAWN:
        forward = 8 if us == WHITE else -8
        if (square < 8 or square >= 56) != (move_kind >= PROMOTION):
            return False
        if move_kind == DOUBLE_PUSH:
            starts = start >> 3 == (1 if us == WHITE else 6)
            path = bit(start + forward) | bit(square)
            return starts and square - start == 2 * forward and not occupied & path
        if square - start == forward:
            return not occupied & bit(square)
        return attacks.pawn(us, start) & enemy & bit(square) != 0
    if move_kind != NORMAL:
        return False
    return piece_attacks(role, start, occupied) & ~own & bit(square) != 0


@jit
def is_surely_legal(position, move):
    """Whether any 15 bits are a legal move; castling and en passant are left to the generator.

    Much cheaper than a list: for a move that comes from elsewhere, as out of a table.
    """
    us = np.int64(position.turn)
    start, square, move_kind = origin(move), target(move), kind(move)
    piece = np.int64(position.board[start])
    if piece == EMPTY or piece & 1 != us or move_kind in (CASTLING, EN_PASSANT):
        return False
    if not _reaches(position, start, square, move_kind, us):
        return False
    king = king_square(position, us)
    if start == king:
        occupied = position.colors[0] | position.colors[1]
        return not is_attacked(position, square, occupied ^ bit(king), us)
    if position.pinned & bit(start) and not attacks.line(king, start) & bit(square):
        return False
    checkers = position.checkers
    if not checkers:
        return True
    if checkers & (checkers - _ONE):
        return False
    return (checkers | attacks.between(king, lsb(checkers))) & bit(square) != 0


def _castling_kept() -> np.ndarray:
    """Castling rights that survive a move from or to each square."""
    kept = np.full(64, 15, np.uint8)
    for square, lost in ((0, 2), (4, 3), (7, 1), (56, 8), (60, 12), (63, 4)):
        kept[square] ^= lost
    return kept


CASTLING_KEPT = _castling_kept()


@inline
def _toggle(position, piece, square):
    """Puts a piece on the bitboards or takes it off; returns its Zobrist number."""
    position.roles[piece >> 1] ^= bit(square)
    position.colors[piece & 1] ^= bit(square)
    return piece_key(piece, square)


@inline
def likely_key(position, move):
    """The key after any 15 bits of a move, but for castling, en passant, promotions and rights."""
    start, square = origin(move), target(move)
    piece, captured = np.int64(position.board[start]), np.int64(position.board[square])
    key = position.key ^ turn_key() ^ ep_key(position.ep)
    return key ^ piece_key(piece, start) ^ piece_key(piece, square) ^ piece_key(captured, square)


@jit
def make(old, new, move):
    """Writes the position after a legal ``move`` in ``old`` to ``new``; ``old`` stays as it is."""
    copy_record(new, old)
    us = np.int64(new.turn)
    start, square, move_kind = origin(move), target(move), kind(move)
    piece = np.int64(new.board[start])
    captured = np.int64(new.board[square])
    castling = np.int64(new.castling)
    key = new.key ^ turn_key()
    halfmove = new.halfmove + 1
    if new.ep != NO_SQUARE:
        key ^= ep_key(new.ep)
        new.ep = NO_SQUARE
    if captured != EMPTY:
        key ^= _toggle(new, captured, square)
        halfmove = 0
    new.board[start] = EMPTY
    key ^= _toggle(new, piece, start)
    if piece >> 1 == PAWN:
        halfmove = 0
        if move_kind >= PROMOTION:
            piece = 2 * (move_kind - PROMOTION + KNIGHT) + us
        elif move_kind == EN_PASSANT:
            new.board[square ^ 8] = EMPTY
            key ^= _toggle(new, 2 * PAWN + (us ^ 1), square ^ 8)
    new.board[square] = piece
    key ^= _toggle(new, piece, square)
    if move_kind == CASTLING:
        short = square > start
        corner, beside = square + 1 if short else square - 2, square - 1 if short else square + 1
        rook = 2 * ROOK + us
        new.board[corner] = EMPTY
        new.board[beside] = rook
        key ^= _toggle(new, rook, corner) ^ _toggle(new, rook, beside)
    if castling:
        kept = castling & np.int64(CASTLING_KEPT[start] & CASTLING_KEPT[square])
        if kept != castling:
            key ^= castling_key(castling) ^ castling_key(kept)
            new.castling = kept
    new.halfmove = halfmove
    new.fullmove += us
    new.turn = us ^ 1
    new.key = key
    set_checkers(new)
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
    new.turn ^= 1
    new.key ^= turn_key()
    set_checkers(new)
