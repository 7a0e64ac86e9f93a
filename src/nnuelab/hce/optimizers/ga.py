"""A genetic algorithm with parents: tournaments, uniform crossover, mutation, elitism.

After Goldberg, Genetic Algorithms in Search, Optimization and Machine Learning (1989); uniform
crossover is Syswerda's (1989).
"""

from __future__ import annotations

import numpy as np

from nnuelab.hce.genome import Genome
from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers import State
from nnuelab.hce.optimizers.pbil import Strings
from nnuelab.settings.tuning import Tuning


class Genetic(Strings):
    """See the module; its bits are the shares of the population that have a 1."""

    SAVED = (*Strings.SAVED, "strings")

    def __init__(
        self, objective: Objective, settings: Tuning, seed: int, generations: int, genome: Genome
    ) -> None:
        super().__init__(objective, settings, seed, generations, genome)
        # Another sequence than that of any generation.
        random = np.random.default_rng([seed, 0, 1])
        self.strings = random.random((settings.population, genome.bits)) < self.first

    def step(self) -> State:
        chosen, random = self.settings, self.random()
        found, best, mean = self.evaluate(self.strings)
        shares = self.strings.mean(0)
        size, bits = self.strings.shape
        ranks = np.empty(size, np.int64)
        ranks[np.argsort(found, kind="stable")] = np.arange(size)
        elite = np.argsort(ranks)[: chosen.elite]
        asked = random.integers(size, size=(2, size - len(elite), chosen.tournament))
        winners = np.take_along_axis(asked, ranks[asked].argmin(-1)[..., None], -1)[..., 0]
        one, other = self.strings[winners]
        crossed = random.random((len(one), 1)) < chosen.crossover
        from_other = crossed & (random.random(one.shape) < 0.5)
        children = np.where(from_other, other, one)
        children ^= random.random(children.shape) < chosen.flips / bits
        self.strings = np.concatenate([self.strings[elite], children])
        self.generation += 1
        return State(best, mean, self.numbers, shares)
