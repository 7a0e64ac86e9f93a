"""The first two layers for training on a CPU: gather-sum, bias and clip in one pass, then dense."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch

from nnuelab.learning import dense
from nnuelab.learning.dense import STRIP, rounded_up
from nnuelab.learning.parallel import Threads
from nnuelab.learning.simd import COLUMNS, LANES, ROWS
from nnuelab.learning.sparse import (
    BLOCK,
    Batch,
    compact,
    differences,
    gather,
    invert,
    pack,
    scatter,
    scatter_differences,
    scatter_shared,
)

CHUNK = 512  # positions of one task of the forward pass
SMALL = 4096  # rows of a table that is taken as a whole, whatever a batch needs of it


class FirstLayers:
    """The first two layers of a net up to the sums of the second, and their gradients.

    Holds the memory that batches are worked on in: fresh memory costs a page fault every 4 KB.

    Parameters
    ----------
    n_features, l1, l2 : int
        N, M and O.
    threads : Threads
        Their number doesn't change a bit of the result.
    whole : bool
        Takes all rows of the table for every batch, so that gradients of two processes have the
        same shape.
    activation : {"clipped", "squared", "pairwise"}
        The second layer gets the clipped accumulators, their squares, or the products of neurons i
        and i + M / 2. Then panels are of one half of the neurons, those of the other half follow.
    numbers : int32[N, F], optional
        Rows that each feature shares with others, -1 for none: see ``sparse.pack``.

    Attributes
    ----------
    present : int32[D]
        Features of the last batch; all, where the table is small.
    gradient : float32[panels, D, 64]
        Of their rows of weights, up to 64 columns at once; what is beyond them is 0.
    spans : int64[panels, 2]
        First column of each panel, and how many it has.
    rounding : callable or None
        What becomes of the clipped accumulators before the second layer gets them.
    """

    def __init__(
        self,
        n_features: int,
        l1: int,
        l2: int,
        threads: Threads,
        whole: bool = False,
        activation: str = "clipped",
        numbers: np.ndarray | None = None,
    ) -> None:
        self.sizes, self.threads = (n_features, l1, l2), threads
        self._power = {"clipped": 0, "pairwise": 1, "squared": 2}[activation]
        self._halves = 2 if activation == "pairwise" else 1
        half = l1 // self._halves
        firsts = np.arange(0, half, COLUMNS)
        counts = np.minimum(COLUMNS, half - firsts)
        of_halves = [np.stack([firsts + i * half, counts], 1) for i in range(self._halves)]
        self.spans = np.concatenate(of_halves)
        self.numbers = np.empty((n_features, 0), np.int32) if numbers is None else numbers
        self.rounding: Callable[[torch.Tensor], torch.Tensor] | None = None
        self._whole = whole or n_features <= SMALL
        self._panels = len(self.spans)
        self._distance = len(firsts) if self._halves == 2 else 0
        self._outputs = rounded_up(l2, LANES)
        self._table = np.empty(self._panels * n_features * COLUMNS, np.float32)
        self._gradient = np.empty_like(self._table)
        self._resize(0)
        w2 = len(firsts), 2, rounded_up(l2, ROWS), COLUMNS
        self._by_output = np.empty(w2, np.float32)
        self._w2_gradient = np.empty((self._panels, *w2[1:]), np.float32)
        self._by_column = np.empty((len(firsts), 2, COLUMNS, self._outputs), np.float32)
        self._w2 = np.zeros((self._outputs, 2, len(firsts) * COLUMNS), np.float32)
        self._all = np.arange(n_features, dtype=np.int32)
        self.ranks = self._all.copy()
        self.present = self._all
        self.gradient = self._gradient.reshape(self._panels, n_features, COLUMNS)
        self._batch: Batch

    def _resize(self, positions: int) -> None:
        """Memory for so many positions."""
        rows = rounded_up(positions, STRIP)
        self._x = np.empty((self._panels, rows, 2, COLUMNS), np.float32)
        self._z = np.empty((rows, self._outputs), np.float32)
        self._dz = np.zeros((rows, self._outputs), np.float32)

    def _shaped(self, memory: np.ndarray) -> np.ndarray:
        d = len(self.present)
        return memory[: self._panels * d * COLUMNS].reshape(self._panels, d, COLUMNS)

    def gather(
        self, weight: np.ndarray, shared: np.ndarray, bias: np.ndarray, batch: Batch
    ) -> np.ndarray:
        """Clipped accumulators float32[panels, B', 2, 64], valid until the next batch.

        Parameters
        ----------
        weight : float32[N, M]
        shared : float32[S, M]
        bias : float32[M]
        batch : Batch
        """
        self._batch = batch
        if not self._whole:
            rows, present = np.empty_like(batch.rows), np.empty(self.sizes[0], np.int32)
            count = compact(batch.rows, batch.n, self.ranks, rows, present)
            self._batch, self.present = Batch(rows, batch.n, batch.pieces), present[:count]
        table = self._shaped(self._table)
        padded = np.zeros((self._panels, COLUMNS), np.float32)
        for of_panel, (first, n) in zip(padded, self.spans, strict=True):
            of_panel[:n] = bias[first : first + n]
        if self._x.shape[1] < len(batch):
            self._resize(len(batch))
        rows = self._batch.rows

        def packing(start: int) -> None:
            stop = min(start + CHUNK, len(self.present))
            pack(weight, shared, self.numbers, self.present, start, stop, self.spans, table)

        def gathering(start: int) -> None:
            gather(table, padded, rows, batch.n, start, min(start + CHUNK, len(batch)), self._x)

        self._map(packing, range(0, len(self.present), CHUNK))
        self._map(gathering, range(0, len(batch), CHUNK))
        return self._x

    def accumulators(
        self, weight: np.ndarray, shared: np.ndarray, bias: np.ndarray, batch: Batch
    ) -> np.ndarray:
        """Clipped accumulators float32[B, 2, M], side to move first; parameters as of `gather`."""
        x = self.gather(weight, shared, bias, batch)[:, : len(batch)]
        of_panels = [of_panel[:, :, :n] for of_panel, (_, n) in zip(x, self.spans, strict=True)]
        return np.concatenate(of_panels, 2)

    def products(self, w2: np.ndarray, b2: np.ndarray) -> np.ndarray:
        """Sums of the second layer of what was gathered, float32[B, O], until the next batch.

        Parameters
        ----------
        w2 : float32[O, 2M], or [O, M] of pairs
        b2 : float32[O]
        """
        size, outputs = len(self._batch), self.sizes[2]
        self._w2[:outputs, :, : w2.shape[1] // 2] = w2.reshape(outputs, 2, -1)
        of_panels = self._w2.reshape(self._outputs, 2, -1, COLUMNS)
        self._by_output[:] = of_panels[: self._by_output.shape[2]].transpose(2, 1, 0, 3)
        self._by_column[:] = of_panels.transpose(2, 1, 3, 0)
        bias = _padded(b2, self._outputs)

        def multiplying(start: int) -> None:
            stop = min(start + CHUNK, size)
            weights = self._by_column, bias
            dense.forward(self._x, self._distance, self._power, *weights, start, stop, self._z)

        self._map(multiplying, range(0, size, CHUNK))
        return self._z[:size, :outputs]

    def backward(self, dz: np.ndarray, shared: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sets ``gradient``; returns those of the bias float32[M] and of ``w2``, of its shape.

        Parameters
        ----------
        dz : float32[B, O]
            Gradient with respect to the sums of the second layer.
        shared : float32[S, M], written
            The gradient of the shared rows.
        """
        _, m, outputs = self.sizes
        inputs = m // self._halves
        batch, d, size = self._batch, len(self.present), len(self._batch)
        self._dz[:size, :outputs] = dz
        blocks = range(0, size, BLOCK)
        starts = np.empty((len(blocks), d + 1), np.int32)
        listed = np.empty((len(blocks), d), np.int32)
        counts = np.empty(len(blocks), np.int64)
        sources = np.empty((len(blocks), 2 * BLOCK * batch.rows.shape[2]), np.int32)
        self.gradient = self._shaped(self._gradient)
        b1_gradient = np.empty((self._panels, COLUMNS), np.float32)

        def inverting(block: int) -> None:
            start = block * BLOCK
            lists = starts[block], sources[block], listed[block]
            counts[block] = invert(batch.rows, batch.n, start, min(start + BLOCK, size), *lists)

        def scattering(panel: int) -> None:
            other = (panel + self._distance) % self._panels
            given = size, self._x[panel], self._x[other], self._power, self._dz
            weights, lists = self._by_output[panel % len(self._by_output)], (starts, sources)
            found = self.gradient[panel], b1_gradient[panel], self._w2_gradient[panel]
            scatter(*given, weights, *lists, listed, counts, *found)
            rows = self.gradient, self.numbers, self.present
            scatter_shared(panel, *rows, self.spans, shared)

        self._map(inverting, range(len(blocks)))
        self._map(scattering, range(self._panels))
        # Panels of both halves give the same gradient of what their products are weighed by.
        by_side = self._w2_gradient[: len(self._by_output)].transpose(2, 1, 0, 3)
        w2_gradient = by_side.reshape(by_side.shape[0], 2, -1)[:outputs, :, :inputs]
        b1 = [of_panel[:n] for of_panel, (_, n) in zip(b1_gradient, self.spans, strict=True)]
        return np.concatenate(b1), w2_gradient.reshape(outputs, 2 * inputs)

    def _map(self, function: Callable[[int], None], tasks: Iterable[int]) -> None:
        for _ in self.threads.map(function, tasks):
            pass


def _padded(bias: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([bias, np.zeros(size - len(bias), np.float32)])


class _Sums(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        weight: torch.Tensor,
        shared: torch.Tensor,
        b1: torch.Tensor,
        w2: torch.Tensor,
        b2: torch.Tensor,
        batch: Batch,
        layers: FirstLayers,
    ) -> torch.Tensor:
        rows, more, bias = (tensor.detach().numpy() for tensor in (weight, shared, b1))
        x = layers.gather(rows, more, bias, batch)
        if layers.rounding is not None:  # in place: the backward pass takes them, too
            with torch.no_grad():
                x[:] = layers.rounding(torch.from_numpy(x))
        ctx.shared = shared.shape
        ctx.layers = layers
        return torch.from_numpy(layers.products(w2.detach().numpy(), b2.detach().numpy()))

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        dz, shared = gradients[0], torch.empty(ctx.shared)
        b1, w2 = ctx.layers.backward(dz.numpy(), shared.numpy())
        return None, shared, torch.from_numpy(b1), torch.from_numpy(w2), dz.sum(0), None, None


def sums(
    weight: torch.Tensor,
    shared: torch.Tensor,
    b1: torch.Tensor,
    w2: torch.Tensor,
    b2: torch.Tensor,
    batch: Batch,
    layers: FirstLayers,
) -> torch.Tensor:
    """``w2 x + b2`` with x = clip(accumulators), its square or products of pairs of them.

    It is differentiable but for ``weight``.

    The gradient of ``weight`` is that of few rows: the backward pass leaves it in
    ``layers.gradient``, which the optimizer takes it from.

    Parameters
    ----------
    weight : float32 [N, M], on the CPU, contiguous
    shared : float32 [S, M]
        Rows that features share as ``layers.numbers`` says.
    b1 : float32 [M]
    w2 : float32 [O, 2M], or [O, M] of pairs
    b2 : float32 [O]
    batch : Batch
        The last one that ``layers`` is used for before the backward pass.
    layers : FirstLayers

    Returns
    -------
    float32 [B, O]
    """
    found: torch.Tensor = _Sums.apply(weight, shared, b1, w2, b2, batch, layers)
    return found


class _Balance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: torch.Tensor, batch: Batch) -> torch.Tensor:
        ctx.batch, ctx.size = batch, len(values)
        out = np.empty(len(batch), np.float32)
        differences(values.detach().numpy(), batch.rows, batch.n, out)
        return torch.from_numpy(out)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        out = np.zeros(ctx.size, np.float32)
        scatter_differences(gradients[0].contiguous().numpy(), ctx.batch.rows, ctx.batch.n, out)
        return torch.from_numpy(out), None


def balance(values: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Values [N] of the side to move's features, less those of the other's; differentiable.

    Returns
    -------
    float32 [B]
    """
    found: torch.Tensor = _Balance.apply(values, batch)
    return found
