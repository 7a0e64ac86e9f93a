"""The error of an evaluation on results of games: what tuning lowers.

E = 1/N sum (result - sigmoid(score))^2, with the score that the weights give a traced position and
the result of its game, both White's; sigmoid(s) = 1 / (1 + 10^(-K s / 400)). The constant K is that
of the least error of the first weights (P. Oesterlund, "Texel's tuning method", 2014).

Guarantee: each number is the same bit for bit for any number of threads. Positions are summed in
chunks that depend on how many there are alone, and the sums of chunks are added in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

import numpy as np
from scipy import optimize

from nnuelab.data.parallel import in_threads
from nnuelab.errors import UserError
from nnuelab.hce import error_kernels as kernels
from nnuelab.hce.trace import Trace

CHUNK = 1 << 14  # positions that are summed by themselves, at least
MOST_CHUNKS = 256  # gradients that wait to be added up
PARTS = 8  # of the positions, whose matrices are summed by themselves
SMALLEST_K, LARGEST_K = 1e-3, 20.0
T = TypeVar("T")


def sigmoid(scores: np.ndarray | float, k: float) -> np.ndarray:
    """Expected result for White of scores in centipawns for White: 0 to 1."""
    return np.asarray(1 / (1 + 10 ** (np.asarray(scores, np.float64) * (-k / 400))))


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
        self._scale = -k / 400 * np.log2(10)
        size = max(CHUNK, -(-len(trace) // MOST_CHUNKS))
        self._chunks = [(s, min(s + size, len(trace))) for s in range(0, len(trace), size)]

    def __len__(self) -> int:
        return len(self.trace)

    def value(self, weights: np.ndarray) -> float:
        """The error of weights, float64 [n_weights, 2] in centipawns."""
        weights = self._checked(weights)

        def of(chunk: tuple[int, int]) -> float:
            return float(kernels.errors(self._arrays, weights, self._scale, *chunk))

        return sum(self._map(of)) / len(self)

    def gradient(self, weights: np.ndarray) -> tuple[float, np.ndarray]:
        """The error and its gradient, float64 [n_weights, 2], by centipawn."""
        weights = self._checked(weights)
        total = np.zeros_like(weights)

        def of(chunk: tuple[int, int]) -> tuple[float, np.ndarray]:
            found = np.zeros_like(weights)
            return kernels.gradient(self._arrays, weights, self._scale, *chunk, found), found

        error = 0.0
        for part, slopes in self._map(of):
            error += part
            total += slopes
        return error / len(self), total * (2 * self._slope / len(self))

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Centipawns for White of each position, not rounded, float32 [n]."""
        weights, found = self._checked(weights), np.empty(len(self), np.float32)
        list(self._map(lambda chunk: kernels.scores(self._arrays, weights, *chunk, found)))
        return found

    def normal(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """J'J and J'r with the derivatives J of sigmoid(score) and r = sigmoid(score) - result.

        Means over the positions: half the gradient is J'r, and J'J is half the Hessian where the
        residuals are small (Gauss-Newton).

        Returns
        -------
        (float64 [2 n, 2 n], float64 [2 n])
            Weights in the order of ``weights.ravel()``: middlegame and endgame side by side.
        """
        weights = self._checked(weights)
        n = len(weights)

        def of(part: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
            square, right = np.zeros((n, n, 2, 2)), np.zeros((n, 2))
            kernels.normal(self._arrays, weights, self._scale, *part, square, right)
            return square, right

        square, right = np.zeros((n, n, 2, 2)), np.zeros((n, 2))
        bounds = np.linspace(0, len(self), min(PARTS, len(self)) + 1).astype(np.int64).tolist()
        for more, slopes in self._map(of, list(pairwise(bounds))):
            square += more
            right += slopes
        whole = square.transpose(0, 2, 1, 3).reshape(2 * n, 2 * n)
        # The kernel leaves out what is below the diagonal of weights.
        upper = np.triu(whole)
        whole = upper + np.triu(upper, 1).T
        return whole * (self._slope**2 / len(self)), right.ravel() * (self._slope / len(self))

    def part(self, start: int, stop: int) -> Error:
        """The error on the positions start to stop alone: a mini-batch."""
        t = self.trace
        cut = {name: getattr(t, name)[start:stop] for name in ("phase", "results", "games")}
        return Error(replace(t, starts=t.starts[start : stop + 1], **cut), self.k, self.threads)

    @property
    def _slope(self) -> float:
        """Of the sigmoid by centipawn, over e (1 - e)."""
        return float(self.k / 400 * np.log(10))

    def _checked(self, weights: np.ndarray) -> np.ndarray:
        found = np.ascontiguousarray(weights, np.float64)
        if found.shape != (self.trace.n_weights, 2):
            raise ValueError(f"{found.shape} weights for {(self.trace.n_weights, 2)}")
        return found

    def _map(
        self,
        function: Callable[[tuple[int, int]], T],
        chunks: list[tuple[int, int]] | None = None,
    ) -> Iterator[T]:
        return in_threads(function, self._chunks if chunks is None else chunks, self.threads)


def fit_k(trace: Trace, weights: np.ndarray, threads: int = 1) -> float:
    """The K of the least error of some weights.

    Raises
    ------
    UserError
        When no K is best: the scores say nothing of the results, or are all 0.
    """
    scores = Error(trace, 1.0, threads).scores(weights)
    return fit_k_of(scores, trace.results)


def fit_k_of(scores: np.ndarray, results: np.ndarray) -> float:
    """The same for scores of positions, float [n] for White, and results of their games."""
    scores, results = scores.astype(np.float64), results.astype(np.float64)

    def error(log_k: float) -> float:
        return float(np.square(results - sigmoid(scores, np.exp(log_k))).mean())

    # On a logarithmic scale: a score of pawns and one of centipawns are a hundred apart.
    bounds = np.log(SMALLEST_K), np.log(LARGEST_K)
    found = optimize.minimize_scalar(
        error, bounds=bounds, method="bounded", options={"xatol": 1e-9}
    )
    k = float(np.exp(found.x))
    if not 1.01 * SMALLEST_K < k < LARGEST_K / 1.01:
        raise UserError(
            "no K fits the scores of these weights to the results: they say nothing of who won; "
            "begin with weights that do, such as those of material"
        )
    return k
