"""Batches of piece-square blocks, straight from packed records; see :mod:`extraction`.

Blocks come one after another in a list of features, each in the order of the squares that make its
rows active first, whichever way they are found.
"""

import numpy as np

from nnuelab.features.block import MOST_PIECES, PIECES, SQUARES_ON_BOARD
from nnuelab.features.extraction import EXTRACTED
from nnuelab.features.extraction_simd import (
    FLAGS,
    HIGH,
    LOW,
    append_alike,
    append_alone,
    append_apart,
    begin_alike,
    begin_alone,
    begin_apart,
)
from nnuelab.jit import VBMI2, at, inline, jit, lsb, view

CHUNK = 512  # positions whose lists stay in the cache from block to block

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NIBBLE = np.uint64(15)
_FOUR = np.uint64(4)
_SIXTY = np.uint64(60)
_SIXTY_THREE = np.int64(63)
_BLOCK = EXTRACTED.itemsize
_SEEN = -(-PIECES * SQUARES_ON_BOARD // 64)  # words of a set of a block's rows


@jit
def extract(blocks, n, fields, lists):
    """Features of ``n`` blocks (EXTRACTED, by address), of all positions, from both sides.

    Parameters
    ----------
    fields : tuple of array [B]
        occupied, pieces_low, pieces_high and flags of the records, of any stride.
    lists : tuple of array, written
        Features seen by the side to move and by the other, then -1 (int32[B, >= max_active], those
        of one list side by side), and how many (int64[B]).
    """
    stm_out, other_out, stm_n, other_n = lists
    terms = view(blocks, n, EXTRACTED)
    vectors = VBMI2 and _fit_vectors(fields, lists)
    begun = vectors and n > 0 and terms[0].vector != 0  # by vectors, which write the first 32
    written = MOST_PIECES if begun else 0
    for start in range(0, len(fields[0]), CHUNK):
        stop = min(start + CHUNK, len(fields[0]))
        if not begun:
            stm_n[start:stop] = 0
            other_n[start:stop] = 0
        if written < stm_out.shape[1]:
            stm_out[start:stop, written:] = -1
        if written < other_out.shape[1]:
            other_out[start:stop, written:] = -1
        for b in range(n):
            if vectors and terms[b].vector != 0:
                block = blocks + np.uint64(b * _BLOCK)
                partitions = terms[b].partitions
                _append_by_vectors(block, partitions, b == 0, fields, lists, start, stop - start)
            else:
                _append(terms[b], fields, lists, start, stop)


@inline
def _place(array, i):
    """The address of what ``array[i]`` is or begins with."""
    return np.int64(array.ctypes.data) + i * np.int64(array.strides[0])


@jit
def _fit_vectors(fields, lists):
    """Whether fields and lists lie in memory as the kernels of vectors take them."""
    occupied, pieces_low, pieces_high, flags = fields
    stm_out, other_out, stm_n, other_n = lists
    record = _place(occupied, 0)
    return (
        _place(pieces_low, 0) == record + LOW
        and _place(pieces_high, 0) == record + HIGH
        and _place(flags, 0) == record + FLAGS
        and stm_out.strides[0] == other_out.strides[0]
        and stm_n.strides[0] == other_n.strides[0] == 8
    )


@jit
def _append_by_vectors(block, partitions, first, fields, lists, start, count):
    stm_out, other_out, stm_n, other_n = lists
    place = (
        np.int64(block),
        _place(fields[0], start),
        np.int64(fields[0].strides[0]),
        count,
        _place(stm_out, start),
        np.int64(stm_out.strides[0]),
        _place(other_out, start) - _place(stm_out, start),
        _place(stm_n, start),
        _place(other_n, start) - _place(stm_n, start),
    )
    if partitions == 0:
        if first:
            begin_alone(*place)
        else:
            append_alone(*place)
    elif partitions == 1:
        if first:
            begin_alike(*place)
        else:
            append_alike(*place)
    elif first:
        begin_apart(*place)
    else:
        append_apart(*place)


@jit
def _append(block, fields, lists, start, stop):
    """The same without vectors, for any block: piece by piece."""
    occupied, pieces_low, pieces_high, flags = fields
    stm_out, other_out, stm_n, other_n = lists
    # Named once: LLVM can't know that writing lists leaves the block alone.
    rows, numbers, repeats = block.rows, block.numbers, block.repeats != 0
    words = (block.n + 63) >> 6 if repeats else np.int64(0)
    seen = np.zeros((2, _SEEN), np.uint64)
    for i in range(start, stop):
        for word in range(words):
            seen[0, at(word)] = _ZERO
            seen[1, at(word)] = _ZERO
        turn = np.int64(flags[i] & 1)
        low, high = np.uint64(pieces_low[i]), np.uint64(pieces_high[i])
        left = np.uint64(occupied[i])
        n, m = stm_n[i], other_n[i]
        while left:
            square = lsb(left)
            left &= left - _ONE
            piece = np.int64(low & _NIBBLE)
            low = low >> _FOUR | high << _SIXTY
            high >>= _FOUR
            row = np.int64(rows[at(turn), at(piece), at(square)])
            if row >= 0 and not (repeats and _was_seen(seen[0], row)):
                stm_out[at(i), at(n)] = numbers[at(row)]
                n += 1
            row = np.int64(rows[at(1 - turn), at(piece), at(square)])
            if row >= 0 and not (repeats and _was_seen(seen[1], row)):
                other_out[at(i), at(m)] = numbers[at(row)]
                m += 1
        stm_n[i] = n
        other_n[i] = m


@inline
def _was_seen(seen, row):
    """Whether a row is in a set, which it joins."""
    word, bit = at(row >> 6), _ONE << np.uint64(row & _SIXTY_THREE)
    found = seen[word] & bit != _ZERO
    seen[word] |= bit
    return found
