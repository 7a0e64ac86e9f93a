"""Linear systems that come out the same on every machine and for any number of threads.

The libraries behind numpy choose their order of operations by CPU and threads; the last bits of a
step would decide how a rounded weight ends. At a few hundred unknowns a plain factorisation is
fast enough.
"""

from __future__ import annotations

import numpy as np

from nnuelab.jit import at, jit


def solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray | None:
    """The solution of a symmetric positive definite system, by its Cholesky factor.

    Parameters
    ----------
    matrix : float64 [n, n]
    right : float64 [n] or [n, m]

    Returns
    -------
    float64 like ``right``, or None when the matrix isn't positive definite.
    """
    factor = np.ascontiguousarray(matrix, np.float64).copy()
    if not _factor(factor):
        return None
    found = np.array(right, np.float64).reshape(len(right), -1)
    _substitute(factor, found)
    return found.reshape(right.shape)


@jit
def _factor(a):
    """Replaces the upper triangle by U with U'U = a (Golub and Van Loan, Matrix Computations)."""
    n = a.shape[0]
    for k in range(n):
        if not a[k, k] > 0.0:
            return False
        pivot = a[k]
        root = np.sqrt(pivot[at(k)])
        for j in range(k, n):
            pivot[at(j)] /= root
        for i in range(k + 1, n):
            row, times = a[i], pivot[at(i)]
            for j in range(i, n):
                row[at(j)] -= times * pivot[at(j)]
    return True


@jit
def _substitute(u, x):
    """Replaces each column of x by the solution of U'U y = x."""
    n, m = x.shape
    for k in range(n):
        for c in range(m):
            x[at(k), at(c)] /= u[k, k]
        for i in range(k + 1, n):
            for c in range(m):
                x[at(i), at(c)] -= u[k, i] * x[at(k), at(c)]
    for k in range(n - 1, -1, -1):
        for c in range(m):
            for i in range(k + 1, n):
                x[at(k), at(c)] -= u[k, at(i)] * x[at(i), at(c)]
            x[at(k), at(c)] /= u[k, k]
