"""What a tournament will tell of feature sets, before it is played: errors, and what it will find.

A result is imagined that scatters as much as is expected, and rated as a real one is
(`ratings.sets_of`). So the error that is foretold and the one that will be quoted are one formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from nnuelab.errors import UserError
from nnuelab.tournament import model, ratings, spread
from nnuelab.tournament.adjusted import LEVEL, critical
from nnuelab.tournament.spread import Estimate, Pooling

POWER = 0.8
DRAWS = 0.3  # fits the errors of the published tables, at 400 nodes a move (docs/ratings.md)
MOST_GAMES = 1_000_000  # of a pairing; more would play for years


@dataclass(frozen=True)
class Design:
    """A round robin of all nets of some feature sets.

    Attributes
    ----------
    sets : sequence of str
        The anchor among them.
    anchor : str
    seeds : int
        Nets of each set.
    games : float
        Of each pairing.
    draws : float
        Share of the games between equals that are drawn.
    """

    sets: Sequence[str]
    anchor: str
    seeds: int
    games: float
    draws: float = DRAWS


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


def covariance(meetings: np.ndarray, draws: float = DRAWS) -> np.ndarray:
    """Covariance of ratings, float64 [n, n], of players who are about equally strong.

    The points of a game have the variance (1 - d) / 4 with a share d of draws. At equality a rating
    point moves the expected points by b / 4 (`model.SLOPE`). So the ratings are a least-squares fit
    of the differences of pairings, each with the variance 4 (1 - d) / (b^2 games); its covariance
    is that times the inverse of the graph's Laplacian (David, *The Method of Paired Comparisons*,
    1988, 4.2 and 7). In a round robin of n players it is 4 (1 - d) / (b^2 games n) (I - 1/n).

    That the two games of an opening are alike, as nets of one kind play them, makes it smaller,
    differences in strength make it larger.

    Parameters
    ----------
    meetings : float64 [n, n]
        Games of each two players, symmetric, with a diagonal of 0.
    """
    laplacian = np.diag(meetings.sum(axis=0)) - meetings
    return np.linalg.pinv(laplacian) * 4 * (1 - draws) / model.SLOPE**2


def imagined(design: Design, training: float) -> model.Fit:
    """A result where all sets are equally strong, and their nets scatter as is expected.

    ``training`` is the variance of trainings, squared rating points.
    """
    nets = len(design.sets) * design.seeds
    games = covariance(design.games * (1 - np.eye(nets)), design.draws)
    scatter = np.linspace(-1.0, 1.0, design.seeds)
    if design.seeds > 1:
        scatter *= np.sqrt((training + games[0, 0] - games[0, 1]) / scatter.var(ddof=1))
    players = [f"{name}#{seed}" for name in design.sets for seed in range(1, design.seeds + 1)]
    return model.Fit(players, np.tile(scatter, len(design.sets)), games, 0.0, 0.0)


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

    Raises
    ------
    UserError
        Where no error could be quoted: of one seed, when no other experiment of this kind tells how
        far trainings scatter.
    """
    rated = ratings.sets_of(imagined(design, training), design.anchor, pooling)
    rows = [row for name, row in rated.items() if name != design.anchor]
    errors = [(row.elo_error, row) for row in rows if row.elo_error is not None]
    if len(errors) < len(rows):
        raise UserError(
            "with one seed, and no other experiment of this kind, no error of training can be "
            "told; plan two seeds or more"
        )
    error, row = max(errors, key=lambda pair: pair[0])
    from scipy.stats import t

    freedom = float(row.degrees_of_freedom or np.inf)
    deviation = error / float(t.ppf(0.975, freedom))
    grouped = len({pooling.groups.get(name, "") for name in design.sets}) > 1
    adjusted = (
        float(t.isf(LEVEL / 2 / len(rows), freedom)) if grouped else critical(len(rows), freedom)
    )
    return Forecast(
        row.elo_error_games,
        error,
        deviation * _found_in_80_percent(adjusted, freedom),
        deviation * _found_in_80_percent(float(t.isf(LEVEL / 2, freedom)), freedom),
    )


def _found_in_80_percent(bound: float, freedom: float) -> float:
    """The difference, in standard errors, whose statistic is beyond +-bound with `POWER`.

    The statistic is noncentral t.
    """
    from scipy.optimize import brentq
    from scipy.stats import nct

    def excess(difference: float) -> float:
        return float(nct.sf(bound, freedom, difference) - POWER)

    return float(brentq(excess, 0.0, 3 * bound + 3, xtol=1e-4))


def games_needed(
    design: Design, pooling: Pooling, training: float, detect: float, *, primary: bool = False
) -> int | None:
    """Games of a pairing, an even number, with which a difference of ``detect`` will be found.

    None where no number of games suffices: then trainings scatter too much for so few seeds.
    """
    from scipy.optimize import brentq

    def excess(log: float) -> float:
        found = forecast(replace(design, games=float(np.exp(log))), pooling, training)
        return (found.detects_primary if primary else found.detects) - detect

    low, high = np.log([2.0, MOST_GAMES])
    if excess(high) > 0:
        return None
    log = brentq(excess, low, high, xtol=0.01) if excess(low) > 0 else low
    return 2 * int(np.ceil(np.exp(log) / 2 - 1e-6))
