"""What functions of blocks have in common: a feature for each square of a set."""

import numpy as np

from nnuelab.jit import inline, lsb

_ONE = np.uint64(1)


@inline
def write_squares(out, n, squares, first):
    """Writes ``first + square`` for each square of a set (uint64) behind ``n`` features.

    Returns how many ``out`` has then.
    """
    while squares:
        out[n] = first + lsb(squares)
        squares &= squares - _ONE
        n += 1
    return n
