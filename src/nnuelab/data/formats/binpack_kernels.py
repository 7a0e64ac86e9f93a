"""Kernels of `binpack`: chains of moves and scores to records and back."""

import numpy as np

from nnuelab.chess import attacks, moves
from nnuelab.chess.attacks import bit
from nnuelab.chess.fen import complete, find_move
from nnuelab.chess.moves import CASTLING, EN_PASSANT, NO_MOVE, PROMOTION, make
from nnuelab.chess.position import (
    BISHOP,
    BLACK,
    EMPTY,
    KING,
    KNIGHT,
    NO_SQUARE,
    PAWN,
    POSITION,
    QUEEN,
    ROOK,
    WHITE,
)
from nnuelab.data.records import NO_SCORE, pack, unpack
from nnuelab.jit import inline, jit, local_record, lsb, popcount

STEM = np.int64(32)  # bytes: board 24, move 2, score 2, ply and result 2, half-move clock 2
HEAD = np.int64(34)  # a stem and the number of moves that follow it
MAX_CHAIN = np.int64(0xFFFF)
MOST_BYTES = np.int64(5)  # of a move and a score: 8 bits and 4 blocks of 5
MAX_PLY = np.int64(0x3FFF)
VALUE_NONE = np.int64(32_002)  # Stockfish's score of a position that has none
CUT_OFF, BAD_POSITION, BAD_RESULT, BAD_MOVE = np.arange(1, 5)
_BLOCK = np.int64(4)  # bits of a score at once, each block with a bit for "more"
# Nibbles beyond the 12 pieces
_PAWN_PASSED, _WHITE_ROOK, _BLACK_ROOK, _BLACK_KING_TO_MOVE = np.arange(12, 16)
# Their castling right by corner a1, h1, a8, h8
_CORNERS = np.array([0, 7, 56, 63])
_CORNER_RIGHTS = np.array([2, 1, 8, 4])
_ZERO, _ONE, _NIBBLE = np.uint64(0), np.uint64(1), np.uint64(15)

STATE = np.dtype(
    [
        ("last", POSITION),  # the position after the last record's move
        ("last_ply", "i8"),
        ("last_result", "i8"),
        ("last_score", "i8"),
        ("chain", "i8"),  # where the open chain begins; -1 without one
        ("bits", "i8"),  # length of its moves and scores
        ("plies", "i8"),  # their number
        ("end", "i8"),  # bytes written
    ],
    align=True,
)
"""Of the encoder, between two calls."""

_position = local_record(POSITION)


@inline
def _word(data, at):
    return (np.int64(data[at]) << 8) | np.int64(data[at + 1])


@inline
def _put_word(data, at, value):
    data[at] = (value >> 8) & 0xFF
    data[at + 1] = value & 0xFF


@inline
def _signed(value):
    """The number that is stored as ``value``: sign in bit 0, negative ones complemented."""
    if value & 1:
        return -(value >> 1) - 1
    return value >> 1


@inline
def _unsigned(value):
    """The inverse of `_signed` for int16."""
    if value < 0:
        return ((-value - 1) << 1) | 1
    return value << 1


@inline
def _int16(value):
    """The last 16 bits as a signed number."""
    return ((value + 0x8000) & 0xFFFF) - 0x8000


@inline
def _width(n):
    """Bits that tell ``n`` things apart."""
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
def _rank_of(bits, square):
    """How many bits are below ``square``."""
    return popcount(bits & (bit(square) - _ONE))


@inline
def _get(data, begin, stop, at, n):
    """``n`` bits, highest first, from bit ``at`` behind byte ``begin``; zeros from ``stop`` on."""
    value = np.int64(0)
    for i in range(at, at + n):
        byte = begin + (i >> 3)
        got = np.int64(data[byte]) >> (7 - (i & 7)) & 1 if byte < stop else np.int64(0)
        value = (value << 1) | got
    return value


@inline
def _put(data, begin, at, value, n):
    for i in range(n):
        byte = begin + ((at + i) >> 3)
        if (at + i) & 7 == 0:
            data[byte] = 0
        data[byte] |= ((value >> (n - 1 - i)) & 1) << (7 - ((at + i) & 7))
    return at + n


@inline
def _targets(position, start, role, us):
    """Where a piece may go in the format's view: pseudo-legal squares, castling apart."""
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
    found = attacks.king(start)
    if role == KNIGHT:
        found = attacks.knight(start)
    elif role == BISHOP:
        found = attacks.bishop(start, occupied)
    elif role == ROOK:
        found = attacks.rook(start, occupied)
    elif role == QUEEN:
        found = attacks.queen(start, occupied)
    return found & ~own


