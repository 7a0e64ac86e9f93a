"""Whether records hold positions: kernels work on raw memory, so a damaged file stops here."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nnuelab.data import dataset
from nnuelab.data.records import NO_SCORE, UNKNOWN_RESULT
from nnuelab.errors import UserError
from nnuelab.jit import jit, lsb, popcount

_PIECES = np.uint64(12)
_MOST = 32  # pieces
_CHUNK = 1 << 20  # records that are looked at together
_HIGHEST = 32_700  # centipawns that sampling cuts scores off at
_KING, _ROOK = np.uint64(10), np.uint64(6)  # codes of White's
# Squares of king and rook, by bit of the castling right
_KING_HOMES = np.array([4, 4, 60, 60])
_ROOK_HOMES = np.array([7, 0, 63, 56])
_NIBBLE, _FOUR, _ONE = np.uint64(15), np.uint64(4), np.uint64(1)
_BOARD, _STATE, _RESULT, _SCORE = np.arange(1, 5)
FAULTS = {
    _BOARD: "its pieces are no position",
    _STATE: "its castling rights or en-passant square are impossible",
    _RESULT: "its result is none of 1, 0, -1 and 2 (unknown)",
    _SCORE: f"its score is beyond {_HIGHEST} centipawns",
}


@jit
def first_fault(records):
    """Place and kind of the first fault, (-1, 0) without one."""
    board = np.zeros(64, np.uint64)
    for i in range(len(records)):
        occupied = np.uint64(records[i].occupied)
        low, high = np.uint64(records[i].pieces_low), np.uint64(records[i].pieces_high)
        if popcount(occupied) > _MOST:
            return np.int64(i), np.int64(_BOARD)
        board[:] = _PIECES
        kings = np.zeros(2, np.int64)
        while occupied:
            square = lsb(occupied)
            occupied &= occupied - _ONE
            piece = low & _NIBBLE
            low = (low >> _FOUR) | (high << np.uint64(60))
            high >>= _FOUR
            if piece >= _PIECES or (piece < np.uint64(2) and (square < 8 or square >= 56)):
                return np.int64(i), np.int64(_BOARD)
            board[square] = piece
            if piece >= _KING:
                kings[np.int64(piece & _ONE)] += 1
        if kings[0] != 1 or kings[1] != 1:
            return np.int64(i), np.int64(_BOARD)
        flags, ep = np.int64(records[i].flags), np.int64(records[i].ep)
        wrong = flags >> 5 != 0
        for right in range(4):
            if flags >> (right + 1) & 1:
                color = np.uint64(right >> 1)
                wrong |= board[_KING_HOMES[right]] != _KING + color
                wrong |= board[_ROOK_HOMES[right]] != _ROOK + color
        # Behind a pawn that the other side moved two squares
        wrong |= ep != 64 and (ep > 63 or ep >> 3 != (2 if flags & 1 else 5))
        if not wrong and ep != 64:
            wrong |= board[ep] != _PIECES or board[ep ^ 8] != np.uint64(1 - (flags & 1))
        if wrong:
            return np.int64(i), np.int64(_STATE)
        if records[i].result < -1 or records[i].result > UNKNOWN_RESULT:
            return np.int64(i), np.int64(_RESULT)
        if abs(np.int64(records[i].score)) > _HIGHEST and records[i].score != NO_SCORE:
            return np.int64(i), np.int64(_SCORE)
    return np.int64(-1), np.int64(0)


def spaced(path: Path, most: int) -> np.ndarray:
    """RECORD: at most so many positions of a dataset, evenly spaced, each of them sound.

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


def check(records: np.ndarray, path: Path) -> None:
    """Stops on a record that is no position, or whose labels are out of range.

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
        part = np.array(records[start : start + _CHUNK])
        i, fault = first_fault(part)
        if i >= 0:
            raise UserError(
                f"{path}: the position after ply {part[i]['ply']} of game {part[i]['game']} is "
                f"damaged: {FAULTS[fault]}; make the dataset again"
            )
