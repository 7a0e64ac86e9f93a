"""Features by phase, jitted: a feature set, further on for each phase."""

import numpy as np
from numba import carray

from nnuelab.features import kernels
from nnuelab.features.block import MOST_PIECES
from nnuelab.features.lists import pack
from nnuelab.features.tables import FEATURES, FROM_SCRATCH
from nnuelab.jit import at, inline, popcount, view

PHASE = np.dtype(
    [
        ("features", FEATURES),
        ("starts", "u8"),  # -> int64[33]: first feature by number of pieces
    ],
    align=True,
)


@inline
def _start(data, position):
    pieces = popcount(position.colors[0] | position.colors[1])
    return view(data.starts, MOST_PIECES + 1, np.int64)[at(pieces)]


def active(data, position, perspective, out):
    start = _start(data, position)
    found = carray(out, data.features.max_active)
    n = kernels.active(data.features, position, perspective, found)
    for i in range(n):
        found[i] += start
    return n


def changes(data, old, new, perspective, added, removed):
    start = _start(data, new)
    if _start(data, old) != start:
        return np.int64(FROM_SCRATCH)
    plus = carray(added, data.features.max_active)
    minus = carray(removed, data.features.max_active)
    n_added, n_removed = kernels.changes(data.features, old, new, perspective, plus, minus)
    for i in range(n_added):
        plus[i] += start
    for i in range(n_removed):
        minus[i] += start
    return pack(n_added, n_removed)
