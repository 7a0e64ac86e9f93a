"""What a tuner may change: weights of an evaluation as a vector of free numbers.

A weight has two cells, middlegame and endgame. Cells that are tied share a number; cells of frozen
terms, and those that no position hits, keep what they start with.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnuelab.errors import UserError, nearest
from nnuelab.hce.evaluation import Evaluation

BOTH_PHASES = "mg=eg"


@dataclass(frozen=True)
class Parameters:
    """Free numbers, and the cells that each of them stands in.

    Attributes
    ----------
    start : float64 [n_weights, 2]
        Weights that tuning begins with, centipawns.
    cells : int64 [n_weights, 2]
        The number that stands in each cell, or -1 for one that stays at its start.
    n : int
        How many numbers are free.
    """

    start: np.ndarray
    cells: np.ndarray
    n: int

    @property
    def first(self) -> np.ndarray:
        """The first cell of each number: int64 [n], in the flat order w0 mg, w0 eg, w1 mg..."""
        return np.unique(self.cells.ravel(), return_index=True)[1][-self.n :]

    def of(self, weights: np.ndarray) -> np.ndarray:
        """The free numbers of weights [n_weights, 2]: float64 [n]; of tied cells the first."""
        return np.asarray(weights, np.float64).reshape(-1)[self.first]

    def weights(self, numbers: np.ndarray) -> np.ndarray:
        """Weights of free numbers [..., n]: float64 [..., n_weights, 2]."""
        free = self.cells >= 0
        found = np.broadcast_to(self.start, (*numbers.shape[:-1], *self.start.shape)).copy()
        found[..., free] = numbers[..., self.cells[free]]
        return found

    def spread(self, values: np.ndarray) -> np.ndarray:
        """A value of each number, float64 [n], in its cells [n_weights, 2]; nan in the others."""
        return np.where(self.cells >= 0, values[self.cells], np.nan)

    def gradient(self, cells: np.ndarray) -> np.ndarray:
        """Derivatives by the free numbers, of those by the cells [n_weights, 2]: float64 [n]."""
        flat = self.cells.ravel()
        free = flat >= 0
        return np.bincount(flat[free], cells.ravel()[free], self.n)

    def matrix(self, cells: np.ndarray) -> np.ndarray:
        """The same of a matrix of second derivatives [2 n_weights, 2 n_weights]: float64 [n, n]."""
        free = np.flatnonzero(self.cells.ravel() >= 0)
        of = self.cells.ravel()[free]
        if len(free) == self.n:
            order = free[np.argsort(of)]
            return np.ascontiguousarray(cells[np.ix_(order, order)])
        rows = np.zeros((self.n, len(free)))
        np.add.at(rows, of, cells[np.ix_(free, free)])
        columns = np.zeros((self.n, self.n))
        np.add.at(columns, of, rows.T)
        return np.ascontiguousarray(columns.T)


def choose(
    evaluation: Evaluation,
    hit: np.ndarray,
    freeze: Sequence[str] = (),
    tie: Sequence[str] = (),
) -> Parameters:
    """The free numbers of an evaluation.

    Parameters
    ----------
    evaluation : Evaluation
        Its weights are the start.
    hit : bool [n_weights, 2]
        Cells that matter in some position; the others stay.
    freeze : sequence of str
        Terms, or weights by their labels, that stay.
    tie : sequence of str
        ``mg=eg``: both phases of every weight; ``NAME``: of a term or weight; ``NAME=NAME``: two
        terms of equal size, weight by weight, or two weights. Tied cells start as the first one.

    Raises
    ------
    UserError
        For an unknown name, terms of unequal size, or when nothing is left to tune.
    """
    start = evaluation.weights.astype(np.float64)
    leader = np.arange(start.size).reshape(start.shape)

    def join(one: np.ndarray, other: np.ndarray) -> None:
        for a, b in zip(one.ravel().tolist(), other.ravel().tolist(), strict=True):
            low, high = sorted((leader.ravel()[a], leader.ravel()[b]))
            leader[leader == high] = low

    cells = np.arange(start.size).reshape(start.shape)
    for told in tie:
        if told == BOTH_PHASES:
            join(cells[:, 0], cells[:, 1])
            continue
        groups = [cells[named(evaluation, name)] for name in told.split("=")]
        if len(groups) == 1:
            join(groups[0][:, 0], groups[0][:, 1])
        for other in groups[1:]:
            if len(other) != len(groups[0]):
                raise UserError(
                    f"tie {told}: {len(groups[0])} weights can't be tied to {len(other)}; "
                    "tie terms of equal size, or single weights"
                )
            join(groups[0], other)
    fixed = np.zeros(start.shape, bool)
    for name in freeze:
        fixed[named(evaluation, name)] = True
    # A number is hit when one of its cells is, and frozen when one of them is.
    of = leader.ravel()
    is_fixed = np.bincount(of, fixed.ravel(), start.size) > 0
    is_hit = np.bincount(of, hit.ravel(), start.size) > 0
    free = (is_hit & ~is_fixed)[of]
    if not free.any():
        raise UserError(
            f"{evaluation.name}: no weight is left to tune; the positions hit none that isn't "
            "frozen"
        )
    numbers = np.full(start.size, -1)
    numbers[free] = np.unique(of[free], return_inverse=True)[1]
    return Parameters(
        start.ravel()[of].reshape(start.shape), numbers.reshape(start.shape), int(numbers.max()) + 1
    )


def named(evaluation: Evaluation, name: str) -> np.ndarray:
    """Numbers of the weights that a term's name, or a weight's label, stands for.

    Raises
    ------
    UserError
        When there is none of that name.
    """
    labels = evaluation.labels
    for term in evaluation.terms:
        if term.name == name:
            return evaluation.starts[name] + np.arange(term.n_weights)
    if name in labels:
        return np.array([labels.index(name)])
    known = [*evaluation.starts, *labels]
    raise UserError(f"{evaluation.name} has no term or weight {name!r}{nearest(name, known)}")
