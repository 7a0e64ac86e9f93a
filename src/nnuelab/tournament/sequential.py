"""A sequential test between two feature sets: a net of each at a time, and a look after each round.

A round is a match of two nets that were trained for it, so its difference in strength scatters by
trainings and games alike, and rounds are independent: seeds are the clusters. After k rounds stands
the interval mean +- c(k) s / sqrt(k). All these intervals together miss the true difference with a
chance of alpha (Jennison and Turnbull, *JRSS B* 51, 1989: repeated confidence intervals). So it may
be looked at after each, and any rule that goes by them keeps its error rates: the sets differ once
an interval leaves 0 out, and are equivalent once it lies within the bound of equivalence.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.settings.sequential import Stopping
from nnuelab.tournament import model
from nnuelab.tournament.headers import read_results

NODES = 400  # of an integral
PATHS = 100_000  # of simulated tests
FARTHEST = 8.0  # standard deviations, beyond which nothing is left to integrate


def spent(share: np.ndarray, settings: Stopping) -> np.ndarray:
    """Alpha that may have been used up at a share of the rounds.

    Lan and DeMets' (*Biometrika* 70, 1983) spending of O'Brien and Fleming's kind, for either side:
    late, when the spread of the rounds is known better.
    """
    from scipy.stats import norm

    return 4 * norm.sf(norm.isf(settings.alpha / 4) / np.sqrt(share))


def normal_bounds(settings: Stopping) -> np.ndarray:
    """Bounds [rounds] of the mean in standard errors, if these were known; the first is infinite.

    After one round there is no spread to judge by. From the second on, each bound is where what is
    spent in that round is left over, by numerical integration over the paths that go on (Armitage,
    McPherson and Rowe, *JRSS A* 132, 1969).
    """
    from scipy.optimize import brentq
    from scipy.stats import norm

    x, weight = np.polynomial.legendre.leggauss(NODES)
    found = np.full(settings.rounds, np.inf)
    total = spent(np.arange(1, settings.rounds + 1) / settings.rounds, settings)
    left = np.diff(total[1:], prepend=0.0)
    # Sums so far at `place`, and their density times the weight of the integral.
    place, mass = FARTHEST * x, FARTHEST * weight * norm.pdf(FARTHEST * x)

    def excess(bound: float, k: int) -> float:
        edge = bound * math.sqrt(k)
        return float(mass @ (norm.sf(edge - place) + norm.cdf(-edge - place)) - left[k - 2])

    for k in range(2, settings.rounds + 1):
        if excess(FARTHEST, k) < 0:  # else so little may be spent that the test goes on
            found[k - 1] = brentq(excess, 0.0, FARTHEST, args=(k,))
        width = min(found[k - 1], FARTHEST) * math.sqrt(k)
        after = width * x
        mass = width * weight * (norm.pdf(after[:, None] - place) @ mass)
        place = after
    return found


def bounds(settings: Stopping) -> np.ndarray:
    """Bounds c [rounds] of the mean in its estimated standard errors; the first is infinite.

    Each is the quantile of Student's t at the level that `normal_bounds` have for a known variance
    (Pocock, *Biometrika* 64, 1977). With few rounds these would miss the truth in up to 5.8 %
    instead of 5 %, so all are raised by the one factor with which simulated tests keep alpha.
    """
    from scipy.stats import norm, t

    level = norm.sf(normal_bounds(settings)[1:])
    raw = np.concatenate([[np.inf], t.isf(level, np.arange(1, settings.rounds))])
    mean, error = _means(np.random.default_rng(1).normal(size=(PATHS, settings.rounds)))
    nearest = np.max(np.abs(mean[:, 1:]) / (raw[1:] * error[:, 1:]), axis=1)
    return raw * np.quantile(nearest, 1 - settings.alpha)


def _means(differences: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of the rounds so far after each one, and its standard error (0 after the first)."""
    rounds = np.arange(1, differences.shape[-1] + 1)
    mean = np.cumsum(differences, axis=-1) / rounds
    squares = np.cumsum(differences**2, axis=-1) - rounds * mean**2
    return mean, np.sqrt(np.maximum(squares, 0) / np.maximum(rounds - 1, 1) / rounds)


