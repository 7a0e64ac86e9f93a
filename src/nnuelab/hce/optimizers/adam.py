"""Adam (Kingma and Ba, 2015), on all positions at once or in batches."""

from __future__ import annotations

import math

import numpy as np

from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers import Optimizer, State
from nnuelab.learning import schedules
from nnuelab.settings.tuning import Tuning

_FIRST, _SECOND, _SMALL = 0.9, 0.999, 1e-12  # the gradient of a rare weight is small itself


class Adam(Optimizer):
    """A generation is a pass over the positions."""

    SAVED = (*Optimizer.SAVED, "now", "mean", "square", "steps", "lowest")
    GENERATIONS = 300

    def __init__(self, objective: Objective, settings: Tuning, seed: int, generations: int) -> None:
        super().__init__(objective, settings, seed, generations)
        self.now = self.numbers.copy()
        self.mean, self.square = np.zeros_like(self.now), np.zeros_like(self.now)
        self.steps, self.lowest = 0, float("inf")
        size, n = settings.batch_size or len(objective.trace), len(objective.trace)
        self.parts = [(first, min(first + size, n)) for first in range(0, n, size)]

    def step(self) -> State:
        chosen, per_epoch = self.settings, len(self.parts)
        for number in self.random().permutation(per_epoch).tolist():
            part = self.parts[number] if per_epoch > 1 else None
            _, slope = self.objective.gradient(self.now, part)
            rate = chosen.step_size * schedules.factor(
                chosen.schedule, self.steps, per_epoch, self.generations, chosen.lr_decay
            )
            self.steps += 1
            self.mean = _FIRST * self.mean + (1 - _FIRST) * slope
            self.square = _SECOND * self.square + (1 - _SECOND) * slope**2
            mean = self.mean / (1 - _FIRST**self.steps)
            square = self.square / (1 - _SECOND**self.steps)
            self.now = self.now - rate * mean / (np.sqrt(square) + _SMALL)
        value = self.objective.value(self.now)
        if not math.isfinite(self.lowest) or value < self.lowest:
            self.lowest, self.numbers = value, self.now
        self.generation += 1
        error = value - float(self.objective.penalty(self.now))
        return State(error, error, self.numbers)

    def forget_lowest(self) -> None:
        """After a change of K: errors before it aren't comparable."""
        self.lowest = self.objective.value(self.numbers)
