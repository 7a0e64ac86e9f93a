"""Terms that are called by address, jitted: themselves called by address, where a set has any.

So feature sets of piece-square blocks alone, and the search with them, don't compile any of this.
``tables`` is a record of :data:`nnuelab.features.tables.FEATURES`.
"""

import numpy as np
from numba import carray

from nnuelab.chess.position import POSITION
from nnuelab.features.kernels.lists import pack, place, subtract, unpack
from nnuelab.features.records import FROM_SCRATCH, TERM
from nnuelab.jit import at, call, inline, view

_ZERO = np.uint64(0)

# Functions of terms with `turned` are called for White only; for Black that table has the numbers.


@inline
def _asked(term, perspective):
    """For whom the functions of a term are called."""
    return np.int64(0) if term.turned != _ZERO else perspective


@inline
def _number(term, out, start, stop):
    """Makes the features of a term those of the set."""
    for i in range(start, stop):
        out[i] += term.offset


@inline
def _number_for(term, perspective, out, start, stop):
    """The same for a player, as :func:`_asked`."""
    if term.turned != _ZERO and perspective == 1:
        for i in range(start, stop):
            out[i] = view(term.turned, out[i] + 1, np.int32)[at(out[i])]
    _number(term, out, start, stop)


def add_active(tables, position, perspective, out, n):
    """Appends the active features of all terms to the ``n`` that are there; returns how many."""
    terms = view(tables.called, tables.n_called, TERM)
    out = carray(out, tables.max_active)
    for i in range(tables.n_called):
        term = terms[i]
        asked = _asked(term, perspective)
        found = call(term.active, term.data, position, asked, place(out, n))
        _number_for(term, perspective, out, n, n + found)
        n += found
    return n


@inline
def _turn(term, white, start, stop, black, other):
    """Numbers a term's features in ``white[start:stop]``, and Black's in ``black[other:]``."""
    for i in range(start, stop):
        feature = white[at(i)]
        turned = view(term.turned, feature + 1, np.int32)[at(feature)]
        white[at(i)] = feature + term.offset
        black[at(other + i - start)] = turned + term.offset


def add_active_of_many(tables, given):
    """Appends the features of a BATCH, without those of blocks that are extracted.

    Term by term: the code of all terms together is more than a cache holds.
    """
    terms = view(tables.called, tables.n_called, TERM)
    positions = view(given.positions, given.n, POSITION)
    seen_by_black = view(given.turned, given.n, POSITION)
    for t in range(tables.n_called):
        term = terms[t]
        for i in range(given.n):
            position = positions[at(i)]
            white, black = np.int64(position.turn), np.int64(position.turn ^ 1)
            white_n = view(given.lengths[white] + i * given.strides[white], 1, np.int64)
            black_n = view(given.lengths[black] + i * given.strides[black], 1, np.int64)
            place = given.lists[white] + i * given.rows[white] + 4 * white_n[0]
            other = given.lists[black] + i * given.rows[black] + 4 * black_n[0]
            more = call(term.active, term.data, position, np.int64(0), place)
            own, others = view(place, more, np.int32), view(other, tables.max_active, np.int32)
            white_n[0] += more
            if term.turned != _ZERO:
                _turn(term, own, np.int64(0), more, others, np.int64(0))
                black_n[0] += more
                continue
            _number(term, own, np.int64(0), more)
            if tables.state != 0:
                # One board is turned over for all terms, none by any of them.
                less = call(term.active, term.data, seen_by_black[at(i)], np.int64(0), other)
            else:
                less = call(term.active, term.data, position, np.int64(1), other)
            _number(term, others, np.int64(0), less)
            black_n[0] += less
    return np.int64(0)


@inline
def _changes_of(term, old, new, perspective, plus, minus):
    """What comes and goes in one term, as it numbers it: written to two addresses."""
    if term.changes != _ZERO:
        packed = call(term.changes, term.data, old, new, perspective, plus, minus)
        if packed != FROM_SCRATCH:
            return unpack(packed)
    more = call(term.active, term.data, new, perspective, plus)
    less = call(term.active, term.data, old, perspective, minus)
    return subtract(plus, more, minus, less)


def add_changes(tables, old, new, perspective, added, removed, counts):
    """Appends what comes and goes in all terms; takes and returns both lengths, packed."""
    n_added, n_removed = unpack(counts)
    terms = view(tables.called, tables.n_called, TERM)
    added, removed = carray(added, tables.max_active), carray(removed, tables.max_active)
    for i in range(tables.n_called):
        term = terms[i]
        plus, minus = place(added, n_added), place(removed, n_removed)
        more, less = _changes_of(term, old, new, _asked(term, perspective), plus, minus)
        _number_for(term, perspective, added, n_added, n_added + more)
        _number_for(term, perspective, removed, n_removed, n_removed + less)
        n_added += more
        n_removed += less
    return pack(n_added, n_removed)


def add_changes_of_both(tables, old, new, added, removed, width, counts):
    """The same for both perspectives: lists of ``width``, a record of COUNTS, read and written."""
    a0, a1 = unpack(counts.added)
    r0, r1 = unpack(counts.removed)
    terms = view(tables.called, tables.n_called, TERM)
    added, removed = carray(added, (2, width)), carray(removed, (2, width))
    for i in range(tables.n_called):
        term = terms[i]
        plus, minus = place(added[0], a0), place(removed[0], r0)
        more, less = _changes_of(term, old, new, np.int64(0), plus, minus)
        a0 += more
        r0 += less
        if term.turned != _ZERO:
            _turn(term, added[0], a0 - more, a0, added[1], a1)
            _turn(term, removed[0], r0 - less, r0, removed[1], r1)
        else:
            plus, minus = place(added[1], a1), place(removed[1], r1)
            _number(term, added[0], a0 - more, a0)
            _number(term, removed[0], r0 - less, r0)
            more, less = _changes_of(term, old, new, np.int64(1), plus, minus)
            _number(term, added[1], a1, a1 + more)
            _number(term, removed[1], r1, r1 + less)
        a1 += more
        r1 += less
    counts.added, counts.removed = pack(a0, a1), pack(r0, r1)
    return np.int64(0)