def intervals(differences: np.ndarray, settings: Stopping) -> tuple[np.ndarray, np.ndarray]:
    """Ends of the interval after each round: two arrays of the shape of ``differences``.

    Parameters
    ----------
    differences : float64 [..., k]
        Of each round so far, rating points; k is at most ``settings.rounds``.
    """
    mean, error = _means(differences)
    width = np.full_like(mean, np.inf)
    width[..., 1:] = bounds(settings)[1 : mean.shape[-1]] * error[..., 1:]
    return mean - width, mean + width


@dataclass(frozen=True)
class Round:
    """A match.

    Attributes
    ----------
    seed : int
        Of its nets.
    games : int
    elo : float
        Difference of its nets, rating points.
    """

    seed: int
    games: int
    elo: float


@dataclass(frozen=True)
class Look(Round):
    """What is known after a round.

    Attributes
    ----------
    mean, low, high : float
        Of all rounds so far, with the ends of its interval.
    verdict : str
        ``stronger``, ``weaker``, ``equivalent``, ``undecided`` after the last round; empty: go on.
    """

    mean: float
    low: float
    high: float
    verdict: str


def looks(rounds: list[Round], settings: Stopping) -> list[Look]:
    """A look after each round, up to the one that decides; what was played beyond doesn't count."""
    played = rounds[: settings.rounds]
    differences = np.array([each.elo for each in played])
    low, high = intervals(differences, settings)
    found = []
    for k, each in enumerate(played):
        mean = float(differences[: k + 1].mean())
        last = k + 1 == settings.rounds
        verdict = verdict_of(low[k], high[k], settings.equivalence) or "undecided" * last
        known = mean, float(low[k]), float(high[k]), verdict
        found.append(Look(each.seed, each.games, each.elo, *known))
        if verdict:
            break
    return found


def verdict_of(low: float, high: float, equivalence: float) -> str:
    """What an interval decides, empty where it doesn't.

    >>> verdict_of(2.0, 31.0, 15.0), verdict_of(-9.0, 11.0, 15.0), verdict_of(-9.0, 31.0, 15.0)
    ('stronger', 'equivalent', '')
    """
    if low > 0 or high < 0:
        return "stronger" if low > 0 else "weaker"
    return "equivalent" if -equivalence < low and high < equivalence else ""


def read_rounds(paths: Iterable[Path], feature_set: str, anchor: str) -> list[Round]:
    """The rounds in a test's PGN files, each a match ``SET#SEED`` against ``ANCHOR#SEED``.

    Raises
    ------
    UserError
        Another pairing in a file, two files of one seed, seeds that leave one out (nobody should
        choose which rounds count), rounds of other numbers of games.
    """
    found: list[Round] = []
    for path in paths:
        results = read_results([path])
        names = [NetName.parse(player) for player in results.players]
        seeds = {name.seed for name in names}
        entries = sorted(name.entry for name in names)
        if entries != sorted([feature_set, anchor]) or len(seeds) > 1 or None in seeds:
            raise UserError(
                f"{path}: {', '.join(results.players)} played; a round is a match of "
                f"{feature_set}#N and {anchor}#N, with one N"
            )
        elo = model.fit(results).elo
        first = [name.entry for name in names].index(feature_set)
        found.append(Round(names[0].seed or 0, len(results), float(elo[first] - elo[1 - first])))
    found.sort(key=lambda each: each.seed)
    for before, after in pairwise(each.seed for each in found):
        if after != before + 1:
            raise UserError(
                f"seed {after} comes after seed {before}: rounds have consecutive seeds, each "
                "once; give all their files"
            )
    if len({each.games for each in found}) > 1:
        told = ", ".join(f"{each.seed}: {each.games}" for each in found)
        raise UserError(f"rounds have different numbers of games (seed: games {told}); play alike")
    return found
