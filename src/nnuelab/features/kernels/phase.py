"""Features by phase, jitted: a feature set, further on for each phase."""

import numpy as np
from numba import carray

from nnuelab.features.kernels import feature_set
from nnuelab.features.kernels.lists import pack
from nnuelab.features.records import FROM_SCRATCH, MOST_PIECES
from nnuelab.jit import at, inline, popcount, view


@inline
def _start(data, position):
    pieces = popcount(position.colors[0] | position.colors[1])
    return view(data.starts, MOST_PIECES + 1, np.int64)[at(pieces)]


def active(data, position, perspective, out):
    start = _start(data, position)
    found = carray(out, data.features.max_active)
    n = feature_set.active(data.features, position, perspective, found)
    for i in range(n):
        found[i] += start
    return n


def changes(data, old, new, perspective, added, removed):
    start = _start(data, new)
    if _start(data, old) != start:
        return np.int64(FROM_SCRATCH)
    plus = carray(added, data.features.max_active)
    minus = carray(removed, data.features.max_active)
    n_added, n_removed = feature_set.changes(data.features, old, new, perspective, plus, minus)
    for i in range(n_added):
        plus[i] += start
    for i in range(n_removed):
        minus[i] += start
    return pack(n_added, n_removed)
