"""Neighbours on lines, jitted: only lines with a changed square are looked at.

A line is a word with a byte for each of its squares. Empty squares are squeezed out, and the pairs
of all neighbours come from one multiplication: a byte is first * 12 + second. Lines are compared
byte against word (S. Anderson, Bit Twiddling Hacks: "determine if a word has a byte equal to n").
"""

import numpy as np
from numba import carray

from nnuelab.chess.position import EMPTY
from nnuelab.features.block import PIECES
from nnuelab.features.kinds.piece_square_kernels import changed_squares
from nnuelab.features.lists import pack, sort
from nnuelab.jit import at, gather_bits, inline, lsb, msb, popcount, view

LINE = np.dtype(
    [
        ("mask", "u8"),  # its squares
        ("inside", "u8"),  # a byte 0xFF for each of its squares
        ("squares", "u1", 8),  # in order
    ],
    align=True,
)
LINES = np.dtype(
    [
        ("n", "i8"),
        ("is_rank", "i8"),  # 1: a line is eight bytes of the board one after another
        ("lines", "u8"),  # -> LINE[2, n], by perspective
        ("line_of", "u8"),  # -> int64[2, 64]
        ("rows", "u8"),  # -> int32[2, n, 144]: by pair of piece codes, -1 none
    ],
    align=True,
)
PAIRS = PIECES * PIECES

_ONE, _SEVEN, _EIGHT, _TWELVE = np.uint64(1), np.uint64(7), np.uint64(8), np.uint64(PIECES)
_BYTE = np.uint64(0xFF)
_ONES = np.uint64(0x0101010101010101)  # a one in each byte
_HIGHS = np.uint64(0x8080808080808080)
_LOWS = np.uint64(0x7F7F7F7F7F7F7F7F)
_EMPTIES = _ONES * np.uint64(EMPTY)
_ALL = ~np.uint64(0)


@inline
def _pairs(is_rank, line, position):
    """A byte for each pair of neighbours on a line, in order, 0xFF behind them; and how many."""
    word = np.uint64(0)
    if is_rank != 0:
        start = np.int64(line.squares[0])
        for i in range(8):  # LLVM makes one load of these
            word |= np.uint64(position.board[at(start + i)]) << np.uint64(8 * i)
    else:
        for i in range(8):
            word |= np.uint64(position.board[at(line.squares[at(i)])]) << np.uint64(8 * i)
        word = (word & line.inside) | (_EMPTIES & ~line.inside)
    occupied = (((word ^ _EMPTIES) + _LOWS) & _HIGHS) >> _SEVEN
    n = max(popcount(occupied) - 1, np.int64(0))
    pieces = gather_bits(word, occupied * _BYTE)
    behind = _ALL << np.uint64(8 * n)
    return (pieces * _TWELVE + (pieces >> _EIGHT)) | behind, n


@inline
def _behind(n):
    """Bits behind n bytes of a word, as a number to shift by; 0 for no bytes."""
    return np.uint64((64 - 8 * n) & 63)


@inline
def _contains(word, byte):
    different = word ^ (byte * _ONES)
    return (different - _ONES) & ~different & _HIGHS != np.uint64(0)


@inline
def _emit(rows, pairs, start, stop, absent, out, n):
    """Appends the rows of pairs ``start`` to ``stop``, each once, that are not in ``absent``."""
    for i in range(start, stop):
        shift = np.uint64(8 * i)
        pair = pairs >> shift & _BYTE
        row = rows[at(pair)]
        is_repeated = _contains(pairs | _ALL << shift, pair)
        # Without a branch: there is room for all pairs, equal ones counted.
        out[n] = row
        n += np.int64((not is_repeated) & (not _contains(absent, pair)) & (row >= 0))
    return n


@inline
def _all_pairs(data, position, perspective, out):
    lines = view(data.lines, (2, data.n), LINE)[at(perspective)]
    rows = view(data.rows, (2, data.n, PAIRS), np.int32)[at(perspective)]
    n = np.int64(0)
    for number in range(data.n):
        pairs, count = _pairs(data.is_rank, lines[at(number)], position)
        n = _emit(rows[at(number)], pairs, np.int64(0), count, _ALL, out, n)
    return n


def active(data, position, perspective, out):
    return _all_pairs(data, position, perspective, out)


def changes(data, old, new, perspective, added, removed):
    lines = view(data.lines, (2, data.n), LINE)[at(perspective)]
    line_of = view(data.line_of, (2, 64), np.int64)[at(perspective)]
    rows = view(data.rows, (2, data.n, PAIRS), np.int32)[at(perspective)]
    n_added, n_removed = np.int64(0), np.int64(0)
    changed = changed_squares(old, new)
    while changed:
        number = line_of[at(lsb(changed))]
        line = lines[at(number)]
        changed &= ~line.mask
        before, n_before = _pairs(data.is_rank, line, old)
        after, n_after = _pairs(data.is_rank, line, new)
        if before == after:
            continue
        # What both lines begin and end with is in both.
        start = lsb(before ^ after) >> 3
        ends = (before << _behind(n_before)) ^ (after << _behind(n_after))
        same = min(n_before, n_after) - start
        if ends != np.uint64(0):
            same = min(same, (63 - msb(ends)) >> 3)
        row = rows[at(number)]
        n_removed = _emit(row, before, start, n_before - same, after, removed, n_removed)
        n_added = _emit(row, after, start, n_after - same, before, added, n_added)
    return pack(n_added, n_removed)


def active_shared(data, position, perspective, out):
    """The active features where pairs of several kinds or lines share one."""
    found = carray(out, _all_pairs(data, position, perspective, out))
    sort(found)
    n = np.int64(0)
    for row in found:
        if n == 0 or row != found[n - 1]:
            found[n] = row
            n += 1
    return n
