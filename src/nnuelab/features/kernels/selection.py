"""Some features of a set, jitted: those of the set by a table, for the side of the own king."""

import numpy as np
from numba import carray

from nnuelab.features.kernels import feature_set
from nnuelab.features.kernels.lists import pack
from nnuelab.features.kernels.piece_square import by_own_king
from nnuelab.features.records import FROM_SCRATCH
from nnuelab.jit import at, inline, view


@inline
def _select(data, side, found, n):
    """Replaces features of the set in place; returns how many are left."""
    rows = view(data.rows, (2, data.features.size), np.int32)[at(side)]
    left = np.int64(0)
    for i in range(n):
        row = rows[at(found[i])]
        found[left] = row
        left += row >= 0
    return left


def active(data, position, perspective, out):
    found = carray(out, data.features.max_active)
    n = feature_set.active(data.features, position, perspective, found)
    return _select(data, by_own_king(data.sides, position, perspective), found, n)


def changes(data, old, new, perspective, added, removed):
    side = by_own_king(data.sides, new, perspective)
    if by_own_king(data.sides, old, perspective) != side:
        return np.int64(FROM_SCRATCH)
    plus = carray(added, data.features.max_active)
    minus = carray(removed, data.features.max_active)
    n_added, n_removed = feature_set.changes(data.features, old, new, perspective, plus, minus)
    return pack(_select(data, side, plus, n_added), _select(data, side, minus, n_removed))
