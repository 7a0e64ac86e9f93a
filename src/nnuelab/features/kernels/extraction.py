"""Batches of blocks about a piece and its square, straight from packed records.

Blocks come one after another in a list of features, each in the order of the squares that make its
features active first, whichever way they are found; see :mod:`nnuelab.features.extraction`.
"""

import numpy as np

from nnuelab.build import VBMI2
from nnuelab.features.kernels.extraction_simd import (
    FLAGS,
    HIGH,
    LOW,
    extract_by_king,
    extract_injective,
    extract_shared_asymmetric,
    extract_shared_symmetric,
)
from nnuelab.features.records import (
    BY_PIECES,
    EXTRACTED,
    INJECTIVE,
    MOST_PIECES,
    OWN_KING,
    PLACES,
    SHARED_ASYMMETRIC,
    SHARED_SYMMETRIC,
    SQUARES_ON_BOARD,
    TABLE,
)
from nnuelab.jit import at, inline, jit, lsb, view

CHUNK = 512  # positions whose lists stay in the cache from block to block

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NIBBLE = np.uint64(15)
_FOUR = np.uint64(4)
_SIXTY = np.uint64(60)
_KINGS = OWN_KING  # code of White's, the next is that of Black's
_BLOCK = EXTRACTED.itemsize


@jit
def extract(blocks, n, fields, lists):
    """Features of ``n`` blocks (EXTRACTED, by address), of all positions, from both sides.

    Parameters
    ----------
    fields : tuple of array [B]
        occupied, pieces_low, pieces_high and flags of the records, of any stride.
    lists : tuple of array, written
        Features seen by the side to move and by the other (int32[B, >= max_active], those of one
        list side by side), and how many (int64[B]).
    """
    stm_out, other_out, stm_n, other_n = lists
    terms = view(blocks, n, EXTRACTED)
    vectors = VBMI2 and _fit_vectors(fields, lists)
    # Bytes from a position to the next, and to what is of the other side
    record, stride = _place(fields[0]), np.int64(fields[0].strides[0])
    out, row = _place(stm_out), np.int64(stm_out.strides[0])
    other, counts = _place(other_out) - out, _place(stm_n)
    other_counts = _place(other_n) - counts
    if n == 0:
        stm_n[:] = 0
        other_n[:] = 0
        return
    for start in range(0, len(fields[0]), CHUNK):
        stop = min(start + CHUNK, len(fields[0]))
        for b in range(n):
            way = terms[b].way if vectors else np.int64(BY_PIECES)
            if way == BY_PIECES:
                _append_by_pieces(terms[b], b > 0, fields, lists, start, stop)
                continue
            place = (
                np.int64(blocks) + b * _BLOCK,
                record + start * stride,
                stride,
                stop - start,
                out + start * row,
                row,
                other,
                counts + start * 8,
                other_counts,
                -np.int64(b > 0),
            )
            if way == INJECTIVE:
                extract_injective(*place)
            elif way == SHARED_SYMMETRIC:
                extract_shared_symmetric(*place)
            elif way == SHARED_ASYMMETRIC:
                extract_shared_asymmetric(*place)
            else:
                extract_by_king(*place)


@inline
def _place(array):
    """The address of what ``array[0]`` is or begins with."""
    return np.int64(array.ctypes.data)


@jit
def _fit_vectors(fields, lists):
    """Whether fields and lists lie in memory as the kernels of vectors take them."""
    occupied, pieces_low, pieces_high, flags = fields
    stm_out, other_out, stm_n, other_n = lists
    record = _place(occupied)
    return (
        _place(pieces_low) == record + LOW
        and _place(pieces_high) == record + HIGH
        and _place(flags) == record + FLAGS
        and stm_out.strides[0] == other_out.strides[0]
        and stm_n.strides[0] == other_n.strides[0] == 8
    )


@jit
def _append_by_pieces(block, begun, fields, lists, start, stop):
    """The same without vectors, for any block."""
    occupied, pieces_low, pieces_high, flags = fields
    stm_out, other_out, stm_n, other_n = lists
    tables = view(block.tables, block.n_tables, TABLE)
    classes, repeats = block.classes, block.repeats != 0
    places = np.empty(MOST_PIECES, np.int64)
    unlike = np.empty(MOST_PIECES, np.int64)
    kings, seen = np.zeros(2, np.int64), np.zeros(PLACES, np.int64)
    for i in range(start, stop):
        left = np.uint64(occupied[i])
        low, high = np.uint64(pieces_low[i]), np.uint64(pieces_high[i])
        there = np.int64(0)
        while left != _ZERO and there < MOST_PIECES:
            square, piece = lsb(left), np.int64(low & _NIBBLE)
            left &= left - _ONE
            low = low >> _FOUR | high << _SIXTY
            high >>= _FOUR
            places[at(there)] = piece * SQUARES_ON_BOARD + square
            there += 1
            if piece >= _KINGS:
                kings[at(piece & 1)] = square
        black = np.int64(flags[i] & 1)
        for player in range(2):
            table = tables[at(classes[at(player), at(kings[at(player)])])]
            numbers = table.numbers[at(player)]
            firsts, m = places, there
            if repeats:
                tag = np.int64(2 * i + player + 1)
                firsts, m = unlike, _unlike(numbers, places, there, seen, tag, unlike)
            features = table.features[at(player)]
            if player == black:
                n = stm_n[i] if begun else np.int64(0)
                stm_n[i] = _append(features, firsts, m, stm_out[i], n)
            else:
                n = other_n[i] if begun else np.int64(0)
                other_n[i] = _append(features, firsts, m, other_out[i], n)


@inline
def _unlike(numbers, places, n, seen, tag, out):
    """Writes the first of the places with the same feature; returns how many there are.

    ``seen`` (int64[768]) has the tag that each feature was last met with.
    """
    m = np.int64(0)
    for k in range(n):
        place = places[at(k)]
        number = np.int64(numbers[at(place)])
        if number >= 0:
            out[at(m)] = place
            m += np.int64(seen[at(number)] != tag)
            seen[at(number)] = tag
    return m


@inline
def _append(features, places, m, out, n):
    """Appends the features of so many places; returns the new length."""
    for k in range(m):
        feature = features[at(places[at(k)])]
        if feature >= 0:
            out[at(n)] = feature
            n += 1
    return n
