"""Kernels of dense layers in training: products whose bits don't depend on the CPU.

Every number is a chain of fused multiply-adds in the order of what is summed over. BLAS sums in an
order that it chooses by the kind of CPU.
"""

from __future__ import annotations

import numpy as np

from nnuelab.jit import inline, jit
from nnuelab.learning.simd import COLUMNS, LANES, ROWS, mask, multiply

STRIP = 32  # positions whose 64 columns stay in the first cache


def rounded_up(n: int, unit: int) -> int:
    """The next multiple of ``unit``."""
    return -(-n // unit) * unit


@inline
def at_address(array):
    """Where an array begins."""
    return np.int64(array.ctypes.data)


@inline
def add_product(a, b, c):
    """c += a @ b.

    Parameters
    ----------
    a : float32[R, K]
    b : float32[K, C]
        Each row contiguous, as those of ``c``.
    c : float32[R, C]
        R is a multiple of ROWS, C of LANES.
    """
    for i in range(0, c.shape[0], ROWS):
        for j in range(0, c.shape[1], LANES):
            multiply(
                at_address(a) + i * a.strides[0],
                np.int64(a.strides[0]),
                np.int64(a.strides[1]),
                at_address(b) + 4 * j,
                np.int64(b.strides[0]),
                np.int64(a.shape[1]),
                at_address(c) + i * c.strides[0] + 4 * j,
                np.int64(c.strides[0]),
            )


@jit
def forward(x, by_column, bias, start, stop, squared, z):
    """z = x @ w2.T + bias for positions start..stop, of the squares of x if ``squared`` isn't 0.

    Parameters
    ----------
    x : float32[panels, B', 2, 64]
        Clipped accumulators; B' is the number of positions rounded up to STRIP.
    by_column : float32[panels, 2, 64, O']
        The weights; O' is the number of outputs rounded up to LANES.
    bias : float32[O']
    z : float32[B', O'], written; those of a strip that is begun, as a whole
    """
    for first in range(start, stop, STRIP):
        sums = z[first : first + STRIP]
        sums[:] = bias
        for panel in range(x.shape[0]):
            inputs = x[panel, first : first + STRIP]
            if squared:
                inputs = inputs * inputs
            for side in range(2):
                add_product(inputs[:, side], by_column[panel, side], sums)


@jit
def backward(x, dz, by_output, start, stop, squared, masked, bias, gradient):
    """The gradients of a panel for positions start..stop, a block.

    Parameters
    ----------
    x : float32[B', 2, 64]
        Of the panel, see `forward`.
    dz : float32[B', O']
        Gradient with respect to the sums.
    by_output : float32[2, O rounded up to ROWS, 64]
        The weights.
    squared : int
    masked : float32[BLOCK, 2, 64], written
        Gradient with respect to the accumulators: 0 where they are clipped.
    bias : float32[64], added to
        That of the first layer.
    gradient : of the shape of ``by_output``, added to
        That of the weights.
    """
    outputs = by_output.shape[1]
    for first in range(start, stop, STRIP):
        n = min(STRIP, stop - first)
        inputs, through = x[first : first + STRIP], masked[first - start : first - start + STRIP]
        through[:] = 0
        for side in range(2):
            add_product(dz[first : first + STRIP, :outputs], by_output[side], through[:, side])
        for row in range(2 * n):
            place = 4 * COLUMNS * row
            mask(at_address(inputs) + place, at_address(through) + place, at_address(bias), squared)
        if squared:
            inputs = inputs * inputs
        for side in range(2):
            add_product(dz[first : first + n, :outputs].T, inputs[:n, side], gradient[side])
