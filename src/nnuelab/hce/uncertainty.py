"""How sure tuned weights are: standard errors from the curvature of the error.

The estimator is least squares, so its covariance is the sandwich A^-1 B A^-1 (White 1980) with
A = sum J'J + the penalty's half curvature, and B = sum over games of u u', u = sum of J'r over the
positions of a game. All positions of a game share its result: their residuals are not independent,
and the plain s^2 (J'J)^-1 would be several times too sure (Liang and Zeger 1986). G games give B
the factor G / (G - 1).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import linalg

from nnuelab.hce.evaluation import FULL
from nnuelab.hce.objective import Objective
from nnuelab.jit import at, jit

_UNKNOWN = 1e-10  # an eigenvalue below this share of the largest: a direction nothing is known of
_SHARE = 1e-4  # of a number that lies in such directions: then nothing is known of it, either
_GAMES = 256  # whose sums are multiplied at once


def standard_errors(objective: Objective, numbers: np.ndarray) -> np.ndarray:
    """Of free numbers at the lowest error, centipawns.

    Returns
    -------
    float64 [n]
        nan where the positions don't say: another weight can always stand in for it, as a mean of
        piece-square weights for material. A penalty (l2) makes every number known.
    """
    n, positions = len(numbers), len(objective.trace)
    bread = objective.curvature(numbers) / 2
    meat = _meat(objective, numbers) / positions**2
    # Numbers in units of their own curvature, so that rare ones aren't taken for unknown ones.
    scale = np.sqrt(np.maximum(np.diag(bread), 1e-300))
    values, vectors = linalg.eigh(bread / np.outer(scale, scale))
    known = values > _UNKNOWN * values[-1]
    inverse = (vectors[:, known] / values[known]) @ vectors[:, known].T / np.outer(scale, scale)
    variances = np.einsum("ij,jk,ki->i", inverse, meat, inverse, optimize=True)
    unknown = (vectors[:, ~known] ** 2).sum(1) > _SHARE
    return np.where(unknown, np.nan, np.sqrt(np.maximum(variances, 0))).reshape(n)


def _meat(objective: Objective, numbers: np.ndarray) -> np.ndarray:
    """B by the free numbers, float64 [n, n]."""
    trace, parameters = objective.trace, objective.parameters
    order = np.argsort(trace.games, kind="stable")
    games = trace.games[order]
    firsts = np.append(np.flatnonzero(np.diff(games, prepend=games[0] - 1.0)), len(games))
    weights = parameters.weights(numbers)
    scores = objective.error.scores(weights).astype(np.float64)
    slope = objective.k * math.log(10) / 400
    found = np.zeros((parameters.n, parameters.n))
    n_games = len(firsts) - 1
    for first in range(0, n_games, _GAMES):
        bounds = firsts[first : first + _GAMES + 1]
        sums = np.zeros((len(bounds) - 1, parameters.n + 1))
        _by_game(
            trace.starts, trace.terms, trace.counts, trace.phase, trace.results, scores, slope,
            order, bounds, parameters.cells, sums,
        )  # fmt: skip
        found += sums[:, :-1].T @ sums[:, :-1]
    return found * (n_games / max(n_games - 1, 1))


@jit
def _by_game(starts, terms, counts, phase, results, scores, slope, order, bounds, cells, sums):
    """Sums of J'r by the free numbers for each game, float64 [games, n + 1]; the last is a bin."""
    last = sums.shape[1] - 1
    for game in range(len(bounds) - 1):
        own = sums[game]
        for place in range(bounds[game], bounds[game + 1]):
            i = order[place]
            expected = 1.0 / (1.0 + math.exp(-slope * scores[i]))
            push = (expected - results[i]) * expected * (1.0 - expected) * slope
            share = phase[i] / FULL
            for j in range(starts[i], starts[i + 1]):
                middle, end = cells[terms[j], 0], cells[terms[j], 1]
                own[at(middle if middle >= 0 else last)] += push * counts[j] * share
                own[at(end if end >= 0 else last)] += push * counts[j] * (1.0 - share)
