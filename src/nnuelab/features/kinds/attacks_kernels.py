"""Sets of squares by role and colour, jitted: each square of a set is a feature, or their number.

Two positions are compared set by set. The sets are computed whole, and kept for the positions that
updates have led to, since the next update starts from one of them. What is kept is known again by
where all pieces stand, hence never wrong. It is scratch: ``changes`` is for one thread at a time,
as a net is. ``active`` doesn't use it. Both know White's perspective only; the other is a table.
"""

import numpy as np

from nnuelab.chess import mobility
from nnuelab.features.kinds.attacks import ATTACKED_AND_ATTACKERS, MOBILITY, SPARE
from nnuelab.features.lists import pack
from nnuelab.jit import at, inline, jit, lsb, popcount, view

MOST_SETS = 24  # that a source has
POSITIONS = 128  # that are kept, a power of two: more than a search updates around a node
PLACEMENT = 9  # words that say where all pieces stand: bitboards of roles and colours, and the key

SETS = np.dtype(
    [
        ("source", "i8"),
        ("n", "i8"),  # sets
        ("kept", "u8"),  # -> uint64[POSITIONS, PLACEMENT + n]
        ("first", "u8"),  # -> int64[n]: feature of the empty set, every further square is 2 more
        ("most", "u8"),  # -> int64[n]: squares that are counted
    ],
    align=True,
)
"""``first`` and ``most`` are for numbers; a square's feature is square * 12 + piece."""

_ONE, _ZERO = np.uint64(1), np.uint64(0)


@jit
def _fill(source, position, sets):
    if source == MOBILITY:
        mobility.mobility(position, sets)
    else:
        mobility.attacked(position, sets)
        if source == ATTACKED_AND_ATTACKERS:
            mobility.attackers(position, sets[12:])


@inline
def _is_of(words, position):
    """Whether words of a kept position are those of this one."""
    if words[at(8)] != position.key:  # differs first, and tells positions apart by one test
        return False
    difference = _ZERO
    for role in range(6):
        difference |= words[at(role)] ^ position.roles[at(role)]
    for color in range(2):
        difference |= words[at(6 + color)] ^ position.colors[at(color)]
    return difference == _ZERO


@inline
def _sets(data, place, position):
    """The sets of a position, which are kept at a place."""
    words = view(data.kept, (POSITIONS, PLACEMENT + data.n), np.uint64)[at(place)]
    if not _is_of(words, position):
        for role in range(6):
            words[at(role)] = position.roles[at(role)]
        for color in range(2):
            words[at(6 + color)] = position.colors[at(color)]
        words[at(8)] = position.key
        _fill(data.source, position, words[PLACEMENT:])
    return words[PLACEMENT:]


@inline
def _both(data, old, new):
    """The sets of two positions, never kept at the same place."""
    mask = np.uint64(POSITIONS - 1)
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
    _fill(data.source, position, sets)
    n = np.int64(0)
    for piece in range(12):
        n = _append(out, n, sets[at(piece)], piece)
    return n


def squares_changes(data, old, new, perspective, added, removed):
    before, after = _both(data, old, new)
    n_added, n_removed = np.int64(0), np.int64(0)
    for piece in range(12):
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
    _fill(data.source, position, sets)
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
