"""Ordo's rating model: can it be fitted, its maximum likelihood, and the errors of what it says.

Expected score of White: p = 1 / (1 + exp(-b (Rw + w - Rb))), b = ln(0.76/0.24)/202, so that 202
points are 76 %; a draw is half a point; w is the advantage of the white pieces (M. Ballicora,
Ordo, https://github.com/michiguel/Ordo). Such points x 0.9913 are Elo on the logistic scale of 400.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass

import numpy as np

from nnuelab.errors import UserError
from nnuelab.intervals import SIGNIFICANCE
from nnuelab.tournament.headers import Results

SLOPE = np.log(0.76 / 0.24) / 202.0  # per rating point
NAMES_SHOWN = 6  # players of a group named in a message


@dataclass(frozen=True)
class Fit:
    """Ratings with their joint covariance.

    Attributes
    ----------
    players : list of str
    elo : float64 [n]
        Rating points; their mean is 0.
    covariance : float64 [n, n]
        Of ``elo``, each relative to the mean: sandwich estimate, clustered by opening.
    white_advantage, white_advantage_error : float
        w and 1.96 of its standard deviations, rating points; both 0 where it can't be told.
    """

    players: list[str]
    elo: np.ndarray
    covariance: np.ndarray
    white_advantage: float
    white_advantage_error: float

    def relative_to(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Ratings [n] less the weighted mean of some of them, and 1.96 standard deviations [n]."""
        difference = np.eye(len(self.elo)) - np.asarray(weights, float)
        return difference @ self.elo, error95(difference, self.covariance)


def error95(contrasts: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """1.96 standard deviations of ``contrasts`` [m, n] @ ratings: float64 [m]."""
    variance = np.einsum("mi,ij,mj->m", contrasts, covariance, contrasts)
    return SIGNIFICANCE * np.sqrt(np.maximum(variance, 0.0))


def check(results: Results) -> None:
    """Raises UserError unless every rating difference is finite and can be told.

    Each group of players must have taken points from the rest and given points to it (Ford 1957);
    the message names the player without a loss or a win, or the groups.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(results.players)
    white, black, points = results.white, results.black, results.points
    # An edge from each loser (or drawer) to whom he gave points.
    sources = np.concatenate([black[points > 0], white[points < 1]])
    targets = np.concatenate([white[points > 0], black[points < 1]])
    gave = coo_array((np.ones(len(sources)), (sources, targets)), shape=(n, n)).tocsr()

    groups, label = connected_components(gave, directed=False)
    if groups > 1:
        raise UserError(
            f"the games fall into {groups} groups of players that never met, so no rating can tell "
            f"them apart: {_groups(results.players, label, groups)}; let them play each other, or "
            "rate each group alone"
        )
    played = np.bincount(white, minlength=n) + np.bincount(black, minlength=n)
    scored = np.bincount(white, points, n) + np.bincount(black, 1 - points, n)
    said = []
    for outcome, who in (("lost", scored == 0), ("won", scored == played)):
        for player in np.flatnonzero(who):
            said.append(f"{results.players[player]} {outcome} every game ({played[player]})")
    if said:
        raise UserError(
            f"{'; '.join(said)}: such a rating is infinite; leave the player out or play more games"
        )
    groups, label = connected_components(gave, directed=True, connection="strong")
    if groups > 1:
        raise UserError(
            f"the players fall into {groups} groups, and one group won every game against another, "
            f"so their distance is infinite: {_groups(results.players, label, groups)}; rate each "
            "group alone or play more games"
        )


def _groups(players: list[str], label: np.ndarray, groups: int) -> str:
    said = []
    for group in range(groups):
        names = [players[i] for i in np.flatnonzero(label == group)]
        more = f", ... ({len(names)})" if len(names) > NAMES_SHOWN else ""
        said.append(f"{{{', '.join(names[:NAMES_SHOWN])}{more}}}")
    return " ".join(said)


def fit(results: Results) -> Fit:
    """Maximum likelihood of the model, by statsmodels' binomial GLM.

    Raises
    ------
    UserError
        What `check` raises.
    """
    import pandas as pd
    from statsmodels.genmod.families import Binomial
    from statsmodels.genmod.generalized_linear_model import GLM
    from statsmodels.tools.sm_exceptions import PerfectSeparationWarning

    check(results)
    n, games = len(results.players), len(results)
    design = np.zeros((games, n + 1))
    rows = np.arange(games)
    design[rows, results.white] = SLOPE
    design[rows, results.black] = -SLOPE
    design[:, n] = SLOPE
    free = design[:, 1:]  # the first player is 0 until the mean is known
    told = bool(np.linalg.matrix_rank(free.T @ free) == n) and not _colour_decides(results)
    if not told:
        print("White's advantage can't be told from these games: taken as 0", file=sys.stderr)
        free = free[:, :-1]
    clusters = pd.factorize(results.cluster)[0]
    kind = (
        {"cov_type": "cluster", "cov_kwds": {"groups": clusters}}
        if clusters.max() > 0
        else {"cov_type": "HC1"}
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerfectSeparationWarning)
        outcome = GLM(results.points, free, family=Binomial()).fit(tol=1e-12, maxiter=200, **kind)
    covariance = np.asarray(outcome.cov_params())
    centre = np.zeros((n, n - 1))
    centre[1:] = np.eye(n - 1)
    centre -= centre.mean(axis=0)
    advantage = float(outcome.params[-1]) if told else 0.0
    deviation = float(np.sqrt(max(covariance[-1, -1], 0.0))) if told else 0.0
    return Fit(
        results.players,
        centre @ outcome.params[: n - 1],
        centre @ covariance[: n - 1, : n - 1] @ centre.T,
        advantage,
        SIGNIFICANCE * deviation,
    )


def _colour_decides(results: Results) -> bool:
    """Whether an infinite advantage of one colour explains the results best.

    That is so when some direction of (ratings, w) never makes a result less likely and makes one
    more likely (Albert & Anderson 1984); a linear program looks for it among the pairings.
    """
    from scipy.optimize import linprog

    n = len(results.players)
    pairing = results.white.astype(np.int64) * n + results.black
    unique, inverse = np.unique(pairing, return_inverse=True)
    mean = np.bincount(inverse, results.points) / np.bincount(inverse)
    rows = np.zeros((len(unique), n + 1))
    rows[np.arange(len(unique)), unique // n] = 1
    rows[np.arange(len(unique)), unique % n] = -1
    rows[:, n] = 1
    one_sided = (mean == 0) | (mean == 1)
    if not one_sided.any():
        return False
    gains = rows[one_sided] * np.where(mean[one_sided] == 1, 1, -1)[:, None]
    mixed = rows[~one_sided]
    found = linprog(
        -gains.sum(axis=0),
        A_ub=-gains,
        b_ub=np.zeros(len(gains)),
        A_eq=mixed if len(mixed) else None,
        b_eq=np.zeros(len(mixed)) if len(mixed) else None,
        bounds=[(-1, 1)] * (n + 1),
    )
    return bool(found.status == 0 and -found.fun > 1e-6)
