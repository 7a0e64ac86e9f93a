"""Sets of squares by role and colour, jitted: each square of a set is a feature, or their number.

Sets come from sources, called by address, which write twelve of them; a definition's code puts
them together. Two positions are compared set by set. The sets are computed whole, and kept for the
positions that updates have led to, since the next update starts from one of them. What is kept is
known again by where all pieces stand, hence never wrong. It is scratch: ``changes`` is for one
thread at a time, as a net is. ``active`` doesn't use it. Both know White's perspective only; the
other is a table.
"""

import numpy as np

from nnuelab.chess.mobility import EVERYWHERE
from nnuelab.features.kernels.lists import pack
from nnuelab.features.records import (
    AND,
    GATE,
    INSTRUCTION,
    KEPT,
    MOST_DEPTH,
    MOST_SETS,
    MOST_SOURCES,
    OR,
    PIECE,
    PIECES,
    PLACEMENT,
    SPARE,
)
from nnuelab.jit import at, call, inline, jit, lsb, popcount, view

_ONE, _ZERO = np.uint64(1), np.uint64(0)


@inline
def ask(data, position, movers, out):
    """Writes the sets of all sources one behind the other, of the pieces on the squares movers."""
    sources = view(data.sources, data.n_sources, np.uint64)
    for i in range(data.n_sources):
        call(sources[i], position, movers, np.int64(out.ctypes.data) + 8 * PIECES * i)


@jit
def run(data, i, of_piece, of_all):
    """What the code of set ``i`` makes of the sources' sets, of one piece and of all."""
    code, ends = view(data.code, data.n_code, INSTRUCTION), view(data.ends, data.n, np.int64)
    stack, depth = np.empty(MOST_DEPTH, np.uint64), np.int64(0)
    for step in range(ends[i - 1] if i > 0 else 0, ends[i]):
        operation = code[step].operation
        if operation <= GATE:
            given = of_piece if operation == PIECE else of_all
            union, pieces = _ZERO, np.uint64(code[step].pieces)
            while pieces:
                union |= given[at(PIECES * code[step].source + lsb(pieces))]
                pieces &= pieces - _ONE
            if operation != GATE:
                stack[at(depth)] = union
                depth += 1
            elif union == _ZERO:
                stack[at(depth - 1)] = _ZERO
            continue
        depth -= 1
        left, right = stack[at(depth - 1)], stack[at(depth)]
        if operation == AND:
            stack[at(depth - 1)] = left & right
        elif operation == OR:
            stack[at(depth - 1)] = left | right
        else:
            stack[at(depth - 1)] = left & ~right
    return stack[0]


@jit
def _run_all(data, position, sets):
    given = np.empty(MOST_SOURCES * PIECES, np.uint64)
    ask(data, position, EVERYWHERE, given)
    for i in range(data.n):
        sets[i] = run(data, i, given, given)


@inline
def _fill(data, position, sets):
    if data.n_code == 0:
        ask(data, position, EVERYWHERE, sets)
    else:
        _run_all(data, position, sets)


@inline
def _is_of(words, position):
    """Whether words of a kept position are those of this one."""
    if words[at(9)] != position.key:  # differs first, and tells positions apart by one test
        return False
    difference = words[at(8)] ^ np.uint64(position.castling)
    for role in range(6):
        difference |= words[at(role)] ^ position.roles[at(role)]
    for color in range(2):
        difference |= words[at(6 + color)] ^ position.colors[at(color)]
    return difference == _ZERO


@inline
def _sets(data, number, position):
    """The sets of a position, which are kept under a number."""
    words = view(data.kept, (KEPT, PLACEMENT + data.n), np.uint64)[at(number)]
    if not _is_of(words, position):
        for role in range(6):
            words[at(role)] = position.roles[at(role)]
        for color in range(2):
            words[at(6 + color)] = position.colors[at(color)]
        words[at(8)], words[at(9)] = np.uint64(position.castling), position.key
        _fill(data, position, words[PLACEMENT:])
    return words[PLACEMENT:]


@inline
def _both(data, old, new):
    """The sets of two positions, never kept under the same number."""
    mask = np.uint64(KEPT - 1)
    before, after = np.int64(old.key & mask), np.int64(new.key & mask)
    after ^= np.int64(before == after)
    return _sets(data, before, old), _sets(data, after, new)


# Squares -----------------------------------------------------------------------------------------


@inline
def _append(out, n, squares, piece):
    """Appends the features of one set; returns the new length."""
    end = n + popcount(squares)
    # Most sets of an update have two squares or fewer. Two are written, wanted or not: that costs
    # less than a loop whose end the CPU can't predict.
    for i in range(SPARE):
        out[n + i] = lsb(squares) * 12 + piece
        squares &= squares - _ONE
    n += SPARE
    while squares:
        out[n] = lsb(squares) * 12 + piece
        n += 1
        squares &= squares - _ONE
    return end


def squares_active(data, position, perspective, out):
    sets = np.empty(MOST_SETS, np.uint64)
    _fill(data, position, sets)
    n = np.int64(0)
    for piece in range(PIECES):
        n = _append(out, n, sets[at(piece)], piece)
    return n


def squares_changes(data, old, new, perspective, added, removed):
    before, after = _both(data, old, new)
    n_added, n_removed, changed = np.int64(0), np.int64(0), _ZERO
    for piece in range(PIECES):  # most sets stay as they are
        changed |= np.uint64(before[at(piece)] != after[at(piece)]) << np.uint64(piece)
    while changed:
        piece = lsb(changed)
        changed &= changed - _ONE
        was, now = before[at(piece)], after[at(piece)]
        n_added = _append(added, n_added, now & ~was, piece)
        n_removed = _append(removed, n_removed, was & ~now, piece)
    return pack(n_added, n_removed)


# Numbers -----------------------------------------------------------------------------------------


@inline
def _feature(first, most, sets, i):
    return first[at(i)] + 2 * min(popcount(sets[at(i)]), most[at(i)])


def counts_active(data, position, perspective, out):
    first, most = view(data.first, data.n, np.int64), view(data.most, data.n, np.int64)
    sets = np.empty(MOST_SETS, np.uint64)
    _fill(data, position, sets)
    for i in range(data.n):
        out[i] = _feature(first, most, sets, i)
    return data.n


def counts_changes(data, old, new, perspective, added, removed):
    first, most = view(data.first, data.n, np.int64), view(data.most, data.n, np.int64)
    before, after = _both(data, old, new)
    n = np.int64(0)
    for i in range(data.n):
        was, now = _feature(first, most, before, i), _feature(first, most, after, i)
        added[n], removed[n] = now, was
        n += was != now
    return pack(n, n)
