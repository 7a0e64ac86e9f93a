"""Texel's own local search: one number after the other, a step up or down while it helps.

After Peter Österlund's description (chessprogramming.org, Texel's Tuning Method), whole centipawns.
With growing steps a number that went the right way goes twice as far the next time, like the "big
jumps" of his program: the start may then be far away.

A change of one number only moves the positions that its terms stand in, so these are listed once;
a try costs a look at them, not at all positions.
"""

from __future__ import annotations

import math

import numpy as np

from nnuelab.hce.evaluation import FULL
from nnuelab.hce.objective import Objective
from nnuelab.hce.optimizers import Optimizer, State
from nnuelab.jit import jit
from nnuelab.settings.tuning import Tuning

_LARGEST = 64  # centipawns of a growing step
_NOTHING = 1e-12  # of the error: rounding


class Local(Optimizer):
    """A generation is a sweep over all numbers."""

    SAVED = (*Optimizer.SAVED, "strides")
    GENERATIONS = 100

    def __init__(self, objective: Objective, settings: Tuning, seed: int, generations: int) -> None:
        super().__init__(objective, settings, seed, generations)
        self.numbers = np.rint(self.numbers)
        self.strides = np.full(len(self.numbers), settings.stride, np.int64)
        trace = objective.trace
        often = np.bincount(trace.terms, minlength=trace.n_weights)
        self._starts = np.concatenate([[0], np.cumsum(often)])
        self._positions = np.empty(len(trace.terms), np.uint32)
        self._counts = np.empty(len(trace.terms), np.int8)
        _by_term(
            trace.starts, trace.terms, trace.counts, self._starts[:-1].copy(), self._positions,
            self._counts,
        )  # fmt: skip

    def step(self) -> State:
        before = self.numbers.copy()
        self._sweep()
        value = self.objective.value(self.numbers)
        self.generation += 1
        steady = bool((before == self.numbers).all() and (np.abs(self.strides) == 1).all())
        return self.single(value, steady)

    def _sweep(self) -> None:
        objective, trace = self.objective, self.objective.trace
        parameters = objective.parameters
        scores = objective.error.scores(parameters.weights(self.numbers)).astype(np.float64)
        of = parameters.cells.ravel()
        cells = np.flatnonzero(of >= 0)
        cells = cells[np.argsort(of[cells], kind="stable")]
        ends = np.searchsorted(of[cells], np.arange(parameters.n + 1))
        scale = -objective.k * math.log(10) / 400
        for number in range(parameters.n):
            own = cells[ends[number] : ends[number + 1]]

            def moved(by: int, number: int = number, own: np.ndarray = own) -> float:
                """Changes a number; what that does to error and penalty."""
                before = float(objective.penalty(self.numbers))
                self.numbers[number] += by
                change = 0.0
                for cell in own.tolist():
                    first, stop = self._starts[cell // 2], self._starts[cell // 2 + 1]
                    change += _moved(
                        self._positions[first:stop], self._counts[first:stop], trace.phase,
                        trace.results, scores, cell % 2 == 0, float(by), scale,
                    )  # fmt: skip
                return change / len(trace) + float(objective.penalty(self.numbers)) - before

            stride = int(self.strides[number])
            change = moved(stride)
            if change >= -_NOTHING:
                change += moved(-2 * stride)
                stride = -stride
                if change >= -_NOTHING:
                    moved(-stride)
                    self.strides[number] = math.copysign(max(abs(stride) // 2, 1), -stride)
                    continue
            grown = min(2 * abs(stride), _LARGEST) if self.settings.growing else abs(stride)
            self.strides[number] = math.copysign(grown, stride)


@jit
def _by_term(starts, terms, counts, ends, positions, of_positions):
    """Lists the positions of each term; ``ends`` begins with where each list does."""
    for i in range(len(starts) - 1):
        for j in range(starts[i], starts[i + 1]):
            term = terms[j]
            positions[ends[term]] = i
            of_positions[ends[term]] = counts[j]
            ends[term] += 1


@jit
def _moved(positions, counts, phase, results, scores, middle, by, scale):
    """Adds ``by`` to a weight in the scores; returns the change of the sum of squared errors."""
    change = 0.0
    for j in range(len(positions)):
        i = positions[j]
        share = phase[i] / FULL if middle else 1.0 - phase[i] / FULL
        before = results[i] - 1.0 / (1.0 + math.exp(scale * scores[i]))
        scores[i] += by * counts[j] * share
        after = results[i] - 1.0 / (1.0 + math.exp(scale * scores[i]))
        change += after * after - before * before
    return change
