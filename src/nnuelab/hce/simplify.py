"""What each term is worth: drop it, fit the others again, and see what held-out games say.

The others begin at the tuned weights and take a few Gauss-Newton steps. The change of the held-out
error is a mean of paired differences, position by position, and its standard error is that of the
sums over games: positions of a game are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nnuelab.hce import parameters
from nnuelab.hce.error import Error, sigmoid
from nnuelab.hce.evaluation import Evaluation
from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers.gauss_newton import GaussNewton
from nnuelab.hce.trace import Trace
from nnuelab.intervals import SIGNIFICANCE, clustered_mean
from nnuelab.settings.tuning import Tuning


@dataclass(frozen=True)
class Row:
    """A dropped term, or weight.

    Attributes
    ----------
    dropped : str
    weights : int
        Cells that it had, not counting those that no position hits.
    train, validation : float
        Change of the error on the positions that are fitted, and on held-out ones; above 0: the
        term was worth something.
    standard_error : float
        Of ``validation``.
    low, high : float
        Ends of its 95 % interval.
    dropped_alone : float
        Change of the held-out error when nothing is fitted again.
    """

    dropped: str
    weights: int
    train: float
    validation: float
    standard_error: float
    low: float
    high: float
    dropped_alone: float


def simplify(
    evaluation: Evaluation,
    train: Trace,
    validation: Trace,
    k: float,
    names: Sequence[str] = (),
    steps: int = 3,
    threads: int = 1,
) -> Iterator[Row]:
    """A row for each term of an evaluation, and for each weight that is named.

    Parameters
    ----------
    evaluation : Evaluation
        Tuned.
    k : float
        Of the sigmoid, the one that it was tuned with.
    names : sequence of str
        Weights by their labels, besides all terms.
    steps : int
        Gauss-Newton steps of the others.
    """
    hit = train.coverage() > 0
    settings = Tuning(optimizer="gauss-newton")
    start = _fitted(evaluation, train, hit, k, [], steps, settings, threads)
    on_train, held_out = Error(train, k, threads), Error(validation, k, threads)
    before = on_train.value(start)
    squares = _squares(held_out, start)
    for name in [*evaluation.starts, *names]:
        chosen = parameters.named(evaluation, name)
        without = start.copy()
        without[chosen] = 0
        alone = _squares(held_out, without) - squares
        kept = np.delete(np.arange(evaluation.n_weights), chosen)
        if hit[kept].any():
            without = _fitted(evaluation, train, hit, k, chosen, steps, settings, threads, without)
        change, error = clustered_mean(_squares(held_out, without) - squares, validation.games)
        yield Row(
            name,
            int(hit[chosen].sum()),
            on_train.value(without) - before,
            change,
            error,
            change - SIGNIFICANCE * error,
            change + SIGNIFICANCE * error,
            float(alone.mean()),
        )


def _fitted(
    evaluation: Evaluation,
    trace: Trace,
    hit: np.ndarray,
    k: float,
    dropped: Sequence[int] | np.ndarray,
    steps: int,
    settings: Tuning,
    threads: int,
    start: np.ndarray | None = None,
) -> np.ndarray:
    """Weights [n, 2] after some steps, those that are dropped as they are."""
    hit = hit.copy()
    hit[list(dropped)] = False
    free = parameters.choose(evaluation, hit)
    if start is not None:
        free = replace(free, start=start)
    optimizer = GaussNewton(Objective(trace, k, free, threads=threads), settings, 0, steps)
    for _ in range(steps):
        if optimizer.step().converged:
            break
    return free.weights(optimizer.numbers)


def _squares(error: Error, weights: np.ndarray) -> np.ndarray:
    """Squared error of each position, float64 [n]."""
    found = sigmoid(error.scores(weights), error.k)
    return np.square(found - error.trace.results)