@inline
def _rights(position, us):
    """Number of castling rights, and whether the long one is among them."""
    long = (np.int64(position.castling) >> (2 * us + 1)) & 1
    return ((np.int64(position.castling) >> (2 * us)) & 1) + long, long


@inline
def _is_promoting(start, role, us):
    return role == PAWN and start >> 3 == (6 if us == WHITE else 1)


@jit
def _read_move(position, data, begin, stop, at, scratch):
    """The next move (NO_MOVE when it is illegal) and the bit behind it."""
    us = np.int64(position.turn)
    own = position.colors[us]
    n = np.int64(popcount(own))
    width = _width(n)
    number = _get(data, begin, stop, at, width)
    at += width
    if number >= n:
        return np.int64(NO_MOVE), at
    start = _nth(own, number)
    role = np.int64(position.board[start]) >> 1
    targets = _targets(position, start, role, us)
    n = np.int64(popcount(targets))
    promoting = _is_promoting(start, role, us)
    choices = n
    long = np.int64(0)
    if promoting:
        choices = 4 * n
    elif role == KING:
        rights, long = _rights(position, us)
        choices = n + rights
    width = _width(choices)
    number = _get(data, begin, stop, at, width)
    at += width
    if number >= choices:
        return np.int64(NO_MOVE), at
    promotion = np.int64(0)
    if promoting:
        promotion = PROMOTION + (number & 3)
        number >>= 2
    if number < n:
        square = _nth(targets, number)
    else:
        square = start - 2 if number == n and long else start + 2
    return find_move(position, start, square, promotion, scratch), at


