"""Kernels of `binpack` that read: chains of moves and scores to records."""

import numpy as np

from nnuelab.chess import attacks
from nnuelab.chess.attacks import bit
from nnuelab.chess.fen import complete, find_move
from nnuelab.chess.moves import (
    DOUBLE_PUSH,
    NO_MOVE,
    PROMOTION,
    is_surely_legal,
    make,
    piece_attacks,
)
from nnuelab.chess.moves import pack as move_of
from nnuelab.chess.position import (
    BLACK,
    EMPTY,
    KING,
    NO_SQUARE,
    PAWN,
    POSITION,
    ROOK,
    WHITE,
)
from nnuelab.data.records import NO_SCORE, pack
from nnuelab.jit import byteswap, inline, jit, local_record, lsb, popcount, word_at

STEM = np.int64(32)  # bytes: board 24, move 2, score 2, ply and result 2, half-move clock 2
HEAD = np.int64(34)  # a stem and the number of moves that follow it
MAX_CHAIN = np.int64(0xFFFF)
MOST_BYTES = np.int64(5)  # of a move and a score: 10 bits and 4 blocks of 5
MAX_PLY = np.int64(0x3FFF)
VALUE_NONE = np.int64(32_002)  # Stockfish's score of a position that has none
CUT_OFF, BAD_POSITION, BAD_RESULT, BAD_MOVE = np.arange(1, 5)
BLOCK = np.int64(4)  # bits of a score at once, each block with a bit for "more"
# Nibbles beyond the 12 pieces
PAWN_PASSED, WHITE_ROOK, BLACK_ROOK, BLACK_KING_TO_MOVE = np.arange(12, 16)
# Their castling right by corner a1, h1, a8, h8
CORNERS = np.array([0, 7, 56, 63])
CORNER_RIGHTS = np.array([2, 1, 8, 4])
_ZERO, _ONE = np.uint64(0), np.uint64(1)

_position = local_record(POSITION)


@inline
def _word(data, at):
    return (np.int64(data[at]) << 8) | np.int64(data[at + 1])


@inline
def _signed(value):
    """The number that is stored as ``value``: sign in bit 0, negative ones complemented."""
    if value & 1:
        return -(value >> 1) - 1
    return value >> 1


@inline
def int16(value):
    """The last 16 bits as a signed number."""
    return ((value + 0x8000) & 0xFFFF) - 0x8000


@inline
def width_of(n):
    """Bits needed to number ``n`` things."""
    bits = np.int64(0)
    while (1 << bits) < n:
        bits += 1
    return bits


@inline
def _nth(bits, n):
    """The square of the n-th lowest bit."""
    while n:
        bits &= bits - _ONE
        n -= 1
    return lsb(bits)


@inline
def _get(data, begin, stop, at, n):
    """``n`` bits, highest first, from bit ``at`` behind byte ``begin``; zeros from ``stop`` on."""
    first = begin + (at >> 3)
    if n and first + 8 <= stop:
        word = byteswap(word_at(data, first)) << np.uint64(at & 7)
        return np.int64(word >> np.uint64(64 - n))
    value = np.int64(0)
    for i in range(at, at + n):
        byte = begin + (i >> 3)
        got = np.int64(data[byte]) >> (7 - (i & 7)) & 1 if byte < stop else np.int64(0)
        value = (value << 1) | got
    return value


@inline
def targets_of(position, start, role, us):
    """Where a piece may go in the format's view: pseudo-legal targets without castling."""
    own, enemy = position.colors[us], position.colors[us ^ 1]
    occupied = own | enemy
    if role == PAWN:
        takes = enemy
        if position.ep != NO_SQUARE:
            takes |= bit(np.int64(position.ep))
        found = attacks.pawn(us, start) & takes
        forward = 8 if us == WHITE else -8
        if not occupied & bit(start + forward):
            found |= bit(start + forward)
            if start >> 3 == (1 if us == WHITE else 6) and not occupied & bit(start + 2 * forward):
                found |= bit(start + 2 * forward)
        return found
    return piece_attacks(role, start, occupied) & ~own


@inline
def rights_of(position, us):
    """Number of castling rights, and whether the long one is among them."""
    long = (np.int64(position.castling) >> (2 * us + 1)) & 1
    return ((np.int64(position.castling) >> (2 * us)) & 1) + long, long


@inline
def is_promoting(start, role, us):
    return role == PAWN and start >> 3 == (6 if us == WHITE else 1)


@jit
def _read_move(position, data, begin, stop, at, scratch):
    """The next move (NO_MOVE when it is illegal) and the bit behind it."""
    us = np.int64(position.turn)
    own = position.colors[us]
    n = np.int64(popcount(own))
    width = width_of(n)
    number = _get(data, begin, stop, at, width)
    at += width
    if number >= n:
        return np.int64(NO_MOVE), at
    start = _nth(own, number)
    role = np.int64(position.board[start]) >> 1
    targets = targets_of(position, start, role, us)
    n = np.int64(popcount(targets))
    promoting = is_promoting(start, role, us)
    choices = n
    long = np.int64(0)
    if promoting:
        choices = 4 * n
    elif role == KING:
        rights, long = rights_of(position, us)
        choices = n + rights
    width = width_of(choices)
    number = _get(data, begin, stop, at, width)
    at += width
    if number >= choices:
        return np.int64(NO_MOVE), at
    promotion = np.int64(0)
    if promoting:
        promotion = PROMOTION + (number & 3)
        number >>= 2
    if number >= n:
        square = start - 2 if number == n and long else start + 2
        return find_move(position, start, square, promotion, scratch), at
    square = _nth(targets, number)
    kind = promotion
    if role == PAWN:
        if square == position.ep:
            return find_move(position, start, square, promotion, scratch), at
        if abs(square - start) == 16:
            kind = np.int64(DOUBLE_PUSH)
    move = move_of(start, square, kind)
    return (move if is_surely_legal(position, move) else np.int64(NO_MOVE)), at


