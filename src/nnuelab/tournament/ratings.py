"""Ratings of players and of feature sets, from PGN files.

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
from nnuelab.intervals import SIGNIFICANCE
from nnuelab.names import NetName
from nnuelab.tournament import model, ordo
from nnuelab.tournament.headers import Results, read_results

COLUMNS = ("name", "elo", "error", "points", "games", "score")
FEW = 30  # opening pairs; with ten, errors of 95 % hold in 89 %


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

    Every error is half a 95 % interval, in rating points. Those that concern training are None
    where a seed stands alone.

    Attributes
    ----------
    feature_set : str
    seeds : int
        Nets of this set that played.
    elo : float
        Mean rating of the set's nets less that of the anchor's, rating points. No net is chosen.
    elo_error_games : float
        From the games alone: these very nets, played again.
    elo_error_seeds : float or None
        From the spread of equal trainings: other nets of the same sets, trained and played again.
    elo_error : float or None
        Both combined, each by its own variance: never less than that of the games.
    degrees_of_freedom : float or None
        Of the combination; infinite where the games explain all of the spread.
    """

    feature_set: str
    seeds: int
    elo: float
    elo_error_games: float
    elo_error_seeds: float | None
    elo_error: float | None = None
    degrees_of_freedom: float | None = None


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
    return table(*rated(pgn, anchor), anchor)


def rated(
    pgn: Path | str | Iterable[Path | str], anchor: str | None = None
) -> tuple[Results, model.Fit]:
    """Games and their fit, for all that `rate` and `details` make of it; raises what `rate` does.

    The advantage of White and the share of draws are told on stderr.
    """
    results = read_results([pgn] if isinstance(pgn, str | Path) else pgn)
    if anchor is not None and anchor not in results.players:
        raise UserError(
            f'no player "{anchor}" to anchor on{_nearest(anchor, results.players)}; '
            f"the players are {', '.join(results.players)}"
        )
    fitted = fit(results)
    pairs = len(np.unique(results.cluster))
    if fitted.white_advantage_error:
        print(
            f"white advantage {fitted.white_advantage:+.2f} +- {fitted.white_advantage_error:.2f}, "
            f"draws {np.mean(results.points == 0.5):.1%} of {len(results):,} games in "
            f"{pairs:,} opening pairs",
            file=sys.stderr,
        )
    if pairs < FEW:
        print(f"{pairs} opening pairs are few: the errors come out too small", file=sys.stderr)
    return results, fitted


def table(results: Results, fitted: model.Fit, anchor: str | None) -> list[Rating]:
    """The rows of `rate`, out of a fit."""
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
    """Rates feature sets whose nets play under the names ``FEATURE_SET#SEED``; see `sets_of`.

    Raises
    ------
    UserError
        As `rate`, and for an anchor set without a player.
    """
    return sets_of(fit(read_results([pgn] if isinstance(pgn, str | Path) else pgn)), anchor)


def sets_of(fitted: model.Fit, anchor: str) -> dict[str, SetRating]:
    """Rates feature sets from the ratings of their nets, a random effect within each set.

    With r the ratings of the nets, V their joint covariance (clustered by opening pair), c the
    contrast (mean of the set's n nets - mean of the anchor's n0), s2 = sum over all sets of
    sum (r - mean of its set)^2 / df the pooled variance of equal trainings, df = sum (n - 1), and
    t the 97.5 % point of Student's t:

    * elo = c.r, and elo_error_games = 1.96 sqrt(c' V c): the covariance between the two sets, which
      share opponents, is in it;
    * elo_error_seeds = t(df) sqrt(s2 (1/n + 1/n0)). Nets of all sets are taken to vary equally. The
      ratings spread by their games, too, so in a round robin this covers new trainings *and* games;
    * elo_error takes the two apart and together again, for any kind of tournament, and where s2 has
      come out small by chance: of s2, w = sum over all sets of the trace of V within them / df is
      of the games; tau2 = max(0, s2 - w) is the trainings' own; the variance is
      tau2 (1/n + 1/n0) + c' V c, its degrees of freedom are Satterthwaite's (1946), who gives
      (variance)^2 / ((s2 (1/n + 1/n0))^2 / df), the games' own being taken as known.

    Parameters
    ----------
    fitted : model.Fit
    anchor : str
        The feature set whose elo is 0, with errors of 0.

    Returns
    -------
    dict of str to SetRating
        By elo, descending.

    Raises
    ------
    UserError
        For an anchor set without a player.
    """
    members: dict[str, list[int]] = {}
    for i, player in enumerate(fitted.players):
        members.setdefault(NetName.parse(player).entry, []).append(i)
    if anchor not in members:
        raise UserError(
            f'no net of the anchor set "{anchor}" played{_nearest(anchor, members)}; '
            f"the sets are {', '.join(members)}"
        )
    spread = _spread(fitted, members.values())
    rows = []
    for name, nets in members.items():
        contrast = np.zeros((1, len(fitted.players)))
        contrast[0, nets] += 1 / len(nets)
        contrast[0, members[anchor]] -= 1 / len(members[anchor])
        games = float(model.error95(contrast, fitted.covariance)[0])
        share = 1 / len(nets) + 1 / len(members[anchor])
        alone = min(len(nets), len(members[anchor])) < 2
        if name == anchor:
            errors = (None, None, None) if alone else (0.0, 0.0, float("inf"))
        else:
            errors = (None, None, None) if alone else spread.errors(games, share)
        rows.append(SetRating(name, len(nets), float((contrast @ fitted.elo)[0]), games, *errors))
    return {row.feature_set: row for row in sorted(rows, key=lambda r: (-r.elo, r.feature_set))}


@dataclass(frozen=True)
class _Spread:
    """Variance of the ratings within sets, with its degrees of freedom, and the games' part of it.

    All in squared rating points; `sets_of` says what is what.
    """

    s2: float
    games: float
    freedom: int

    def errors(self, games_error: float, share: float) -> tuple[float, float, float]:
        """Error of the seeds, of both, and degrees of freedom of the latter."""
        from scipy.stats import t

        seeds = float(t.ppf(0.975, self.freedom) * np.sqrt(self.s2 * share))
        if self.s2 <= self.games:
            return seeds, games_error, float("inf")
        variance = (self.s2 - self.games) * share + (games_error / SIGNIFICANCE) ** 2
        freedom = self.freedom * (variance / (self.s2 * share)) ** 2
        return seeds, float(t.ppf(0.975, freedom) * np.sqrt(variance)), freedom


def _spread(fitted: model.Fit, sets: Iterable[list[int]]) -> _Spread:
    scatter = games = 0.0
    freedom = 0
    for nets in sets:
        within = np.eye(len(nets)) - 1 / len(nets)
        scatter += float((fitted.elo[nets] @ within) @ fitted.elo[nets])
        games += float(np.trace(within @ fitted.covariance[np.ix_(nets, nets)]))
        freedom += len(nets) - 1
    return _Spread(scatter / max(freedom, 1), games / max(freedom, 1), freedom)


def _nearest(name: str, names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(names), 1)
    return f' (did you mean "{near[0]}"?)' if near else ""