@jit
def _write_move(position, move, data, begin, at):
    us = np.int64(position.turn)
    own = position.colors[us]
    start, square, kind = moves.origin(move), moves.target(move), moves.kind(move)
    at = _put(data, begin, at, _rank_of(own, start), _width(np.int64(popcount(own))))
    role = np.int64(position.board[start]) >> 1
    targets = _targets(position, start, role, us)
    choices = np.int64(popcount(targets))
    number = np.int64(_rank_of(targets, square))
    if kind == CASTLING:
        rights, long = _rights(position, us)
        number = choices + (long if square > start else 0)
        choices += rights
    elif role == KING:
        choices += _rights(position, us)[0]
    elif kind >= PROMOTION:
        number = 4 * number + kind - PROMOTION
        choices *= 4
    return _put(data, begin, at, number, _width(choices))


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
        if nibble == _PAWN_PASSED:
            piece = np.int64(2 * PAWN + (BLACK if square >= 32 else WHITE))
            passed = square
        elif nibble in (_WHITE_ROOK, _BLACK_ROOK):
            piece = np.int64(2 * ROOK + (WHITE if nibble == _WHITE_ROOK else BLACK))
            right = np.int64(0)
            for corner in range(4):
                if _CORNERS[corner] == square:
                    right = _CORNER_RIGHTS[corner]
            if right == 0 or (right < 4) != (nibble == _WHITE_ROOK):
                return False
            position.castling |= right
        elif nibble == _BLACK_KING_TO_MOVE:
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
def decode(data, at, size, records, scratch):
    """Decodes whole chains of a chunk.

    Parameters
    ----------
    data : uint8 [size or more]
    at, size : int64
        Where a chain begins; where the chunk ends.
    records : RECORD [more than MAX_CHAIN], written
        All but ``game``.
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
    while at < size:
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
                block = _get(data, begin, size, read, _BLOCK + 1)
                read += _BLOCK + 1
                change |= (block & ((1 << _BLOCK) - 1)) << shift
                shift += _BLOCK
                more = block >> _BLOCK != 0
            if begin + ((read + 7) >> 3) > size:
                return n, at, CUT_OFF
            score = _int16(_signed(change & 0xFFFF) - score)
            result, ply = -result, ply + 1
            _fill(records[n], position, score, result, ply, move)
            n += 1
        at = begin + ((read + 7) >> 3)
    return n, at, np.int64(0)


@inline
def _same(a, b):
    """Whether two positions are the same, half-move clocks included."""
    if a.key != b.key or a.turn != b.turn or a.castling != b.castling or a.ep != b.ep:
        return False
    if min(a.halfmove, 255) != min(b.halfmove, 255) or a.colors[0] != b.colors[0]:
        return False
    for role in range(6):
        if a.roles[role] != b.roles[role]:
            return False
    return a.colors[1] == b.colors[1]


@jit
def _write_stem(position, record, score, data, at):
    occupied = record.occupied
    for i in range(8):
        data[at + i] = (occupied >> np.uint64(56 - 8 * i)) & np.uint64(255)
    for i in range(16):
        data[at + 8 + i] = 0
    n = np.int64(0)
    passed = np.int64(position.ep) ^ 8 if position.ep != NO_SQUARE else np.int64(NO_SQUARE)
    while occupied:
        square = lsb(occupied)
        occupied &= occupied - _ONE
        nibble = np.int64(position.board[square])
        if square == passed:
            nibble = _PAWN_PASSED
        elif nibble == 2 * KING + BLACK and position.turn == BLACK:
            nibble = _BLACK_KING_TO_MOVE
        elif nibble >> 1 == ROOK:
            for corner in range(4):
                if _CORNERS[corner] == square and position.castling & _CORNER_RIGHTS[corner]:
                    nibble = _BLACK_ROOK if nibble & 1 else _WHITE_ROOK
        data[at + 8 + (n >> 1)] |= nibble << (4 * (n & 1))
        n += 1
    move = np.int64(record.move)
    packed = np.int64(0)
    if move != NO_MOVE:
        start, square, kind = moves.origin(move), moves.target(move), moves.kind(move)
        packed = (start << 8) | (square << 2)
        if kind >= PROMOTION:
            packed |= (1 << 14) | (kind - PROMOTION)
        elif kind == CASTLING:  # the king takes its rook
            square = square + 1 if square > start else square - 2
            packed = (2 << 14) | (start << 8) | (square << 2)
        elif kind == EN_PASSANT:
            packed |= 3 << 14
    _put_word(data, at + 24, packed)
    _put_word(data, at + 26, _unsigned(score) & 0xFFFF)
    _put_word(
        data, at + 28, np.int64(record.ply) | ((_unsigned(np.int64(record.result)) & 3) << 14)
    )
    _put_word(data, at + 30, np.int64(record.halfmove))
    _put_word(data, at + 32, np.int64(0))


@jit
def close(data, state):
    """Ends the open chain: its number of moves goes to where its reader looks for it."""
    if state.chain >= 0:
        _put_word(data, state.chain + STEM, state.plies)
        state.end = state.chain + HEAD + ((state.bits + 7) >> 3)
        state.chain = -1


@jit
def encode(records, begin, data, full, state, scratch):
    """Encodes records until a chain begins in a chunk that is full.

    Parameters
    ----------
    records : RECORD [n]
        With results; moves are legal or 0.
    begin : int64
        The first one to encode.
    data : uint8 [full + HEAD + MOST_BYTES * (MAX_CHAIN + 1)], written
    full : int64
        Bytes beyond which no chain begins.
    state : STATE record, changed
    scratch : int64 [MAX_MOVES]

    Returns
    -------
    next : int64
        The first record that wasn't encoded, n when all were.
    fault : int64
        0, or BAD_MOVE: the move of that record is not legal.
    """
    position = _position()
    for i in range(begin, len(records)):
        record = records[i]
        unpack(record, position)
        score = np.int64(record.score)
        if score == NO_SCORE:
            score = VALUE_NONE
        move = np.int64(record.move)
        if move != NO_MOVE:
            promotion = moves.kind(move) if moves.is_promotion(move) else np.int64(0)
            if move != find_move(
                position, moves.origin(move), moves.target(move), promotion, scratch
            ):
                return i, BAD_MOVE
        result, ply = np.int64(record.result), np.int64(record.ply)
        follows = (
            state.chain >= 0
            and move != NO_MOVE
            and state.last_ply + 1 == ply
            and state.last_result == -result
            and state.plies < MAX_CHAIN
            and _same(position, state.last)
        )
        if follows:
            body = state.chain + HEAD
            state.bits = _write_move(position, move, data, body, state.bits)
            change = _unsigned(_int16(score + state.last_score)) & 0xFFFF
            more = True
            while more:
                block = change & ((1 << _BLOCK) - 1)
                change >>= _BLOCK
                more = change != 0
                state.bits = _put(
                    data, body, state.bits, block | (np.int64(more) << _BLOCK), _BLOCK + 1
                )
            state.plies += 1
        else:
            close(data, state)
            if state.end >= full:
                return i, np.int64(0)
            _write_stem(position, record, score, data, state.end)
            state.chain, state.bits, state.plies = state.end, np.int64(0), np.int64(0)
        state.last_score, state.last_ply, state.last_result = score, ply, result
        if move != NO_MOVE:
            make(position, state.last, move)
        else:
            state.last_ply = -2  # nothing follows
    return np.int64(len(records)), np.int64(0)