@jit
def _read_stem(data, at, position, scratch):
    """The position of a stem; whether it can be played from."""
    position.board[:] = EMPTY
    position.turn = WHITE
    position.castling = 0
    position.ep = NO_SQUARE
    occupied = _ZERO
    for i in range(8):
        occupied = (occupied << np.uint64(8)) | np.uint64(data[at + i])
    n = np.int64(0)
    passed = np.int64(-1)
    while occupied:
        square = lsb(occupied)
        occupied &= occupied - _ONE
        if n == 32:
            return False
        nibble = (np.int64(data[at + 8 + (n >> 1)]) >> (4 * (n & 1))) & 15
        n += 1
        piece = nibble
        if nibble == PAWN_PASSED:
            piece = np.int64(2 * PAWN + (BLACK if square >= 32 else WHITE))
            passed = square
        elif nibble in (WHITE_ROOK, BLACK_ROOK):
            piece = np.int64(2 * ROOK + (WHITE if nibble == WHITE_ROOK else BLACK))
            right = np.int64(0)
            for corner in range(4):
                if CORNERS[corner] == square:
                    right = CORNER_RIGHTS[corner]
            if right == 0 or (right < 4) != (nibble == WHITE_ROOK):
                return False
            position.castling |= right
        elif nibble == BLACK_KING_TO_MOVE:
            piece = np.int64(2 * KING + BLACK)
            position.turn = BLACK
        position.board[square] = piece
    if passed >= 0:
        position.ep = passed + 8 if passed >= 32 else passed - 8
    ply = _word(data, at + 28) & MAX_PLY
    position.halfmove = min(_word(data, at + 30), 255)
    position.fullmove = ply // 2 + 1
    return complete(position, scratch)


@jit
def _stem_move(position, packed, scratch):
    """The move of a stem; -1 when it is illegal."""
    if packed == 0:
        return np.int64(NO_MOVE)
    promotion = np.int64(0)
    if packed >> 14 == 1:
        promotion = PROMOTION + (packed & 3)
    move = find_move(position, (packed >> 8) & 63, (packed >> 2) & 63, promotion, scratch)
    return move if move != NO_MOVE else np.int64(-1)


@inline
def _fill(record, position, score, result, ply, move):
    pack(position, record)
    record.score = NO_SCORE if score == VALUE_NONE else score
    record.result = result
    record.ply = ply
    record.move = move
    record.padding = 0


@jit
def decode(data, at, size, records, wanted, scratch):
    """Decodes whole chains of a chunk.

    Parameters
    ----------
    data : uint8 [size or more]
    at, size : int64
        Where a chain begins; where the chunk ends.
    records : RECORD [more than MAX_CHAIN], written
        All but ``game``.
    wanted : int64
        No chain begins behind so many records.
    scratch : int64 [2 * MAX_MOVES]

    Returns
    -------
    n : int64
        Records.
    at : int64
        Where the next chain begins, or the one that is broken.
    fault : int64
        0, or why the chunk can't be read on. Records of the chain before the fault are given.
    """
    n = np.int64(0)
    position, after = _position(), _position()
    while at < size and n < wanted:
        if at + HEAD > size:
            return n, at, CUT_OFF
        plies = _word(data, at + STEM)
        if n + plies + 1 > len(records):
            return n, at, np.int64(0)
        if not _read_stem(data, at, position, scratch):
            return n, at, BAD_POSITION
        move = _stem_move(position, _word(data, at + 24), scratch)
        score = _signed(_word(data, at + 26))
        packed = _word(data, at + 28)
        ply, result = packed & MAX_PLY, _signed(packed >> 14)
        if result < -1:
            return n, at, BAD_RESULT
        if move < 0 or (move == NO_MOVE and plies):
            return n, at, BAD_MOVE
        _fill(records[n], position, score, result, ply, move)
        n += 1
        begin, read = at + HEAD, np.int64(0)
        for _ in range(plies):
            make(position, after, move)
            position, after = after, position
            move, read = _read_move(position, data, begin, size, read, scratch)
            if move == NO_MOVE:
                return n, at, CUT_OFF if begin + (read >> 3) >= size else BAD_MOVE
            change, shift, more = np.int64(0), np.int64(0), True
            while more and shift < 16:
                block = _get(data, begin, size, read, BLOCK + 1)
                read += BLOCK + 1
                change |= (block & ((1 << BLOCK) - 1)) << shift
                shift += BLOCK
                more = block >> BLOCK != 0
            if begin + ((read + 7) >> 3) > size:
                return n, at, CUT_OFF
            score = int16(_signed(change & 0xFFFF) - score)
            result, ply = -result, ply + 1
            _fill(records[n], position, score, result, ply, move)
            n += 1
        at = begin + ((read + 7) >> 3)
    return n, at, np.int64(0)
