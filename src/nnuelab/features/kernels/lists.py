"""Lists of features inside kernels: int32 in memory that the caller owns, and how two compare."""

import numpy as np

from nnuelab.jit import inline, jit, view

_HALF = np.int64(32)
_LOW = np.int64(0xFFFFFFFF)
_GAPS = np.array([301, 132, 57, 23, 10, 4, 1])  # of Shell sort: M. Ciura, FCT 2001


@inline
def pack(n_added, n_removed):
    """Two lengths as the one int64 that a function called by address returns."""
    return np.int64(n_added) | np.int64(n_removed) << _HALF


@inline
def unpack(packed):
    """The two lengths that :func:`pack` joined."""
    return packed & _LOW, packed >> _HALF


@inline
def place(out, n):
    """The address of ``out[n]`` as int64, for a function called by address."""
    return np.int64(out.ctypes.data) + 4 * n


@jit
def sort(values):
    """Sorts in place. Lists are short, and often nearly in order."""
    for gap in _GAPS:
        for i in range(gap, values.size):
            value, j = values[i], i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value


@jit
def subtract(added, n_added, removed, n_removed):
    """Takes out of two lists (by address) what is in both; each has a feature once.

    Returns
    -------
    tuple of int64
        The lengths that are left.
    """
    plus, minus = view(added, n_added, np.int32), view(removed, n_removed, np.int32)
    sort(plus)
    sort(minus)
    i, j, more, less = np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    while i < n_added or j < n_removed:
        if j == n_removed or (i < n_added and plus[i] < minus[j]):
            plus[more] = plus[i]
            more += 1
            i += 1
        elif i == n_added or minus[j] < plus[i]:
            minus[less] = minus[j]
            less += 1
            j += 1
        else:
            i += 1
            j += 1
    return more, less
