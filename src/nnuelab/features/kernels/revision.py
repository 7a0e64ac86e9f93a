"""What a move changes in sets of squares, against what it changed before; jitted.

A move turns much the same features on and off wherever it is made. So a change is kept, as the
squares of each set that came and went, and only what is different this time is listed. Nothing has
to be known of when a change was kept: the words say what it was.
"""

import numpy as np
from numba import carray

from nnuelab.features.kernels.called import _turn
from nnuelab.features.kernels.lists import pack
from nnuelab.features.kernels.square_sets import _append, _sets
from nnuelab.features.records import PIECES, SETS, TERM
from nnuelab.jit import at, inline, lsb, view

_ONE, _ZERO = np.uint64(1), np.uint64(0)
WORDS = 2 * PIECES
"""Words of a change in a term: squares that came, by role and colour, and squares that went."""


@inline
def _revise(before, after, came, went, more, less):
    """Of one term: returns how many features it lists of either kind."""
    n_more, n_less, different = np.int64(0), np.int64(0), _ZERO
    for piece in range(PIECES):  # most sets change as they did
        was, now = before[at(piece)], after[at(piece)]
        coming, going = now & ~was, was & ~now
        same = (coming ^ came[at(piece)]) | (going ^ went[at(piece)]) == _ZERO
        different |= np.uint64(not same) << np.uint64(piece)
    while different:
        piece = lsb(different)
        different &= different - _ONE
        was, now = before[at(piece)], after[at(piece)]
        coming, going = now & ~was, was & ~now
        came_before, went_before = came[at(piece)], went[at(piece)]
        came[at(piece)], went[at(piece)] = coming, going
        # A square that comes where it went before counts twice.
        plus, regained = coming & ~came_before, went_before & ~going
        minus, lost = going & ~went_before, came_before & ~coming
        n_more = _append(more, n_more, plus | regained, piece)
        n_less = _append(less, n_less, minus | lost, piece)
        if (plus & regained) | (minus & lost):
            n_more = _append(more, n_more, plus & regained, piece)
            n_less = _append(less, n_less, minus & lost, piece)
    return n_more, n_less


def revise(old, new, at_old, at_new, terms, n, words, more, less, width, counts):
    """Makes a kept change that from ``old`` to ``new``, and lists what that adds to it.

    Parameters
    ----------
    at_old, at_new : int64
        Two numbers under which the sets of a term are kept, below KEPT: what an update led to is
        what another one begins from.
    terms, n : int64
        Address and number of terms that are sets of squares, TERM[n].
    words : int64
        Address of what is kept of them, uint64[n, WORDS]; all 0: nothing came or went.
    more, less : int32[2, width], by address, written
        The features that ``old`` to ``new`` turns on, by perspective, without those that the kept
        change turned on, and with those that it turned off; and the other way round. ``width`` is
        at least twice ``max_active``.
    counts : COUNTS, written
        Lengths of both lists.
    """
    of_terms, changes = view(terms, n, TERM), view(words, (n, WORDS), np.uint64)
    more, less = carray(more, (2, width)), carray(less, (2, width))
    n_more, n_less = np.int64(0), np.int64(0)
    for i in range(n):
        term, change = of_terms[i], changes[i]
        data = view(term.data, 1, SETS)[0]
        before, after = _sets(data, at_old, old), _sets(data, at_new, new)
        came, went = change[:PIECES], change[PIECES:]
        plus, minus = _revise(before, after, came, went, more[0, n_more:], less[0, n_less:])
        _turn(term, more[0], n_more, n_more + plus, more[1], n_more)
        _turn(term, less[0], n_less, n_less + minus, less[1], n_less)
        n_more += plus
        n_less += minus
    counts.added, counts.removed = pack(n_more, n_more), pack(n_less, n_less)
    return np.int64(0)
