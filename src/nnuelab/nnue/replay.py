"""The cost of updating accumulators, measured on all legal moves of given positions.

The moves are made and evaluated by the search's own code, again and again. What the rows alone cost
is measured with the same lists of rows, found beforehand: the rest of the time goes into finding
them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import make
from nnuelab.evaluator import PLIES, PLY, evaluate, invalidate, ply_at
from nnuelab.features import FeatureSet, parse
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.jit import address, aligned, at, copy_record, jit, view
from nnuelab.nnue import inference
from nnuelab.nnue.evaluator import Accumulators, accumulators_of
from nnuelab.nnue.netfile import Net


@dataclass(frozen=True)
class Moves:
    """Positions with all their legal moves.

    Attributes
    ----------
    positions : POSITION [n]
    moves : int64
        Of the first position, then of the next...
    ends : int64 [n]
        Where the moves of each position end.
    """

    positions: np.ndarray
    moves: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, positions: Sequence[np.void]) -> Moves:
        """All legal moves of some positions."""
        legal = [notation.moves_of(position) for position in positions]
        return cls(
            np.array(list(positions)),
            np.array([move for moves in legal for move in moves], np.int64),
            np.cumsum([len(moves) for moves in legal], dtype=np.int64),
        )

    @property
    def updates(self) -> int:
        """Accumulators to update: two a move."""
        return 2 * len(self.moves)


@jit
def _evaluate_all(evaluator, a, line, positions, moves, ends, roots, updating):
    """Makes every move and evaluates; without ``updating`` the accumulators are taken for ready."""
    accumulators = accumulators_of(a)
    root, below = ply_at(line, 0), ply_at(line, 1)
    move = np.int64(0)
    for i in range(len(positions)):
        copy_record(root.position, positions[i])
        accumulators[0] = roots[i]
        root.computed[:] = 1
        while move < ends[i]:
            make(root.position, below.position, moves[move])
            move += 1
            invalidate(below)
            if not updating:
                below.computed[:] = 1
            evaluate(evaluator, line, 1)


@jit
def _refresh_roots(net, positions, roots):
    for i in range(len(positions)):
        for perspective in range(2):
            inference.refresh(net, positions[i], perspective, roots[i, perspective])


@jit
def _list_rows(tables, positions, moves, ends, child, rows, starts, scratch):
    """The rows that each update touches, one list after another; returns how many there are.

    Update u adds rows[starts[u, 0] : starts[u, 1]] and subtracts those up to starts[u, 2], from the
    bias when starts[u, 3] is 1. What has no room in ``rows`` is only counted.
    """
    n = np.int64(0)
    move = np.int64(0)
    for i in range(len(positions)):
        while move < ends[i]:
            make(positions[i], child[0], moves[move])
            for perspective in range(2):
                start = starts[2 * move + perspective]
                start[3] = kernels.needs_refresh(tables, positions[i], child[0], perspective)
                if start[3]:
                    n_added = kernels.active(tables, child[0], perspective, scratch[0])
                    n_removed = np.int64(0)
                else:
                    n_added, n_removed = kernels.changes(
                        tables, positions[i], child[0], perspective, scratch[0], scratch[1]
                    )
                start[0], start[1], start[2] = n, n + n_added, n + n_added + n_removed
                if start[2] <= len(rows):
                    rows[start[0] : start[1]] = scratch[0, :n_added]
                    rows[start[1] : start[2]] = scratch[1, :n_removed]
                n = start[2]
            move += 1
    return n


@jit
def _combine_all(net, ends, roots, rows, starts, with_rows):
    """Applies the listed rows of every update; without them it only copies."""
    accumulators = view(net.accumulators, (2, net.stride), np.int16)
    bias = view(net.b1, net.stride, np.int16)
    move = np.int64(0)
    for i in range(len(ends)):
        while move < ends[i]:
            for perspective in range(2):
                start = starts[2 * move + perspective]
                source = bias if start[3] else roots[i, perspective]
                plus, minus = rows[start[0] :], rows[start[1] :]
                n_plus, n_minus = start[1] - start[0], start[2] - start[1]
                if not with_rows:
                    n_plus = n_minus = np.int64(0)
                inference.update(
                    net, source, accumulators[at(perspective)], plus, n_plus, minus, n_minus
                )
            move += 1


class Replay:
    """The moves of given positions, made again and again with one net.

    Attributes
    ----------
    bound : Accumulators
        Those of ply 1 are of the last move, once it is evaluated.
    rows : int
        Rows that all updates together touch.
    """

    def __init__(self, net: Net, moves: Moves) -> None:
        self.bound = Accumulators(net)
        self._net = self.bound.data["net"]
        self._line = aligned(PLIES, PLY)
        self._moves = moves
        self._lists = moves.positions, moves.moves, moves.ends
        self._roots = aligned((len(moves.positions), 2, int(self._net["stride"])), np.int16)
        _refresh_roots(self._net, moves.positions, self._roots)
        self._starts = np.zeros((moves.updates, 4), np.int64)
        self._rows = np.zeros(0, np.int32)
        self.rows = self._list_rows()
        self._rows = np.zeros(self.rows + 1, np.int32)  # one more: the last list may be empty
        self._list_rows()

    def _list_rows(self) -> int:
        features = self._net["features"]
        child = np.zeros(1, self._moves.positions.dtype)
        scratch = np.zeros((2, int(features["max_active"])), np.int32)
        return int(_list_rows(features, *self._lists, child, self._rows, self._starts, scratch))

    def evaluate(self, updating: bool = True) -> None:
        """Makes the moves and evaluates, with updates or without."""
        bound, line = self.bound, address(self._line)
        _evaluate_all(bound.record, bound.data, line, *self._lists, self._roots, updating)

    def combine(self, with_rows: bool = True) -> None:
        """Copies an accumulator for every update, and adds and subtracts its rows, or doesn't."""
        ends = self._moves.ends
        _combine_all(self._net, ends, self._roots, self._rows, self._starts, with_rows)

    @property
    def sides(self) -> list[Callable[[], None]]:
        """What has to be timed for :class:`Cost`."""
        without = partial(self.evaluate, False), partial(self.combine, False)
        return [without[0], self.evaluate, without[1], self.combine]

    def cost(self, seconds: np.ndarray) -> Cost:
        """What the times of :attr:`sides`, float64 [4, rounds], mean."""
        forward, evaluated, copied, combined = 1e9 * seconds / self._moves.updates
        rows = self.rows / self._moves.updates
        return Cost(
            rows=rows,
            row_ns=(combined - copied) / max(rows, 1e-9),
            predicted_ns=combined,
            measured_ns=evaluated - forward,
        )


