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
def forward(x, distance, power, by_column, bias, start, stop, z):
    """z = inputs @ w2.T + bias for positions start..stop.

    Parameters
    ----------
    x : float32[panels, B', 2, 64]
        Clipped accumulators; B' is the number of positions rounded up to STRIP.
    distance : int
        Panels from a neuron to its partner.
    power : int
        0: the inputs are x. 1: they are x times its partners, others. 2: the same with a distance
        of 0, so the squares of x.
    by_column : float32[panels - distance, 2, 64, O']
        The weights; O' is the number of outputs rounded up to LANES.
    bias : float32[O']
    z : float32[B', O'], written; those of a strip that is begun, as a whole
    """
    for first in range(start, stop, STRIP):
        sums = z[first : first + STRIP]
        sums[:] = bias
        for panel in range(by_column.shape[0]):
            inputs = x[panel, first : first + STRIP]
            if power:
                inputs = inputs * x[panel + distance, first : first + STRIP]
            for side in range(2):
                add_product(inputs[:, side], by_column[panel, side], sums)


@jit
def backward(x, partner, power, dz, by_output, start, stop, masked, bias, gradient):
    """The gradients of a panel for positions start..stop, a block.

    Parameters
    ----------
    x : float32[B', 2, 64]
        Of the panel, see `forward`.
    partner : float32[B', 2, 64]
        What x is multiplied by.
    power : int
        See `forward`.
    dz : float32[B', O']
        Gradient with respect to the sums.
    by_output : float32[2, O rounded up to ROWS, 64]
        The weights.
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
        inputs, others = x[first : first + STRIP], partner[first : first + STRIP]
        through = masked[first - start : first - start + STRIP]
        through[:] = 0
        for side in range(2):
            add_product(dz[first : first + STRIP, :outputs], by_output[side], through[:, side])
        for row in range(2 * n):
            place = 4 * COLUMNS * row
            mask(
                at_address(inputs) + place,
                at_address(others) + place,
                power,
                at_address(through) + place,
                at_address(bias),
            )
        if power:
            inputs = inputs * others
        for side in range(2):
            add_product(dz[first : first + n, :outputs].T, inputs[:n, side], gradient[side])
