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

from nnuelab.jit import at, jit
from nnuelab.learning import dense, simd
from nnuelab.learning.dense import at_address
from nnuelab.learning.simd import COLUMNS

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
    pieces : uint8 [B]
        On the board, for nets with buckets.
    """

    rows: np.ndarray
    n: np.ndarray
    pieces: np.ndarray

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
def pack(weight, shared, numbers, present, start, stop, spans, packed):
    """Rows present[start:stop], each with the rows that it shares added, as panels.

    Parameters
    ----------
    weight : float32[N, M]
    shared : float32[S, M]
        Rows that features share.
    numbers : int32[N, F]
        Which ones, -1 for none.
    present : int32[D]
    spans : int64[panels, 2]
        First column of each panel, and how many it has.
    packed : float32[panels, D, 64], these rows written
    """
    for i in range(start, stop):
        f = present[i]
        row = weight[f]
        for panel in range(packed.shape[0]):
            first, columns = spans[panel]
            target, source = packed[panel, i], row[first:]
            for j in range(columns):
                target[at(j)] = source[at(j)]
            target[columns:] = 0
            for k in range(numbers.shape[1]):
                if numbers[f, k] >= 0:
                    more = shared[numbers[f, k], first:]
                    for j in range(columns):
                        target[at(j)] += more[at(j)]


@jit
def scatter_shared(panel, gradient, numbers, present, spans, total):
    """The gradient of 64 columns of the shared rows, from those of the rows that share them.

    Parameters
    ----------
    panel : int
        Which columns.
    gradient : float32[panels, D, 64]
        Of rows ``present``.
    numbers, present, spans : see `pack`
    total : float32[S, M], these columns written
    """
    first, columns = spans[panel]
    total[:, first : first + columns] = 0
    for i in range(present.size):
        source = gradient[panel, i]
        for k in range(numbers.shape[1]):
            number = numbers[present[i], k]
            if number >= 0:
                target = total[number, first:]
                for j in range(columns):
                    target[at(j)] += source[at(j)]


@jit
def differences(values, rows, n, out):
    """out[p] = values of the side to move's features, less those of the other's.

    Parameters
    ----------
    values : float32[N]
    rows, n : see Batch
    out : float32[B], written
    """
    for p in range(out.size):
        total = np.float32(0)
        for side in range(2):
            of_position = rows[side, p]
            part = np.float32(0)
            for k in range(n[side, p]):
                part += values[at(of_position[at(k)])]
            total += part if side == 0 else -part
        out[p] = total


@jit
def scatter_differences(gradient, rows, n, out):
    """The gradient of the ``values`` of `differences`, float32[N], added to ``out``."""
    for p in range(gradient.size):
        for side in range(2):
            of_position = rows[side, p]
            change = gradient[p] if side == 0 else -gradient[p]
            for k in range(n[side, p]):
                out[at(of_position[at(k)])] += change


@jit
def gather(table, bias, rows, n, start, stop, out):
    """out[panel, p, side] = clip(bias + sum of the active rows, 0, 1) for positions start..stop.

    Parameters
    ----------
    table : float32[panels, N, 64]
    bias : float32[panels, 64]
    rows, n : see Batch
    out : float32[panels, B', 2, 64], written
    """
    width = rows.shape[2]
    for panel in range(table.shape[0]):
        for p in range(start, stop):
            for side in range(2):
                simd.sum_rows(
                    at_address(table) + 4 * panel * table.shape[1] * COLUMNS,
                    at_address(rows) + 4 * width * (side * rows.shape[1] + p),
                    n[side, p],
                    at_address(bias) + 4 * panel * COLUMNS,
                    at_address(out) + 4 * COLUMNS * (2 * (panel * out.shape[1] + p) + side),
                )


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
    n_positions,
    x,
    partner,
    power,
    dz,
    by_output,
    starts,
    sources,
    listed,
    counts,
    total,
    bias,
    gradient,
):
    """The gradients of a panel of the first layer and of what it weighs in the second.

    Parameters
    ----------
    n_positions : int
        B.
    x, partner, power, dz, by_output, bias, gradient
        See ``dense.backward``; what that adds to is written.
    starts, sources, listed, counts : int32[blocks, ...]
        What ``invert`` wrote and returned for each block.
    total : float32[D, 64], written
        Gradient of the packed rows.
    """
    masked = np.empty((BLOCK, 2, COLUMNS), np.float32)
    of_block = np.empty_like(gradient)
    total[:] = 0
    bias[:] = 0
    gradient[:] = 0
    for block in range(starts.shape[0]):
        start = block * BLOCK
        stop = min(start + BLOCK, n_positions)
        of_block[:] = 0
        dense.backward(x, partner, power, dz, by_output, start, stop, masked, bias, of_block)
        gradient += of_block
        for k in range(counts[block]):
            f = listed[block, k]
            entry = starts[block, f]
            simd.add_rows(
                at_address(masked),
                at_address(sources) + 4 * (block * sources.shape[1] + entry),
                np.int64(starts[block, f + 1] - entry),
                at_address(total) + 4 * COLUMNS * f,
            )
