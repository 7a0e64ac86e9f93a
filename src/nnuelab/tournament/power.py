"""What a tournament will tell of feature sets, before it is played: errors, and what it will find.

The variances that are expected go through the formulas that rate real games (`ratings.quoted`), so
the error that is foretold is the one that will be quoted.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from nnuelab.errors import UserError
from nnuelab.intervals import SIGNIFICANCE
from nnuelab.settings.games import DRAWS
from nnuelab.tournament import model, ratings, spread
from nnuelab.tournament.adjusted import LEVEL, critical
from nnuelab.tournament.spread import Estimate, Pooling, Spread
from nnuelab.tournament.words import Format

POWER = 0.8
MOST_GAMES = 1_000_000  # of a pairing; more would play for years
MOST_SEEDS = 64
CASES = 15  # of how far trainings happen to scatter, equally likely


class Untold(UserError):
    """One seed, and nothing known: no error of training can be told."""


@dataclass(frozen=True)
class Design:
    """A tournament of all nets of some feature sets.

    Attributes
    ----------
    sets : sequence of str
        The anchor among them.
    anchor : str
    seeds : int
        Nets of each set.
    games : float
        Of each pairing.
        In the format anchored the mean over all of a round robin.
    draws : float
        Share of the games between equals that are drawn.
    format : Format
        ROUND_ROBIN or ANCHORED.
    """

    sets: Sequence[str]
    anchor: str
    seeds: int
    games: float
    draws: float = DRAWS
    format: Format = Format.ROUND_ROBIN


@dataclass(frozen=True)
class Forecast:
    """What is expected of the set that will be known least, rating points.

    Attributes
    ----------
    error_games, error : float
        As `ratings.SetRating.elo_error_games` and ``elo_error``.
    detects : float
        A set that differs from the anchor by this much will be told from it in 80 %, with a p-value
        adjusted for the number of sets.
    detects_primary : float
        The same of one set that was named beforehand, whose p-value needs no adjusting.
    """

    error_games: float
    error: float
    detects: float
    detects_primary: float


def games_variance(design: Design) -> float:
    """Variance of a net's rating by a round robin, squared rating points; all about as strong.

    The points of a game have the variance (1 - d) / 4 with a share d of draws. At equality a rating
    point moves the expected points by b / 4 (`model.SLOPE`), so that a pairing tells the difference
    of two with the variance 4 (1 - d) / (b^2 games). Least squares of all pairings of n players
    gives ratings with the covariance 4 (1 - d) / (b^2 games n) (I - 1/n) (David, *The Method of
    Paired Comparisons*, 1988, chapter 4), of which this is the factor.

    Two games of an opening that are alike make it smaller, differences in strength larger.
    """
    nets = len(design.sets) * design.seeds
    return 4 * (1 - design.draws) / (model.SLOPE**2 * design.games * nets)


def difference_variance(design: Design) -> float:
    """Variance of a set's difference from the anchor by the games, squared rating points.

    Of k sets of n nets, the format anchored makes (sqrt(k) + k - 2)^2 / (2 (k - 1)) of the k - 1/n
    that a round robin leaves, by the inverse of the Laplacian of its games (`schedule`).
    """
    of_round_robin = games_variance(design) * 2 / design.seeds
    if design.format is not Format.ANCHORED:
        return of_round_robin
    k = len(design.sets)
    return of_round_robin * (k**0.5 + k - 2) ** 2 / (2 * (k - 1)) / (k - 1 / design.seeds)


def expected_spread(pooling: Pooling) -> Estimate:
    """The variance of trainings that experiments of this kind had, or else those of any kind.

    In the latter case nothing is known for the error to come, so the information is 0.

    Raises
    ------
    UserError
        Where no experiment is known.
    """
    found = spread.estimate(pooling.others())
    if not found.information:
        rows = [r for r in pooling.known if r.group == "" and r.experiment != pooling.experiment]
        found = replace(spread.estimate(rows), information=0.0)
        if not rows:
            raise UserError(
                "no other experiment tells how far equal trainings scatter; say what to assume: "
                "--training-sd 6"
            )
    return found


def forecast(design: Design, pooling: Pooling, training: float) -> Forecast:
    """What a tournament will tell, if trainings have the variance ``training``.

    How far this experiment's own trainings will happen to scatter decides on its error, too: all
    cases of that are gone through. The mean of a set is independent of them.

    Raises
    ------
    UserError
        Where no error could be quoted: of one seed, when no other experiment of this kind tells how
        far trainings scatter.
    """
    from scipy.special import ndtr
    from scipy.stats import norm

    games = difference_variance(design)
    deviation = float(np.sqrt(training * 2 / design.seeds + games))
    quantiles = (np.arange(CASES) + 0.5) / CASES
    cases = np.array([_case(design, pooling, training, quantile) for quantile in quantiles])
    error, adjusted, alone = cases.T

    def detects(bounds: np.ndarray) -> float:
        """The difference that is beyond the bound in 80 % of the cases."""
        from scipy.optimize import brentq

        def excess(difference: float) -> float:
            return float(ndtr((difference - bounds) / deviation).mean()) - POWER

        most = float(bounds.max() + deviation * norm.isf(1 - POWER) + deviation)
        return float(brentq(excess, 0.0, most))

    return Forecast(
        float(SIGNIFICANCE * np.sqrt(games)),
        float(np.median(error)),
        detects(adjusted),
        detects(alone),
    )


def _case(
    design: Design, pooling: Pooling, training: float, quantile: float
) -> tuple[float, float, float]:
    """Of the set known least, where the variances within sets come out at ``quantile``.

    Returns
    -------
    error, adjusted, alone : float
        elo_error, and the differences from which on the adjusted and the single p-value are less
        than `LEVEL`; rating points.
    """
    from scipy.special import chdtri, stdtrit

    games = games_variance(design)
    group_of = {name: pooling.groups.get(name, "") for name in design.sets}
    trainings = {}
    for group, sets in Counter(group_of.values()).items():
        within = sets * (design.seeds - 1)  # degrees of freedom
        chance = float(chdtri(within, 1 - quantile)) / within if within else 0.0
        variance = (training + games) * chance
        own = Spread(pooling.experiment, pooling.kind, group, variance, games, within)
        others = pooling.others() if group == "" else ()
        trainings[group] = spread.pooled(own, others, tell=False)
    of_anchor, each = group_of[design.anchor], 1 / design.seeds
    rows = [
        ratings.quoted(
            ratings.SetRating("", design.seeds, 0.0, 0.0, None),
            difference_variance(design),
            {group: 2 * each} if group == of_anchor else {group: each, of_anchor: each},
            trainings,
        )
        for group in {group_of[name] for name in design.sets if name != design.anchor}
    ]
    known = [(row.elo_error, row.degrees_of_freedom or np.inf) for row in rows if row.elo_error]
    if len(known) < len(rows):
        raise Untold(
            "with one seed, and no other experiment of this kind, no error of training can be "
            "told; plan two seeds or more"
        )
    error, freedom = max(known)
    deviation = error / stdtrit(freedom, 0.975)
    comparisons = len(design.sets) - 1
    adjusted = (
        critical(comparisons, freedom)
        if len(trainings) == 1
        else stdtrit(freedom, 1 - LEVEL / 2 / comparisons)  # Holm's first step
    )
    return error, float(deviation * adjusted), float(deviation * stdtrit(freedom, 1 - LEVEL / 2))


def games_needed(
    design: Design, pooling: Pooling, training: float, detect: float, *, primary: bool = False
) -> int | None:
    """Games of a pairing, an even number, with which a difference of ``detect`` will be found.

    None where no number of games suffices: then trainings scatter too much for so few seeds, or
    there is one seed, and nothing tells how far they scatter.
    """
    from scipy.optimize import brentq

    def excess(log: float) -> float:
        found = forecast(replace(design, games=float(np.exp(log))), pooling, training)
        return (found.detects_primary if primary else found.detects) - detect

    low, high = np.log([2.0, MOST_GAMES])
    try:
        if excess(high) > 0:
            return None
    except Untold:
        return None
    log = brentq(excess, low, high, xtol=0.01) if excess(low) > 0 else low
    return 2 * int(np.ceil(np.exp(log) / 2 - 1e-6))


def seeds_needed(
    design: Design, pooling: Pooling, training: float, detect: Mapping[str, float]
) -> dict[str, int | None]:
    """Nets of each set, at least those of the design, with which each of ``detect`` will be found.

    Each pairing of nets has the games of the design. None where `MOST_SEEDS` don't suffice.
    """

    @cache
    def detects(seeds: int) -> float:
        return forecast(replace(design, seeds=seeds), pooling, training).detects

    def least(difference: float) -> int | None:
        tried = range(design.seeds, MOST_SEEDS + 1)
        place = bisect_left(tried, True, key=lambda seeds: detects(seeds) <= difference)
        return tried[place] if place < len(tried) else None

    return {name: least(difference) for name, difference in detect.items()}
