"""From positions to counts of weights: lays an evaluation out for the kernel of traces."""

from __future__ import annotations

import numpy as np

from nnuelab.features.legality import seen_by
from nnuelab.features.records import PIECES, SQUARES_ON_BOARD
from nnuelab.hce import trace_kernels as kernels
from nnuelab.hce.evaluation import FULL, Evaluation
from nnuelab.hce.parts import Parts


class Tracer:
    """Counts the weights of an evaluation in positions.

    Parameters
    ----------
    evaluation : Evaluation
    most : int
        Positions at once, at most.
    """

    def __init__(self, evaluation: Evaluation, most: int) -> None:
        self._evaluation, members = evaluation, _members(evaluation)
        self._parts = found = Parts(evaluation.features, members)
        placed = [_placed(table, own) for table, own in found.placed]
        self._arguments = (
            found.tables.record,
            _by_place(np.concatenate([*placed, np.zeros((0, 3), np.int64)])),
            *found.groups(),
            found.rows,
            evaluation.n_weights,
            evaluation.phase,
            FULL,
        )
        room = most * min(
            2 * evaluation.features.max_active * members.shape[1], evaluation.n_weights
        )
        self._ends, self._phase = np.empty(most, np.int64), np.empty(most, np.uint8)
        self._terms, self._counts = np.empty(room, np.uint16), np.empty(room, np.int8)

    def __call__(
        self, records: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Ends, weights, counts and phases of positions, RECORD [n]: valid until the next call.

        Returns
        -------
        (int64 [n], uint16 [all], int8 [all], uint8 [n])
            The entries of position i end at the first's i.

        Raises
        ------
        OverflowError
            When a weight counts more often than int8 holds, with its name.
        UserError
            When a block of a user's has broken its bounds.
        """
        out = self._ends, self._terms, self._counts, self._phase
        beyond = kernels.trace(*self._arguments, records, out)
        self._parts.check()
        if beyond >= 0:
            raise OverflowError(
                f"{self._evaluation.labels[beyond]} counts more than {kernels.MOST} in a position; "
                "make several terms of its features"
            )
        n = len(records)
        end = int(self._ends[n - 1]) if n else 0
        return self._ends[:n], self._terms[:end], self._counts[:end], self._phase[:n]


def _members(evaluation: Evaluation) -> np.ndarray:
    """int32 [features.size, most]: the weights of each feature, then -1."""
    starts, weights = evaluation.members
    n = np.diff(starts)
    found = np.full((len(n), int(n.max(initial=1))), -1, np.int32)
    column = np.arange(len(weights)) - np.repeat(starts[:-1], n)
    found[np.repeat(np.arange(len(n)), n), column] = weights
    return found


def _placed(table: np.ndarray, members: np.ndarray) -> np.ndarray:
    """int64 [all, 3]: piece * 64 + square, weight and sign of what both players see in a table."""
    found = []
    for perspective, sign in ((0, 1), (1, -1)):
        rows = seen_by(table, perspective).ravel()
        places = np.flatnonzero(rows >= 0)
        for column in members[rows[places]].T:
            there = column >= 0
            signs = np.full(np.count_nonzero(there), sign)
            found.append(np.stack([places[there], column[there], signs], 1))
    return np.concatenate(found)


def _by_place(placed: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same by place: where the weights of each begin (int32[769]), these, and their signs."""
    placed = placed[np.argsort(placed[:, 0], kind="stable")]
    starts = np.searchsorted(placed[:, 0], np.arange(PIECES * SQUARES_ON_BOARD + 1))
    return starts.astype(np.int32), *placed[:, 1:].T.astype(np.int32).copy()
