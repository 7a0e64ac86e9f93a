"""The sparse first layer for training on a CPU: gather-sum, bias and clip in one pass.

The rows of weights that a position needs come from all over the table, so the cost is cache misses.
Kernels therefore work on panels of 64 columns, each a compact table [N, 64] that stays in the L2
cache. The backward pass inverts the lists of features within a block of positions and sums, feature
by feature, in registers.

Every sum has a fixed order that depends neither on the number of threads nor on their timing:
results are the same bit for bit.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import torch

from nnuelab.jit import inline, jit
from nnuelab.nnue import simd
from nnuelab.nnue.simd import COLUMNS

BLOCK = (
    256  # positions whose gradients are scattered together: 128 KB of a panel, half the L2 cache
)
CHUNK = 512  # positions of one task of the forward pass

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """A pool of threads for kernels that release the GIL; results come in the order of the tasks.

    Parameters
    ----------
    n : int
        Threads; 0 for as many as the process may use. 1 works in the calling thread.
    """

    def __init__(self, n: int = 0) -> None:
        self.n = n or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.n, initializer=_one_torch_thread)

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """``map`` on the pool, or here when one thread is all there is."""
        return map(function, tasks) if self.n == 1 else self._pool.map(function, tasks)

    def close(self) -> None:
        self._pool.shutdown()


def _one_torch_thread() -> None:
    torch.set_num_threads(1)


@dataclass(frozen=True)
class Batch:
    """Active features of B positions.

    Attributes
    ----------
    rows : int32 [2, B, K]
        Features seen by the side to move and by the other, first the active ones, then anything.
    n : int64 [2, B]
        How many are active.
    """

    rows: np.ndarray
    n: np.ndarray

    def __len__(self) -> int:
        return int(self.rows.shape[1])


def panels(weight: np.ndarray) -> np.ndarray:
    """float32[N, M] as panels float32[ceil(M / 64), N, 64], padded with zeros."""
    n, m = weight.shape
    packed = np.zeros((-(-m // COLUMNS), n, COLUMNS), np.float32)
    _pack(weight, packed)
    return packed


@jit
def _pack(weight, packed):
    n, m = weight.shape
    for panel in range(packed.shape[0]):
        start = panel * COLUMNS
        for i in range(n):
            for j in range(min(COLUMNS, m - start)):
                packed[panel, i, j] = weight[i, start + j]


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
def invert(rows, n, start, stop, starts, sources):
    """Lists, for each feature, the (position, side) where it is active, for positions start..stop.

    Parameters
    ----------
    starts : int32[N + 1], written
        Entries starts[f]..starts[f + 1] of ``sources`` are those of feature f.
    sources : int32[all], written
        2 * (position - start) + side, ascending within a feature.
    """
    starts[:] = 0
    for p in range(start, stop):
        for side in range(2):
            for k in range(n[side, p]):
                starts[rows[side, p, k] + 1] += 1
    for f in range(starts.size - 1):
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


@jit
def scatter(panel, out, gradient, rows, n, starts, sources, weight_gradient, bias_gradient):
    """The gradients of 64 columns of the weights and the bias.

    Parameters
    ----------
    panel : int
        Which columns.
    out, gradient : float32[B, 2M]
        What ``gather`` wrote, and the gradient with respect to it.
    starts : int32[blocks, N + 1]
    sources : int32[blocks, all]
        What ``invert`` wrote for each block.
    weight_gradient : float32[N, M], these columns written
    bias_gradient : float32[M], these columns written
    """
    m = out.shape[1] // 2
    features = weight_gradient.shape[0]
    first = panel * COLUMNS
    columns = min(COLUMNS, m - first)
    total = np.zeros((features, COLUMNS), np.float32)
    bias = np.zeros(COLUMNS, np.float32)
    masked = np.zeros((2 * BLOCK, COLUMNS), np.float32)
    padded = np.zeros((2, COLUMNS), np.float32)
    for block in range(starts.shape[0]):
        start = block * BLOCK
        stop = min(start + BLOCK, out.shape[0])
        for p in range(start, stop):
            for side in range(2):
                source = 2 * (p - start) + side
                offset = 4 * (p * 2 * m + side * m + first)
                x, g = _at(out) + offset, _at(gradient) + offset
                if columns < COLUMNS:
                    for j in range(columns):
                        padded[0, j] = out[p, side * m + first + j]
                        padded[1, j] = gradient[p, side * m + first + j]
                    x, g = _at(padded), _at(padded) + 4 * COLUMNS
                simd.clip_gradient(x, g, _at(masked) + 4 * COLUMNS * source, _at(bias))
        for f in range(features):
            entry = starts[block, f]
            count = starts[block, f + 1] - entry
            if count > 0:
                simd.add_rows(
                    _at(masked),
                    _at(sources) + 4 * (block * sources.shape[1] + entry),
                    np.int64(count),
                    _at(total) + 4 * COLUMNS * f,
                )
    for f in range(features):
        for j in range(columns):
            weight_gradient[f, first + j] = total[f, j]
    for j in range(columns):
        bias_gradient[first + j] = bias[j]


def forward(
    weight: np.ndarray, bias: np.ndarray, batch: Batch, threads: Threads, out: np.ndarray
) -> None:
    """out (float32[B, 2M]) = clipped accumulators of the side to move, then of the other."""
    table = panels(weight)
    padded = np.zeros(table.shape[0] * COLUMNS, np.float32)
    padded[: bias.size] = bias

    def task(start: int) -> None:
        gather(table, padded, batch.rows, batch.n, start, min(start + CHUNK, len(batch)), out)

    list(threads.map(task, range(0, len(batch), CHUNK)))


def backward(
    out: np.ndarray, gradient: np.ndarray, batch: Batch, threads: Threads, n_features: int
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of the weights float32[N, M] and the bias float32[M]."""
    blocks = range(0, len(batch), BLOCK)
    starts = np.empty((len(blocks), n_features + 1), np.int32)
    sources = np.empty((len(blocks), 2 * BLOCK * batch.rows.shape[2]), np.int32)
    m = out.shape[1] // 2
    weight_gradient = np.empty((n_features, m), np.float32)
    bias_gradient = np.empty(m, np.float32)

    def lists(block: int) -> None:
        start = block * BLOCK
        stop = min(start + BLOCK, len(batch))
        invert(batch.rows, batch.n, start, stop, starts[block], sources[block])

    def columns(panel: int) -> None:
        scatter(
            panel,
            out,
            gradient,
            batch.rows,
            batch.n,
            starts,
            sources,
            weight_gradient,
            bias_gradient,
        )

    list(threads.map(lists, range(len(blocks))))
    list(threads.map(columns, range(-(-m // COLUMNS))))
    return weight_gradient, bias_gradient


class _FirstLayer(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, weight: torch.Tensor, bias: torch.Tensor, batch: Batch, threads: Threads
    ) -> torch.Tensor:
        out = torch.empty(len(batch), 2 * weight.shape[1])
        forward(weight.detach().numpy(), bias.detach().numpy(), batch, threads, out.numpy())
        ctx.save_for_backward(out)
        ctx.rest = batch, threads, weight.shape[0]
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        (out,) = ctx.saved_tensors
        gradient = gradients[0].contiguous().numpy()
        weight, bias = backward(out.numpy(), gradient, *ctx.rest)
        return torch.from_numpy(weight), torch.from_numpy(bias), None, None


def first_layer(
    weight: torch.Tensor, bias: torch.Tensor, batch: Batch, threads: Threads
) -> torch.Tensor:
    """Clipped accumulators of both perspectives, differentiable.

    Parameters
    ----------
    weight : float32 [N, M], on the CPU, contiguous
    bias : float32 [M]
    batch : Batch
    threads : Threads
        Their number doesn't change a bit of the result.

    Returns
    -------
    float32 [B, 2M]
        Side to move, then the other.
    """
    return _FirstLayer.apply(weight, bias, batch, threads)
