"""Neighbours on lines, jitted: only lines with a changed square are looked at.

The pieces on a line are the bytes of a word, without the empty squares between them, put together
from the bits of their codes. The pairs of all neighbours come from one multiplication: a byte is
first * 12 + second. Two lines are compared byte against word (S. Anderson, Bit Twiddling Hacks:
"determine if a word has a byte equal to n").
"""

import numpy as np
from numba import carray

from nnuelab.chess.position import BISHOP, KING, KNIGHT, QUEEN, ROOK
from nnuelab.features.kernels.lists import pack, sort
from nnuelab.features.kernels.piece_square import changed_squares
from nnuelab.features.records import PIECES
from nnuelab.jit import at, gather_bits, inline, lsb, msb, popcount, scatter_bits, view

PAIRS = PIECES * PIECES

_ONE, _TWO, _THREE, _EIGHT, _TWELVE = (np.uint64(n) for n in (1, 2, 3, 8, PIECES))
_LAST = np.uint64(1 << 63)
_BYTE = np.uint64(0xFF)
_ONES = np.uint64(0x0101010101010101)  # a one in each byte
_HIGHS = np.uint64(0x8080808080808080)
_ALL = ~np.uint64(0)


@inline
def _planes(position):
    """The four bits of the pieces' codes as bitboards, and the occupied squares."""
    roles = position.roles
    bit1 = roles[KNIGHT] | roles[ROOK] | roles[KING]
    bit2, bit3 = roles[BISHOP] | roles[ROOK], roles[QUEEN] | roles[KING]
    return position.colors[1], bit1, bit2, bit3, position.colors[0] | position.colors[1]


@inline
def _pairs(line, planes):
    """A byte for each pair of neighbours on a line, in order, 0xFF behind them; and how many."""
    bit0, bit1, bit2, bit3, occupied = planes
    there = line & occupied
    pieces = scatter_bits(gather_bits(bit0, there), _ONES)
    pieces |= scatter_bits(gather_bits(bit1, there), _ONES << _ONE)
    pieces |= scatter_bits(gather_bits(bit2, there), _ONES << _TWO)
    pieces |= scatter_bits(gather_bits(bit3, there), _ONES << _THREE)
    n = max(popcount(there) - 1, np.int64(0))
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
    lines = view(data.lines, (2, data.n), np.uint64)[at(perspective)]
    rows = view(data.rows, (2, data.n, PAIRS), np.int32)[at(perspective)]
    planes = _planes(position)
    n = np.int64(0)
    for number in range(data.n):
        pairs, count = _pairs(lines[at(number)], planes)
        n = _emit(rows[at(number)], pairs, np.int64(0), count, _ALL, out, n)
    return n


def active(data, position, perspective, out):
    return _all_pairs(data, position, perspective, out)


def changes(data, old, new, perspective, added, removed):
    lines = view(data.lines, (2, data.n), np.uint64)[at(perspective)]
    line_of = view(data.line_of, (2, 64), np.int64)[at(perspective)]
    rows = view(data.rows, (2, data.n, PAIRS), np.int32)[at(perspective)]
    n_added, n_removed = np.int64(0), np.int64(0)
    old_planes, new_planes = _planes(old), _planes(new)
    changed = changed_squares(old, new)
    while changed:
        number = line_of[at(lsb(changed))]
        line = lines[at(number)]
        changed &= ~line
        before, n_before = _pairs(line, old_planes)
        after, n_after = _pairs(line, new_planes)
        # What both lines begin and end with is in both. (Bits are set so that none is all zeros.)
        start = lsb(before ^ after | _LAST) >> 3
        ends = (before << _behind(n_before)) ^ (after << _behind(n_after)) | _ONE
        same = min(min(n_before, n_after) - start, (63 - msb(ends)) >> 3)
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
