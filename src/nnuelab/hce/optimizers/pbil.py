"""PBIL, population-based incremental learning (Baluja, CMU-CS-94-163, 1994).

No parents: a vector of probabilities, from which each generation is drawn and which then moves
towards the mean of its best strings. The post's "GA framework" is this by its author's other
posts, and its chart of 0..1 the histogram of the vector.
"""

from __future__ import annotations

import numpy as np

from nnuelab.hce.genome import Genome
from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers import Optimizer, State
from nnuelab.settings.tuning import Tuning


class Strings(Optimizer):
    """What optimisers of bit strings share: a genome, and the best string so far."""

    SAVED = (*Optimizer.SAVED, "lowest")
    GENERATIONS = 300

    def __init__(
        self, objective: Objective, settings: Tuning, seed: int, generations: int, genome: Genome
    ) -> None:
        super().__init__(objective, settings, seed, generations)
        self.genome = genome
        self.lowest = float("inf")  # of error and penalty
        start = genome.encode(genome.nearest(objective.start))
        self.first = 0.5 + settings.certainty * (start - 0.5)  # probabilities at the beginning

    def evaluate(self, strings: np.ndarray) -> tuple[np.ndarray, float, float]:
        """Error and penalty of strings [P, bits], and best and mean error of this generation."""
        numbers = self.genome.decode(strings).astype(np.float64)
        errors = self.objective.population(numbers)
        found = errors + self.objective.penalty(numbers)
        best = int(found.argmin())
        if found[best] < self.lowest:
            self.lowest, self.numbers = float(found[best]), numbers[best]
        return found, float(errors[best]), float(np.mean(errors))

    def forget_lowest(self) -> None:
        """After a change of K: errors before it aren't comparable."""
        self.lowest = self.objective.value(self.numbers)


class Pbil(Strings):
    """See the module."""

    SAVED = (*Strings.SAVED, "probabilities")

    def __init__(
        self, objective: Objective, settings: Tuning, seed: int, generations: int, genome: Genome
    ) -> None:
        super().__init__(objective, settings, seed, generations, genome)
        self.probabilities = self.first

    def step(self) -> State:
        chosen, random = self.settings, self.random()
        strings = random.random((chosen.population, self.genome.bits)) < self.probabilities
        found, best, mean = self.evaluate(strings)
        elite = np.argsort(found, kind="stable")[: chosen.elite]
        moved = self.probabilities + chosen.learning_rate * (
            strings[elite].mean(0) - self.probabilities
        )
        mutated = random.random(moved.shape) < chosen.mutation
        towards = random.random(moved.shape) < 0.5
        moved[mutated] += chosen.mutation_shift * (towards[mutated] - moved[mutated])
        self.probabilities = moved
        self.generation += 1
        return State(best, mean, self.numbers, self.probabilities)
