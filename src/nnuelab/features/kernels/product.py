"""Products, jitted: what is active together, from what is active in each factor.

``data`` is a record of :data:`nnuelab.features.tables.PRODUCT`, with a feature set for each factor.
A tuple comes or goes when at least one of its factors' features does. Counted by the first factor
that changes, each such tuple is met once: kept features before it, any behind it.
"""

import numpy as np

from nnuelab.features.kernels import feature_set
from nnuelab.features.kernels.lists import pack
from nnuelab.features.records import FEATURES
from nnuelab.jit import at, jit, view


@jit
def _emit(strides, rows, first, last, out, n):
    """Appends the sums of one row of each factor f, out of ``rows[f, first[f]:last[f]]``."""
    factors = strides.size
    for f in range(factors):
        if first[f] >= last[f]:
            return n
    place = first.copy()
    while True:
        row = np.int64(0)
        for f in range(factors):
            row += rows[f, place[f]] * strides[f]
        out[n] = row
        n += 1
        f = factors - 1  # the next tuple, the last factor running fastest
        while f >= 0:
            place[f] += 1
            if place[f] < last[f]:
                break
            place[f] = first[f]
            f -= 1
        if f < 0:
            return n


def active(data, position, perspective, out):
    factors = view(data.factors, data.n, FEATURES)
    strides = view(data.strides, data.n, np.int64)
    rows = np.empty((data.n, data.width), np.int32)
    first, last = np.zeros(data.n, np.int64), np.empty(data.n, np.int64)
    for f in range(data.n):
        last[f] = feature_set.active(factors[f], position, perspective, rows[f])
    return _emit(strides, rows, first, last, out, np.int64(0))


@jit
def _keep(features, position, perspective, changed, n, scratch):
    """Puts the active features that are not among ``changed[:n]`` behind them; returns the end."""
    found = feature_set.active(features, position, perspective, scratch)
    end = n
    for i in range(found):
        is_kept = True
        for j in range(n):
            is_kept &= scratch[i] != changed[j]
        if is_kept:
            changed[end] = scratch[i]
            end += 1
    return end


@jit
def _touched(strides, rows, changed, end, out):
    """Writes the tuples with a changed feature; those of factor f are ``rows[f, :changed[f]]``."""
    n = np.int64(0)
    first, last = np.zeros(strides.size, np.int64), end.copy()
    for f in range(strides.size):
        first[f], last[f] = 0, changed[f]
        n = _emit(strides, rows, first, last, out, n)
        first[f], last[f] = changed[f], end[f]  # from here on: kept
    return n


def changes(data, old, new, perspective, added, removed):
    factors = view(data.factors, data.n, FEATURES)
    strides = view(data.strides, data.n, np.int64)
    plus, minus = np.empty((2, data.n, data.width), np.int32)
    n_plus, n_minus = np.empty((2, data.n), np.int64)
    n_changed = np.int64(0)
    for f in range(data.n):
        n_plus[f], n_minus[f] = feature_set.changes(
            factors[f], old, new, perspective, plus[f], minus[f]
        )
        n_changed += n_plus[f] + n_minus[f] > 0
    if n_changed == 0:
        return pack(np.int64(0), np.int64(0))
    plus_end, minus_end = n_plus.copy(), n_minus.copy()
    scratch = np.empty(data.width, np.int32)
    for f in range(data.n):
        if n_changed == 1 and n_plus[f] + n_minus[f] > 0:
            continue  # it is combined with what the others keep
        plus_end[f] = _keep(factors[f], new, perspective, plus[f], n_plus[f], scratch)
        minus_end[f] = n_minus[f]
        for i in range(n_plus[f], plus_end[f]):  # what is kept is the same on both sides
            minus[f, at(minus_end[f])] = plus[f, i]
            minus_end[f] += 1
    n_added = _touched(strides, plus, n_plus, plus_end, added)
    return pack(n_added, _touched(strides, minus, n_minus, minus_end, removed))
