"""Ratings of players and of feature sets, out of PGN files.

Ratings are Ordo's points (202 points = 76 %; x 0.9913 = logistic Elo). They come from the program
`ordo` where it is installed, otherwise from the same model fitted here; errors always come from the
sandwich covariance clustered by opening pair, so that a table doesn't depend on what is installed.
"""

from __future__ import annotations

import csv
import difflib
import io
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from nnuelab.errors import UserError
from nnuelab.tournament import model, ordo
from nnuelab.tournament.headers import Results, read_results

COLUMNS = ("name", "elo", "error", "points", "games", "score")
SEED_MARK = "#"  # players of an experiment are called FEATURE_SET#SEED


@dataclass(frozen=True)
class Rating:
    """One row of the table.

    Attributes
    ----------
    name : str
    elo : float
        Rating points relative to the mean of all players, or to the anchor.
    error : float
        1.96 standard deviations of ``elo``, from the games alone.
    points, games : float, int
        Points scored in how many games.
    score : float
        ``points / games``, 0..1.
    """

    name: str
    elo: float
    error: float
    points: float
    games: int
    score: float


@dataclass(frozen=True)
class SetRating:
    """The strength of a feature set relative to the anchor set, with its two kinds of error.

    Attributes
    ----------
    feature_set : str
    seeds : int
        Nets of this set that played.
    elo : float
        Mean rating of the set's nets less that of the anchor's, rating points.
    elo_error_games : float
        Half the 95 % interval, from the games alone: these very nets, played again.
    elo_error_seeds : float or None
        Half the 95 % interval from the spread of equal trainings; None where a seed stands alone.
    """

    feature_set: str
    seeds: int
    elo: float
    elo_error_games: float
    elo_error_seeds: float | None


def fit(results: Results) -> model.Fit:
    """The model's fit, with the ratings of `ordo` in it where that is installed and answers."""
    fitted = model.fit(results)
    if ordo.installed():
        try:
            return replace(fitted, elo=ordo.ratings(results))
        except ordo.OrdoError as error:
            print(f"ordo: {error}; rated by statsmodels instead", file=sys.stderr)
    return fitted


def rate(pgn: Path | str | Iterable[Path | str], anchor: str | None = None) -> list[Rating]:
    """Rates every player of one or more PGN files.

    Parameters
    ----------
    pgn : path or iterable of paths
        Plain or compressed; only the headers are read.
    anchor : str, optional
        The player whose rating is 0; without it the mean of all players is 0.

    Returns
    -------
    list of Rating
        By ``elo``, descending.

    Raises
    ------
    UserError
        No finished game, a foreign result, an unknown anchor, a player who won or lost every game,
        groups of players that never met.
    """
    results = read_results([pgn] if isinstance(pgn, str | Path) else pgn)
    if anchor is not None and anchor not in results.players:
        raise UserError(
            f'no player "{anchor}" to anchor on{_nearest(anchor, results.players)}; '
            f"the players are {', '.join(results.players)}"
        )
    fitted = fit(results)
    n = len(results.players)
    weights = np.full(n, 1 / n)
    if anchor is not None:
        weights = np.zeros(n)
        weights[results.players.index(anchor)] = 1
    elo, error = fitted.relative_to(weights)
    games = np.bincount(results.white, minlength=n) + np.bincount(results.black, minlength=n)
    points = np.bincount(results.white, results.points, n)
    points += np.bincount(results.black, 1 - results.points, n)
    rows = [
        Rating(name, float(e), float(d), float(p), int(g), float(p / g))
        for name, e, d, p, g in zip(results.players, elo, error, points, games, strict=True)
    ]
    if fitted.white_advantage_error:
        print(
            f"white advantage {fitted.white_advantage:+.2f} +- {fitted.white_advantage_error:.2f}, "
            f"draws {np.mean(results.points == 0.5):.1%} of {len(results):,} games in "
            f"{len(np.unique(results.cluster)):,} opening pairs",
            file=sys.stderr,
        )
    return sorted(rows, key=lambda row: (-row.elo, row.name))


def to_csv(rows: Iterable[Rating]) -> str:
    """The table as CSV: name,elo,error,points,games,score; score is points / games."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        # Adding 0.0 turns a rounded -0.0 into 0.0.
        elo = round(row.elo, 2) + 0.0
        writer.writerow(
            [
                row.name,
                f"{elo:.2f}",
                f"{row.error:.2f}",
                f"{row.points:.1f}",
                row.games,
                f"{row.score:.4f}",
            ]
        )
    return text.getvalue()


def feature_sets(
    pgn: Path | str | Iterable[Path | str], anchor: str = "ALL"
) -> dict[str, SetRating]:
    """Rates feature sets whose nets play under the names ``FEATURE_SET#SEED``.

    With r the ratings of the nets, V their joint covariance (clustered by opening pair), and c the
    contrast (mean of the set's nets - mean of the anchor's nets):

    * elo = c.r, and elo_error_games = 1.96 sqrt(c' V c): the covariance between the two sets, which
      share opponents, is in it;
    * elo_error_seeds = t sqrt(s2 (1/n + 1/n0)), with n and n0 the number of seeds of the set and of
      the anchor, s2 = sum over all sets of sum (r - mean of its set)^2 / df the pooled variance of
      equal trainings, df = sum (n - 1), and t the 97.5 % point of Student's t with df degrees. Nets
      of all sets are taken to vary equally. The ratings spread by their games too, so this interval
      is that of new trainings *and* new games; it doesn't have to be added to the other one.

    Parameters
    ----------
    pgn : path or iterable of paths
    anchor : str
        The feature set whose elo is 0, with errors of 0.

    Returns
    -------
    dict of str to SetRating
        By elo, descending.

    Raises
    ------
    UserError
        As `rate`, and for an anchor set without a player.
    """
    results = read_results([pgn] if isinstance(pgn, str | Path) else pgn)
    members: dict[str, list[int]] = {}
    for i, player in enumerate(results.players):
        name, mark, _ = player.rpartition(SEED_MARK)
        members.setdefault(name if mark else player, []).append(i)
    if anchor not in members:
        raise UserError(
            f'no net of the anchor set "{anchor}" played{_nearest(anchor, members)}; '
            f"the sets are {', '.join(members)}"
        )
    fitted = fit(results)
    freedom = sum(len(nets) - 1 for nets in members.values())
    scatter = sum(
        ((fitted.elo[nets] - fitted.elo[nets].mean()) ** 2).sum() for nets in members.values()
    )
    rows = []
    for name, nets in members.items():
        contrast = np.zeros((1, len(results.players)))
        contrast[0, nets] += 1 / len(nets)
        contrast[0, members[anchor]] -= 1 / len(members[anchor])
        rows.append(
            SetRating(
                name,
                len(nets),
                float((contrast @ fitted.elo)[0]),
                float(model.error95(contrast, fitted.covariance)[0]),
                _seed_error(name, anchor, members, float(scatter), freedom),
            )
        )
    return {row.feature_set: row for row in sorted(rows, key=lambda r: (-r.elo, r.feature_set))}


def _seed_error(
    name: str, anchor: str, members: dict[str, list[int]], scatter: float, freedom: int
) -> float | None:
    from scipy.stats import t

    n, n0 = len(members[name]), len(members[anchor])
    if min(n, n0) < 2:
        return None
    if name == anchor:
        return 0.0
    return float(t.ppf(0.975, freedom) * np.sqrt(scatter / freedom * (1 / n + 1 / n0)))


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), 1)
    return f' (did you mean "{near[0]}"?)' if near else ""
