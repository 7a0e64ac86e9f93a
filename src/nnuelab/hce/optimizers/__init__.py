"""What lowers the error: optimisers behind one interface.

An optimiser begins with an :class:`~nnuelab.hce.objective.Objective` and goes on by
``step()``, a generation each time. All that it knows lies in the attributes that ``SAVED`` names,
so a run that was stopped goes on as if it had not been. The random numbers of a generation are
those of the seed and its number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from nnuelab.hce.genome import Genome
from nnuelab.hce.objective import Objective
from nnuelab.settings.tuning import Tuning


@dataclass(frozen=True)
class State:
    """After a generation.

    Attributes
    ----------
    best, mean : float
        Errors of the generation, without penalty; of one set of weights both are the same.
    numbers : float64 [n]
        The free numbers with the lowest error and penalty so far.
    bits : float64 [bits] or None
        The probability of each bit to be 1, of optimisers that have bits.
    converged : bool
        A further step would change nothing.
    """

    best: float
    mean: float
    numbers: np.ndarray
    bits: np.ndarray | None = None
    converged: bool = False


class Optimizer:
    """One of them.

    Parameters
    ----------
    objective : Objective
    settings : Tuning
    seed : int
    generations : int
        Of the whole run: schedules go by it.
    """

    SAVED: ClassVar[tuple[str, ...]] = ("generation", "numbers")
    GENERATIONS: ClassVar[int]  # that it usually needs

    def __init__(self, objective: Objective, settings: Tuning, seed: int, generations: int) -> None:
        self.objective, self.settings = objective, settings
        self.seed, self.generations = seed, generations
        self.generation = 0
        self.numbers = objective.start.copy()

    def step(self) -> State:
        """One generation."""
        raise NotImplementedError

    def forget_lowest(self) -> None:
        """After a change of K: errors before it aren't comparable."""

    def random(self) -> np.random.Generator:
        """The random numbers of this generation."""
        return np.random.default_rng([self.seed, self.generation])

    def saved(self) -> dict[str, Any]:
        """All that it knows: arrays and plain numbers by name."""
        return {name: getattr(self, name) for name in self.SAVED}

    def restore(self, saved: dict[str, Any]) -> None:
        """Goes on from what an equal one has saved."""
        for name in self.SAVED:
            setattr(self, name, saved[name])

    def single(self, value: float, converged: bool = False) -> State:
        """The state of one that keeps a single set of numbers, of error and penalty ``value``."""
        error = value - float(self.objective.penalty(self.numbers))
        return State(error, error, self.numbers, None, converged)


def _kinds() -> dict[str, Any]:
    from nnuelab.hce.optimizers import adam, ga, gauss_newton, lbfgs, local, pbil

    return {
        "pbil": pbil.Pbil,
        "ga": ga.Genetic,
        "adam": adam.Adam,
        "gauss-newton": gauss_newton.GaussNewton,
        "lbfgs": lbfgs.Lbfgs,
        "local": local.Local,
    }


def usual(name: str) -> int:
    """How many generations an optimiser usually needs."""
    return int(_kinds()[name].GENERATIONS)


def create(
    objective: Objective, settings: Tuning, seed: int, generations: int, genome: Genome | None
) -> Optimizer:
    """The optimiser that the settings name; ``genome`` is for those that have bits."""
    made = _kinds()[settings.optimizer]
    own = (genome,) if genome is not None else ()
    found: Optimizer = made(objective, settings, seed, generations, *own)
    return found
