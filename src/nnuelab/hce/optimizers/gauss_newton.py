"""Gauss-Newton steps with the damping of Levenberg (1944) and Marquardt (1963).

The step solves (H + d diag H) step = -gradient with H = 2 J'J; d falls by a factor after a step
that lowers the error and rises until one does.
"""

from __future__ import annotations

import numpy as np

from nnuelab.hce import linear
from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers import Optimizer, State
from nnuelab.settings.tuning import Tuning

_LEAST, _MOST = 1e-9, 1e9  # damping
_FALL, _RISE = 0.1, 10.0
SMALLEST_GAIN = 1e-8  # of the error, relative: what doesn't gain more has converged


class GaussNewton(Optimizer):
    """A generation is a step that lowers the error."""

    SAVED = (*Optimizer.SAVED, "damping")
    GENERATIONS = 30

    def __init__(self, objective: Objective, settings: Tuning, seed: int, generations: int) -> None:
        super().__init__(objective, settings, seed, generations)
        self.damping = settings.damping

    def step(self) -> State:
        value, slope = self.objective.gradient(self.numbers)
        curvature = self.objective.curvature(self.numbers)
        diagonal = np.diag_indices(len(slope))
        # A number whose positions are all certain has next to no curvature of its own.
        scale = np.maximum(curvature[diagonal], 1e-12 * curvature[diagonal].max())
        self.generation += 1
        while self.damping <= _MOST:
            damped = curvature.copy()
            damped[diagonal] += self.damping * scale
            step = linear.solve(damped, -slope)
            if step is not None:
                reached = self.objective.value(self.numbers + step)
                if reached <= value:
                    self.numbers = self.numbers + step
                    self.damping = max(self.damping * _FALL, _LEAST)
                    return self.single(reached, value - reached <= SMALLEST_GAIN * value)
            self.damping *= _RISE
        self.damping = self.settings.damping
        return self.single(value, True)
