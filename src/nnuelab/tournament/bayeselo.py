"""The table of a match in the form in which BayesElo prints it.

::

    Rank Name        Elo    +    - games score oppo. draws
       1 tuned        11    5    5 14117   53%   -11   31%
       2 untuned     -11    5    5 14117   47%    11   31%

Layout: R. Coulom, BayesElo (https://www.remi-coulom.fr/Bayesian-Elo). The numbers are those of
:mod:`nnuelab.tournament.ratings`, on the logistic scale of 400, and not BayesElo's, whose prior and
model of draws pull players together.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from nnuelab.tournament import model
from nnuelab.tournament.headers import Results

ELO = float(model.SLOPE * 400 / np.log(10))
"""Elo of a rating point: 0.9913."""


@dataclass(frozen=True)
class Row:
    """A player of the table.

    Attributes
    ----------
    name : str
    elo : float
        Relative to the mean of all players.
    plus, minus : float
        The 95 % interval of ``elo`` less ``opponents``: as BayesElo has it, the ratings of the
        opponents are taken as known. With two players it is that of their difference.
    games : int
    score : float
        Points per game, 0..1.
    opponents : float
        Mean Elo of the opponents, each as often as it was met.
    draws : float
        Share of the games.
    """

    name: str
    elo: float
    plus: float
    minus: float
    games: int
    score: float
    opponents: float
    draws: float


def rows(results: Results, fitted: model.Fit) -> list[Row]:
    """The players by Elo, descending."""
    n = len(results.players)
    met = np.zeros((n, n))
    np.add.at(met, (results.white, results.black), 1)
    met += met.T
    games = met.sum(axis=1)
    points = np.bincount(results.white, results.points, n)
    points += np.bincount(results.black, 1 - results.points, n)
    drawn = (results.points == 0.5).astype(float)
    draws = np.bincount(results.white, drawn, n) + np.bincount(results.black, drawn, n)
    # What a player is rated against: each of its opponents, as often as it was met.
    shares = met / games[:, None]
    errors = ELO * model.error95(np.eye(n) - shares, fitted.covariance)
    elo = ELO * (fitted.elo - fitted.elo.mean())
    columns = (elo, errors, errors, games, points / games, shares @ elo, draws / games)
    found = [
        Row(name, e, plus, minus, int(number), score, opponents, draw)
        for name, (e, plus, minus, number, score, opponents, draw) in zip(
            results.players, np.stack(columns, axis=1).tolist(), strict=True
        )
    ]
    return sorted(found, key=lambda row: (-row.elo, row.name))


def to_text(table: Iterable[Row]) -> str:
    """The table, whole numbers right-aligned below their titles."""
    table = list(table)
    width = max(map(len, ("Name", *(row.name for row in table))))
    lines = [f"Rank {'Name':{width}}   Elo    +    - games score oppo. draws"]
    for rank, row in enumerate(table, 1):
        # z: no -0 of a rounded -0.4.
        numbers = f"{row.elo:z6.0f}{row.plus:5.0f}{row.minus:5.0f}{row.games:6d}"
        shares = f"{row.score:6.0%}{row.opponents:z6.0f}{row.draws:6.0%}"
        lines.append(f"{rank:4d} {row.name:{width}}{numbers}{shares}")
    return "\n".join(lines) + "\n"