@dataclass(frozen=True)
class Cost:
    """Means over the updates of one accumulator, the times for each round of measurements.

    Attributes
    ----------
    rows : float
        Rows added and subtracted.
    row_ns : ndarray of float64 [rounds]
        Time for one of them.
    predicted_ns : ndarray of float64 [rounds]
        Time for copying the accumulator and for the rows.
    measured_ns : ndarray of float64 [rounds]
        Time for all that the search does, finding the rows included.
    """

    rows: float
    row_ns: np.ndarray
    predicted_ns: np.ndarray
    measured_ns: np.ndarray


def in_turn(sides: Sequence[Callable[[], object]], rounds: int, seconds: float) -> np.ndarray:
    """CPU seconds of a call of each side, float64 [sides, rounds].

    A round calls all sides, each for about ``seconds``: what is compared is taken from one round,
    since the machine's speed drifts.
    """
    calls = []
    for side in sides:
        side()  # compiles, and touches the memory
        start = time.thread_time()
        side()
        calls.append(max(1, round(seconds / max(time.thread_time() - start, 1e-9))))
    found = np.zeros((len(sides), rounds))
    for i in range(rounds):
        for times, side, n in zip(found, sides, calls, strict=True):
            start = time.thread_time()
            for _ in range(n):
                side()
            times[i] = (time.thread_time() - start) / n
    return found


def any_net(features: FeatureSet | str, l1: int, l2: int = 8) -> Net:
    """A net for measurements: what its first layer costs doesn't depend on the weights.

    All activations are 0, so the other layers take the same time after every move.
    """
    size = parse(features).size if isinstance(features, str) else features.size
    rng = np.random.default_rng(1)
    return Net(
        str(features),
        w1=rng.integers(-9, 10, (size, l1), np.int16),
        b1=np.full(l1, -20_000, np.int16),
        w2=np.zeros((l2, 2 * l1), np.int8),
        b2=np.zeros(l2, np.int32),
        w3=np.zeros(l2, np.int16),
        b3=np.zeros(1, np.int32),
    )


def resized(net: Net, l1: int) -> Net:
    """A net of ``l1`` neurons, those of another one again and again.

    Copies of a neuron share its weights of the second layer, so of a multiple of the net's own
    neurons the evaluation is the same, bit for bit; any other number is for measuring alone.
    """
    neurons = np.arange(l1)
    chosen, copy = neurons % net.l1, neurons // net.l1
    columns = np.concatenate([chosen, net.l1 + chosen])
    # Integer shares of each weight that add up to it.
    shares = net.w2[:, columns].astype(np.int16) + np.tile(copy, 2)
    w2 = (shares // np.tile(np.bincount(chosen)[chosen], 2)).astype(net.w2.dtype)
    return replace(net, w1=net.w1[:, chosen], b1=net.b1[chosen], w2=w2)


def silent(net: Net, features: FeatureSet) -> Net:
    """The net of a sum with the net's own set that evaluates as it does: all other rows are 0.

    Raises
    ------
    ValueError
        When the net's set is no term of the sum.
    """
    names = [term.name for term in features.terms]
    start = features.offsets[names.index(net.feature_set)]
    w1 = np.zeros((features.size, net.l1), net.w1.dtype)
    w1[start : start + len(net.w1)] = net.w1
    return replace(net, feature_set=features.name, w1=w1)
