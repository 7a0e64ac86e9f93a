"""L-BFGS with the line search of Armijo (Nocedal and Wright, Numerical Optimization, ch. 7 and 3).

scipy has one, too; it runs to its end in one call, and a run here can be stopped after any step.
"""

from __future__ import annotations

import numpy as np

from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers import Optimizer, State
from nnuelab.settings.tuning import Tuning

_PAIRS = 20  # steps that the curvature is made of
_ENOUGH = 1e-4  # of the fall that the slope promises
_FIRST = 10.0  # centipawns of the largest change in the first step
SMALLEST_GAIN = 1e-10  # of the error, relative
_TRIES = 30


class Lbfgs(Optimizer):
    """A generation is a step that lowers the error."""

    SAVED = (*Optimizer.SAVED, "moves", "turns")
    GENERATIONS = 300

    def __init__(self, objective: Objective, settings: Tuning, seed: int, generations: int) -> None:
        super().__init__(objective, settings, seed, generations)
        # The last steps, and what they changed of the gradient, oldest first.
        self.moves = np.zeros((0, len(self.numbers)))
        self.turns = np.zeros((0, len(self.numbers)))

    def step(self) -> State:
        value, slope = self.objective.gradient(self.numbers)
        self.generation += 1
        direction = -self._times_inverse(slope)
        for _ in range(2):  # the second time as steepest descent
            move = self._searched(value, slope, direction)
            if move is not None:
                break
            self.moves, self.turns = self.moves[:0], self.turns[:0]
            direction = -self._times_inverse(slope)
        if move is None:
            return self.single(value, True)
        self.numbers = self.numbers + move
        reached, new_slope = self.objective.gradient(self.numbers)
        turn = new_slope - slope
        if np.sum(move * turn) > 1e-12 * np.sum(turn * turn):
            self.moves = np.concatenate([self.moves, move[None]])[-_PAIRS:]
            self.turns = np.concatenate([self.turns, turn[None]])[-_PAIRS:]
        return self.single(reached, value - reached <= SMALLEST_GAIN * value)

    def _searched(
        self, value: float, slope: np.ndarray, direction: np.ndarray
    ) -> np.ndarray | None:
        """The longest halving of a step that lowers the error enough, or None."""
        promised = float(np.sum(slope * direction))
        share = 1.0
        for _ in range(_TRIES):
            reached = self.objective.value(self.numbers + share * direction)
            if promised < 0 and reached <= value + _ENOUGH * share * promised:
                return share * direction
            share /= 2
        return None

    def _times_inverse(self, slope: np.ndarray) -> np.ndarray:
        """Two-loop recursion, Nocedal and Wright, algorithm 7.4; sums in numpy's own order."""
        found = slope.copy()
        pairs = list(zip(self.moves, self.turns, strict=True))
        if not pairs:
            return found * (_FIRST / max(float(np.abs(slope).max()), 1e-300))
        weights = []
        for move, turn in reversed(pairs):
            weights.append(np.sum(move * found) / np.sum(move * turn))
            found -= weights[-1] * turn
        move, turn = pairs[-1]
        found *= np.sum(move * turn) / np.sum(turn * turn)
        for (move, turn), weight in zip(pairs, reversed(weights), strict=True):
            found += (weight - np.sum(turn * found) / np.sum(move * turn)) * move
        return found
