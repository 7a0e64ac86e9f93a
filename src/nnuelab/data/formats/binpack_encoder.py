"""Kernels of `binpack` that write: records to chains of moves and scores."""

import numpy as np

from nnuelab.chess import moves
from nnuelab.chess.attacks import bit
from nnuelab.chess.fen import find_move
from nnuelab.chess.moves import CASTLING, EN_PASSANT, NO_MOVE, PROMOTION, make
from nnuelab.chess.position import BLACK, KING, NO_SQUARE, POSITION, ROOK
from nnuelab.data.formats.binpack_kernels import (
    BAD_MOVE,
    BLACK_KING_TO_MOVE,
    BLACK_ROOK,
    BLOCK,
    CORNER_RIGHTS,
    CORNERS,
    HEAD,
    MAX_CHAIN,
    PAWN_PASSED,
    STEM,
    VALUE_NONE,
    WHITE_ROOK,
    int16,
    rights_of,
    targets_of,
    width_of,
)
from nnuelab.data.records import NO_SCORE, unpack
from nnuelab.jit import inline, jit, local_record, lsb, popcount

_ONE = np.uint64(1)

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
def _put_word(data, at, value):
    data[at] = (value >> 8) & 0xFF
    data[at + 1] = value & 0xFF


@inline
def _unsigned(value):
    """The inverse of `_signed` for int16."""
    if value < 0:
        return ((-value - 1) << 1) | 1
    return value << 1


@inline
def _rank_of(bits, square):
    """How many bits are below ``square``."""
    return popcount(bits & (bit(square) - _ONE))


@inline
def _put(data, begin, at, value, n):
    for i in range(n):
        byte = begin + ((at + i) >> 3)
        if (at + i) & 7 == 0:
            data[byte] = 0
        data[byte] |= ((value >> (n - 1 - i)) & 1) << (7 - ((at + i) & 7))
    return at + n


@jit
def _write_move(position, move, data, begin, at):
    us = np.int64(position.turn)
    own = position.colors[us]
    start, square, kind = moves.origin(move), moves.target(move), moves.kind(move)
    at = _put(data, begin, at, _rank_of(own, start), width_of(np.int64(popcount(own))))
    role = np.int64(position.board[start]) >> 1
    targets = targets_of(position, start, role, us)
    choices = np.int64(popcount(targets))
    number = np.int64(_rank_of(targets, square))
    if kind == CASTLING:
        rights, long = rights_of(position, us)
        number = choices + (long if square > start else 0)
        choices += rights
    elif role == KING:
        choices += rights_of(position, us)[0]
    elif kind >= PROMOTION:
        number = 4 * number + kind - PROMOTION
        choices *= 4
    return _put(data, begin, at, number, width_of(choices))


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
            nibble = PAWN_PASSED
        elif nibble == 2 * KING + BLACK and position.turn == BLACK:
            nibble = BLACK_KING_TO_MOVE
        elif nibble >> 1 == ROOK:
            for corner in range(4):
                if CORNERS[corner] == square and position.castling & CORNER_RIGHTS[corner]:
                    nibble = BLACK_ROOK if nibble & 1 else WHITE_ROOK
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
    """Ends the open chain: writes its number of moves to its head."""
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
            change = _unsigned(int16(score + state.last_score)) & 0xFFFF
            more = True
            while more:
                block = change & ((1 << BLOCK) - 1)
                change >>= BLOCK
                more = change != 0
                state.bits = _put(
                    data, body, state.bits, block | (np.int64(more) << BLOCK), BLOCK + 1
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
