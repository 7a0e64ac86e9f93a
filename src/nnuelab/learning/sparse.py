"""Batches of active features, and kernels that sum their rows and scatter gradients to them.

The rows of weights that a position needs come from all over the table, so the cost is cache misses.
Kernels therefore work on panels of 64 columns, each a table of the rows that the batch needs
[rows, 64], which stays in the L2 cache. The backward pass goes panel by panel, too: it makes the
gradient of a block of positions from that of the second layer, where it is needed, inverts their
lists of features and sums, feature by feature, in registers. No gradient of all accumulators is
ever written.

Every sum has a fixed order that depends neither on the number of threads nor on their timing:
results are the same bit for bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nnuelab.jit import at, inline, jit
from nnuelab.learning import simd
from nnuelab.learning.simd import COLUMNS, TOGETHER

BLOCK = 256  # positions whose gradients are scattered together: 128 KB of a panel


@dataclass(frozen=True)
class Batch:
    """Active features of B positions.

    Attributes
    ----------
    rows : int32 [2, B, K]
        Features seen by the side to move and by the other, first the active ones, then anything.
    n : int64 [2, B]
        How many are active.
    pieces : uint8 [B], optional
        Pieces on the board, for nets with buckets.
    """

    rows: np.ndarray
    n: np.ndarray
    pieces: np.ndarray | None = None

    def __len__(self) -> int:
        return int(self.rows.shape[1])


@jit
def pad(rows, n, nothing, out):
    """Active features with ``nothing`` behind them.

    Parameters
    ----------
    rows, n : int32[2, B, K], int64[2, B]
        See `Batch`.
    out : int32[2, B, at least n.max()], written
    """
    for side in range(rows.shape[0]):
        for i in range(rows.shape[1]):
            count = n[side, i]
            for k in range(out.shape[2]):
                out[side, i, at(k)] = rows[side, i, at(k)] if k < count else nothing


@jit
def compact(rows, n, ranks, out, present):
    """Numbers the features of a batch without gaps.

    Parameters
    ----------
    rows, n : see Batch
    ranks : int32[N], written
        The number of each feature, ascending; -1 for those that no position has.
    out : int32[2, B, K], written
        ``rows`` by these numbers.
    present : int32[N], written
        The feature of each number.

    Returns
    -------
    int
        How many there are.
    """
    ranks[:] = -1
    for side in range(2):
        for p in range(rows.shape[1]):
            of_position = rows[side, p]
            for k in range(n[side, p]):
                ranks[at(of_position[at(k)])] = 0
    count = 0
    for f in range(ranks.size):
        if ranks[at(f)] == 0:
            ranks[at(f)] = count
            present[at(count)] = f
            count += 1
    for side in range(2):
        for p in range(rows.shape[1]):
            of_position, numbered = rows[side, p], out[side, p]
            for k in range(n[side, p]):
                numbered[at(k)] = ranks[at(of_position[at(k)])]
    return count


@jit
def pack(weight, present, start, stop, packed):
    """Rows present[start:stop] of ``weight`` (float32[N, M]) as panels (float32[panels, D, 64])."""
    m = weight.shape[1]
    for i in range(start, stop):
        row = weight[present[i]]
        for panel in range(packed.shape[0]):
            first = panel * COLUMNS
            target, source = packed[panel, i], row[first:]
            for j in range(min(COLUMNS, m - first)):
                target[at(j)] = source[at(j)]
            target[min(COLUMNS, m - first) :] = 0


@inline
def _at(array):
    return np.int64(array.ctypes.data)


@jit
def gather(table, bias, rows, n, start, stop, out):
    """out[p, s*M:(s+1)*M] = clip(bias + sum of the active rows, 0, 1) for positions start..stop.

    Parameters
    ----------
    table : float32[panels, N, 64]
    bias : float32[panels * 64]
    rows, n : see Batch
    out : float32[B, 2M], written
    """
    m = out.shape[1] // 2
    width = rows.shape[2]
    whole = np.zeros(COLUMNS, np.float32)
    for panel in range(table.shape[0]):
        first = panel * COLUMNS
        columns = min(COLUMNS, m - first)
        for side in range(2):
            for p in range(start, stop):
                place = _at(rows) + 4 * ((side * rows.shape[1] + p) * width)
                target = _at(out) + 4 * (p * 2 * m + side * m + first)
                if columns < COLUMNS:
                    target = _at(whole)
                simd.sum_rows(
                    _at(table) + 4 * first * table.shape[1],
                    place,
                    n[side, p],
                    _at(bias) + 4 * first,
                    target,
                )
                if columns < COLUMNS:
                    for j in range(columns):
                        out[p, side * m + first + j] = whole[j]


@jit
def invert(rows, n, start, stop, starts, sources, listed):
    """Lists, for each feature, the (position, side) where it is active, for positions start..stop.

    Parameters
    ----------
    starts : int32[N + 1], written
        Entries starts[f]..starts[f + 1] of ``sources`` are those of feature f.
    sources : int32[all], written
        2 * (position - start) + side, ascending within a feature.
    listed : int32[N], written
        The features that are active anywhere, ascending.

    Returns
    -------
    int
        How many these are.
    """
    starts[:] = 0
    for p in range(start, stop):
        for side in range(2):
            for k in range(n[side, p]):
                starts[rows[side, p, k] + 1] += 1
    count = 0
    for f in range(starts.size - 1):
        if starts[f + 1]:
            listed[count] = f
            count += 1
        starts[f + 1] += starts[f]
    # Filling moves each start to the next feature's; the shift below moves them back.
    for p in range(start, stop):
        for side in range(2):
            for k in range(n[side, p]):
                f = rows[side, p, k]
                sources[starts[f]] = 2 * (p - start) + side
                starts[f] += 1
    for f in range(starts.size - 1, 0, -1):
        starts[f] = starts[f - 1]
    starts[0] = 0
    return count


@jit
def scatter(
    panel, out, dz, w2, starts, sources, listed, counts, squared, total, b1_gradient, w2_gradient
):
    """The gradients of 64 columns of the first layer and of what they weigh in the second.

    Parameters
    ----------
    panel : int
        Which columns.
    out : float32[B, 2M]
        What ``gather`` wrote.
    dz : float32[B, O]
        Gradient with respect to the sums of the second layer.
    w2 : float32[O, 2M]
    starts, sources, listed, counts : int32[blocks, ...]
        What ``invert`` wrote and returned for each block.
    squared : int
        1 when the second layer gets the squares of ``out``, else 0.
    total : float32[D, 64], written
        Gradient of the packed rows.
    b1_gradient : float32[M], these columns written
    w2_gradient : float32[O, 2M], these columns written
    """
    m, outputs = out.shape[1] // 2, dz.shape[1]
    first = panel * COLUMNS
    columns = min(COLUMNS, m - first)
    bias = np.zeros(COLUMNS, np.float32)
    masked = np.zeros((2 * BLOCK, COLUMNS), np.float32)
    weights = np.zeros((2, outputs, COLUMNS), np.float32)
    of_block = np.zeros((2, outputs, COLUMNS), np.float32)
    of_all = np.zeros((2, outputs, COLUMNS), np.float32)
    x = np.zeros((TOGETHER, COLUMNS), np.float32)
    z = np.zeros((TOGETHER, outputs), np.float32)
    for side in range(2):
        for o in range(outputs):
            for j in range(columns):
                weights[side, o, j] = w2[o, side * m + first + j]
    total[:] = 0
    for block in range(starts.shape[0]):
        start = block * BLOCK
        stop = min(start + BLOCK, out.shape[0])
        of_block[:] = 0
        for p in range(start, stop, TOGETHER):
            n = min(TOGETHER, stop - p)
            z_place = _at(dz) + 4 * outputs * p
            if n < TOGETHER:  # behind the last position there are some without a gradient
                for i in range(n):
                    for o in range(outputs):
                        z[i, o] = dz[p + i, o]
                z_place = _at(z)
            for side in range(2):
                x_place, stride = _at(out) + 4 * (p * 2 * m + side * m + first), np.int64(8 * m)
                if n < TOGETHER or columns < COLUMNS:
                    for i in range(n):
                        for j in range(columns):
                            x[i, j] = out[p + i, side * m + first + j]
                    x_place, stride = _at(x), np.int64(4 * COLUMNS)
                simd.masked_products(
                    z_place,
                    _at(weights) + 4 * COLUMNS * outputs * side,
                    np.int64(outputs),
                    x_place,
                    stride,
                    _at(masked) + 4 * COLUMNS * (2 * (p - start) + side),
                    np.int64(8 * COLUMNS),
                    _at(bias),
                    squared,
                )
                simd.add_outer(
                    z_place,
                    x_place,
                    stride,
                    np.int64(outputs),
                    _at(of_block) + 4 * COLUMNS * outputs * side,
                    squared,
                )
        of_all += of_block
        for k in range(counts[block]):
            f = listed[block, k]
            entry = starts[block, f]
            simd.add_rows(
                _at(masked),
                _at(sources) + 4 * (block * sources.shape[1] + entry),
                np.int64(starts[block, f + 1] - entry),
                _at(total) + 4 * COLUMNS * f,
            )
    for j in range(columns):
        b1_gradient[first + j] = bias[j]
        for o in range(outputs):
            for side in range(2):
                w2_gradient[o, side * m + first + j] = of_all[side, o, j]
