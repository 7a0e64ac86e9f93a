"""The error of an evaluation on results of games: what tuning lowers.

E = 1/N sum (result - sigmoid(score))^2, with the score that the weights give a traced position and
the result of its game, both White's; sigmoid(s) = 1 / (1 + 10^(-K s / 400)). The constant K is that
of the least error of the first weights (P. Oesterlund, "Texel's tuning method", 2014).

Guarantee: each number is the same bit for bit for any number of threads. Positions are summed in
chunks that depend on how many there are alone, and the sums of chunks are added in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from scipy import optimize

from nnuelab.data.parallel import in_threads
from nnuelab.errors import UserError
from nnuelab.hce import error_kernels as kernels
from nnuelab.hce.evaluation import FULL, Evaluation
from nnuelab.hce.trace import Trace

CHUNK = 1 << 14  # positions that are summed by themselves, at least
MOST_CHUNKS = 256  # gradients that wait to be added up
PARTS = 8  # of the positions, whose matrices are summed by themselves
SMALLEST_K, LARGEST_K = 1e-3, 1e4
GRID = 43  # of K, six to a tenfold
_SHARES = np.arange(FULL + 1)[:, None] / FULL  # of the middlegame, by phase
T = TypeVar("T")


def sigmoid(scores: np.ndarray | float, k: float) -> np.ndarray:
    """Expected result for White of scores in centipawns for White: 0 to 1."""
    with np.errstate(over="ignore"):  # of a power: then the result is 0
        return np.asarray(1 / (1 + 10 ** (np.asarray(scores, np.float64) * (-k / 400))))


def _scale(k: float) -> float:
    """Of the sigmoid as 1 / (1 + 2^(scale * score))."""
    return float(-k / 400 * np.log2(10))


class Error:
    """The mean squared error of weights on traced positions.

    Parameters
    ----------
    trace : Trace
    k : float
        Of the sigmoid.
    threads : int
        0: one per core. No result depends on it.

    Raises
    ------
    UserError
        When there are no positions.
    """

    def __init__(self, trace: Trace, k: float, threads: int = 1) -> None:
        if not len(trace):
            raise UserError("there are no positions; nothing can be learnt of them")
        self.trace, self.k, self.threads = trace, k, threads
        self._arrays = trace.starts, trace.terms, trace.counts, trace.phase, trace.results
        self._scale = _scale(k)
        size = max(CHUNK, -(-len(trace) // MOST_CHUNKS))
        self._chunks = [(s, min(s + size, len(trace))) for s in range(0, len(trace), size)]

    def __len__(self) -> int:
        return len(self.trace)

    def value(self, weights: np.ndarray) -> float:
        """The error of weights, float64 [n_weights, 2] in centipawns."""
        rows = self._rows(weights)

        def of(chunk: tuple[int, int]) -> float:
            return float(kernels.errors(self._arrays, rows, self._scale, *chunk))

        return _summed(self._map(of)) / len(self)

    def gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The error and its gradient, float64 [n_weights, 2], by centipawn."""
        rows = self._rows(weights)

        def of(chunk: tuple[int, int]) -> tuple[float, np.ndarray]:
            found = np.zeros_like(rows)
            return kernels.gradient(self._arrays, rows, self._scale, *chunk, found), found

        error, total = 0.0, np.zeros_like(rows)
        for part, slopes in self._map(of):
            error += part
            total += slopes
        columns = [(total * share).sum(axis=0) for share in (_SHARES, 1 - _SHARES)]
        return error / len(self), np.stack(columns, 1) * (2 * self._slope / len(self))

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Centipawns for White of each position, not rounded, float32 [n]."""
        rows, found = self._rows(weights), np.empty(len(self), np.float32)
        for _ in self._map(lambda chunk: kernels.scores(self._arrays, rows, *chunk, found)):
            pass
        return found

    def of_scores(self, scores: np.ndarray, k: float) -> float:
        """The error of known scores, float32 [n], at another K."""
        scale = _scale(k)

        def of(chunk: tuple[int, int]) -> float:
            return float(kernels.errors_of_scores(scores, self.trace.results, scale, *chunk))

        return _summed(self._map(of)) / len(self)

    def normal(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J'J and J'r with the derivatives J of sigmoid(score) and r = sigmoid(score) - result.

        Means over the positions: J'r is half the gradient, and J'J is half the Hessian where the
        residuals are small (Gauss-Newton).

        Returns
        -------
        (float64 [2 n, 2 n], float64 [2 n])
            Weights in the order of ``weights.ravel()``: middlegame and endgame side by side.
        """
        rows, n = self._rows(weights), len(weights)

        def of(part: tuple[int, int]) -> np.ndarray:
            found = np.zeros((n, n, 4))
            kernels.normal(self._arrays, rows, self._scale, *part, found)
            return found

        bounds = np.linspace(0, len(self), min(PARTS, len(self)) + 1).astype(np.int64).tolist()
        total = np.zeros((n, n, 4))
        for square in self._map(of, list(pairwise(bounds))):
            total += square
        # A pair is in one of two places. In the other the phases change theirs, too, but their two
        # mixed products are equal.
        whole = total + np.where(np.eye(n, dtype=bool)[:, :, None], 0, total.transpose(1, 0, 2))
        matrix = whole.reshape(n, n, 2, 2).transpose(0, 2, 1, 3).reshape(2 * n, 2 * n)
        right = self.gradient(weights)[1].ravel() / 2
        return matrix * (self._slope**2 / len(self)), right

    def part(self, start: int, stop: int) -> Error:
        """The error on the positions start to stop alone: a mini-batch."""
        t = self.trace
        cut = {name: getattr(t, name)[start:stop] for name in ("phase", "results", "games")}
        return Error(replace(t, starts=t.starts[start : stop + 1], **cut), self.k, self.threads)

    @property
    def _slope(self) -> float:
        """Of the sigmoid by centipawn, over e (1 - e)."""
        return float(self.k / 400 * np.log(10))

    def _rows(self, weights: np.ndarray) -> np.ndarray:
        """Weights at each phase, float64 [25, n_weights]."""
        if weights.shape != (self.trace.n_weights, 2):
            raise ValueError(f"{weights.shape} weights for {(self.trace.n_weights, 2)}")
        mg, eg = weights.astype(np.float64).T
        return mg * _SHARES + eg * (1 - _SHARES)

    def _map(
        self,
        function: Callable[[tuple[int, int]], T],
        chunks: list[tuple[int, int]] | None = None,
    ) -> Iterator[T]:
        return in_threads(function, self._chunks if chunks is None else chunks, self.threads)


