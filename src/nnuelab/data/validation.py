"""Checks of records: kernels work on raw memory, so a damaged file has to stop before them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nnuelab.chess.position import KING_HOMES, POSITION, ROOK_HOMES, attackers, king_square
from nnuelab.data import dataset
from nnuelab.data.encoded import Encoded
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, unpack_board
from nnuelab.errors import UserError
from nnuelab.jit import inline, jit, popcount

_MOST = 32  # pieces
_CHUNK = 1 << 20  # records that are looked at together
_HIGHEST = 32_700  # centipawns that sampling cuts scores off at
_KING, _ROOK, _NONE = 10, 6, -1  # codes of White's; of an empty square
_ONE, _ALL = np.uint64(1), np.uint64(2**64 - 1)
_LOWEST_BITS = np.uint64(0x1111111111111111)  # of each nibble
_FIRST_RANK, _LAST_RANK = np.uint64(0xFF), np.uint64(0xFF << 56)
_BOARD, _STATE, _RESULT, _SCORE, _CHECK = np.arange(1, 6)
FAULTS = {
    _BOARD: "its pieces are impossible",
    _STATE: "its castling rights or en-passant square are impossible",
    _CHECK: "the side to move could take the king",
    _RESULT: "its result is not 1, 0, -1 or 2 (unknown)",
    _SCORE: f"its score is beyond {_HIGHEST} centipawns",
}


@inline
def _nibbles(n):
    """The lowest bit of each of the first ``n`` nibbles of a word, none for less than one."""
    if n <= 0:
        return np.uint64(0)
    return _LOWEST_BITS & (_ALL >> np.uint64(64 - 4 * min(n, 16)))


@inline
def _code_at(record, square):
    """The piece on a square, _NONE where it is empty."""
    before = (_ONE << np.uint64(square)) - _ONE
    if not (np.uint64(record.occupied) & (before + _ONE)):
        return np.int64(_NONE)
    place = popcount(np.uint64(record.occupied) & before)
    word = np.uint64(record.pieces_low) if place < 16 else np.uint64(record.pieces_high)
    return np.int64((word >> np.uint64(4 * (place & 15))) & np.uint64(15))


@inline
def _is_board(record):
    """Whether the pieces are a position: one king each, no pawn on the first or the last rank.

    Sixteen pieces at once: of each code the four bits are looked at in their places.
    """
    occupied = np.uint64(record.occupied)
    n = popcount(occupied)
    if n > _MOST:
        return False
    first = popcount(occupied & _FIRST_RANK)
    last = n - popcount(occupied & _LAST_RANK)
    white = black = 0
    wrong = np.uint64(0)
    for half in range(2):
        codes = np.uint64(record.pieces_low) if half == 0 else np.uint64(record.pieces_high)
        start = 16 * half
        there = _nibbles(n - start)
        bit1, bit2, bit3 = codes >> _ONE, codes >> np.uint64(2), codes >> np.uint64(3)
        wrong |= there & bit3 & bit2  # 12 and above
        kings = there & bit3 & bit1
        white += popcount(kings & ~codes)
        black += popcount(kings & codes)
        on_edge = _nibbles(first - start) | (there & ~_nibbles(last - start))
        wrong |= on_edge & ~(bit3 | bit2 | bit1)
    return wrong == 0 and white == 1 and black == 1


@jit
def first_fault(records):
    """Place and kind of the first fault, (-1, 0) without one."""
    scratch = np.zeros(1, POSITION)
    for i in range(len(records)):
        record = records[i]
        if not _is_board(record):
            return np.int64(i), np.int64(_BOARD)
        flags, ep = np.int64(record.flags), np.int64(record.ep)
        wrong = flags >> 5 != 0
        if flags > 1:
            for right in range(4):
                if flags >> (right + 1) & 1:
                    color = right >> 1
                    wrong |= _code_at(record, KING_HOMES[right]) != _KING + color
                    wrong |= _code_at(record, ROOK_HOMES[right]) != _ROOK + color
        # Behind a pawn that the other side moved two squares
        wrong |= ep != 64 and (ep > 63 or ep >> 3 != (2 if flags & 1 else 5))
        if not wrong and ep != 64:
            wrong |= _code_at(record, ep) != _NONE or _code_at(record, ep ^ 8) != 1 - (flags & 1)
        if wrong:
            return np.int64(i), np.int64(_STATE)
        if record.result < -1 or record.result > UNKNOWN_RESULT:
            return np.int64(i), np.int64(_RESULT)
        if abs(np.int64(record.score)) > _HIGHEST and record.score != NO_SCORE:
            return np.int64(i), np.int64(_SCORE)
        unpack_board(record, scratch[0])
        us = np.int64(scratch[0].turn)
        king = king_square(scratch[0], us ^ 1)
        if attackers(scratch[0], king, np.uint64(record.occupied)) & scratch[0].colors[us]:
            return np.int64(i), np.int64(_CHECK)
    return np.int64(-1), np.int64(0)


def spaced(path: Path, most: int) -> np.ndarray:
    """RECORD: up to ``most`` positions of a dataset, evenly spaced and checked.

    Raises
    ------
    UserError
        When there is none, or one is damaged.
    """
    records = dataset.open(path).spaced(most)
    if not len(records):
        raise UserError(f"{path} has no positions; give another dataset, or label again")
    check(records, path)
    return records


def chunks(path: Path) -> Iterator[np.ndarray]:
    """RECORD: all positions of a dataset, checked, in copies that memory has room for.

    They are read, not mapped: all pages of a mapped file that are touched count as memory.

    Raises
    ------
    UserError
        When there is no dataset, or a position is damaged.
    """
    for shard in dataset.open(path).shards:
        for start in range(0, len(shard), _CHUNK):
            if isinstance(shard, Encoded):
                yield shard[start : start + _CHUNK]
                continue
            assert isinstance(shard, np.memmap)
            assert shard.filename is not None
            place = shard.offset + start * RECORD.itemsize
            records = np.fromfile(
                shard.filename, RECORD, min(_CHUNK, len(shard) - start), "", place
            )
            _refuse(records, path)
            yield records


def check(records: np.ndarray, path: Path) -> None:
    """Raises on a record that is no position, or whose labels are out of range.

    Parameters
    ----------
    records : ndarray of RECORD [n]
    path : Path
        Their file, for the message.

    Raises
    ------
    UserError
    """
    for start in range(0, len(records), _CHUNK):
        # A copy: a mapped file is read-only, which would be another type for the kernel.
        _refuse(np.array(records[start : start + _CHUNK]), path)


def _refuse(records: np.ndarray, path: Path) -> None:
    i, fault = first_fault(records)
    if i >= 0:
        raise UserError(
            f"{path}: the position after ply {records[i]['ply']} of game {records[i]['game']} is "
            f"damaged: {FAULTS[fault]}; make the dataset again"
        )
