"""What an optimiser lowers: the error of its free numbers on a trace, and a penalty."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from nnuelab.hce import population
from nnuelab.hce.error import Error
from nnuelab.hce.parameters import Parameters
from nnuelab.hce.trace import Trace

PENALTY_UNIT = 100.0  # centipawns


class Objective:
    """Mean squared error plus ``l2`` times the mean square of the numbers' distance from home.

    The distance is in pawns (100 centipawns); home is the start, or 0 (ridge regression, Hoerl and
    Kennard 1970).

    Parameters
    ----------
    trace : Trace
    k : float
        Of the sigmoid.
    parameters : Parameters
    l2 : float
    towards : "start" or "zero"
        Home.
    threads : int
        0: one per core. No result depends on it.
    """

    def __init__(
        self,
        trace: Trace,
        k: float,
        parameters: Parameters,
        l2: float = 0.0,
        towards: Literal["start", "zero"] = "start",
        threads: int = 1,
    ) -> None:
        self.trace, self.parameters, self.l2, self.threads = trace, parameters, l2, threads
        self.start = parameters.of(parameters.start)
        self.home = self.start if towards == "start" else np.zeros_like(self.start)
        self.set_k(k)

    def set_k(self, k: float) -> None:
        """Another factor of the sigmoid from here on."""
        self.k = k
        self.error = Error(self.trace, k, self.threads)
        self._parts: dict[tuple[int, int], Error] = {}

    def penalty(self, numbers: np.ndarray) -> Any:
        """Of free numbers [..., n]."""
        if not self.l2:
            return np.zeros(numbers.shape[:-1])
        return self.l2 * np.mean(((numbers - self.home) / PENALTY_UNIT) ** 2, axis=-1)

    def value(self, numbers: np.ndarray) -> float:
        """Error and penalty of free numbers, float64 [n]."""
        return self.error.value(self.parameters.weights(numbers)) + float(self.penalty(numbers))

    def gradient(
        self, numbers: np.ndarray, part: tuple[int, int] | None = None
    ) -> tuple[float, np.ndarray]:
        """Value and derivatives, float64 [n]; ``part``: by the positions from one to another."""
        error = self.error
        if part is not None:
            if part not in self._parts:
                self._parts[part] = self.error.part(*part)
            error = self._parts[part]
        value, cells = error.gradient(self.parameters.weights(numbers))
        slope = self.parameters.gradient(cells) + self._curvature() * (numbers - self.home)
        return value + float(self.penalty(numbers)), slope

    def curvature(self, numbers: np.ndarray) -> np.ndarray:
        """Second derivatives as Gauss and Newton have them: 2 J'J and the penalty's, [n, n]."""
        found = 2 * self.parameters.matrix(self.error.normal(self.parameters.weights(numbers))[0])
        found[np.diag_indices(self.parameters.n)] += self._curvature()
        return found

    def _curvature(self) -> float:
        return 2 * self.l2 / (self.parameters.n * PENALTY_UNIT**2)

    def population(self, numbers: np.ndarray) -> np.ndarray:
        """Errors without penalty of a population of whole numbers [P, n]: float64 [P]."""
        weights = self.parameters.weights(numbers.astype(np.float64))
        return population.errors(self.trace, self.k, weights, self.threads)