def _summed(parts: Iterable[float]) -> float:
    """In order, and rounded each time: what ``sum`` does depends on the version of Python."""
    total = 0.0
    for part in parts:
        total += part
    return total


def fit_k(trace: Trace, weights: np.ndarray, threads: int = 1) -> float:
    """The K of the least error of some weights.

    Raises
    ------
    UserError
        When no K is best: the scores say nothing of the results, are all 0, or tell all of them.
    """
    error = Error(trace, 1.0, threads)
    scores = error.scores(weights)
    return best_k(lambda k: error.of_scores(scores, k))


def k_of(evaluation: Evaluation, trace: Trace, threads: int = 1) -> float:
    """The K that an evaluation was tuned with; of one that doesn't say, `fit_k`."""
    tuned_with = float(evaluation.provenance.get("k") or 0)
    return tuned_with or fit_k(trace, evaluation.weights.astype(np.float64), threads)


def best_k(error_of: Callable[[float], float]) -> float:
    """The K of the least error, which is a function of it; raises what `fit_k` does."""
    grid = np.geomspace(SMALLEST_K, LARGEST_K, GRID)
    best = int(np.argmin([error_of(k) for k in grid.tolist()]))
    if not 0 < best < GRID - 1:
        raise UserError(
            "no K fits the scores of these weights to the results: they say nothing of who won, or "
            "all; begin with weights that do, such as those of material, and with more games"
        )
    # On a logarithmic scale: scores in pawns and in centipawns are a hundred apart.
    found = optimize.minimize_scalar(
        lambda log_k: error_of(float(np.exp(log_k))),
        bounds=np.log(grid[[best - 1, best + 1]]),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return float(np.exp(found.x))
