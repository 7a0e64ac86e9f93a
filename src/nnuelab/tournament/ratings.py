"""Ratings of players and of feature sets, from PGN files.

Ratings are Ordo's points (202 points = 76 %; x 0.9913 = logistic Elo). They come from the program
`ordo` where it is installed, otherwise from the same model fitted here; errors always come from the
sandwich covariance clustered by opening, so that a table doesn't depend on what is installed.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError, nearest
from nnuelab.intervals import SIGNIFICANCE
from nnuelab.names import NetName
from nnuelab.tournament import model, ordo
from nnuelab.tournament.adjusted import dunnett, holm
from nnuelab.tournament.headers import Results, read_results
from nnuelab.tournament.spread import Estimate, Pooling, Spread, again, pooled

COLUMNS = ("name", "elo", "error", "points", "games", "score")
Limit = TypeVar("Limit", bound=Hashable)
FEW = 30  # openings; with ten, errors of 95 % hold in 89 %


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
    """The strength of a feature set relative to the anchor set, with its errors.

    Every error is half a 95 % interval, in rating points. What concerns training is None where
    nothing is known of it: a seed stands alone, and no other experiment tells.

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
        From the spread of equal trainings in these games alone, which spreads by the games, too.
    elo_error : float or None
        The one to quote: other nets of the same sets, trained and played again.
    degrees_of_freedom : float or None
        Of ``elo_error``.
    p : float or None
        That so large a difference comes by chance, two-sided; None of the anchor.
    p_adjusted : float or None
        That the largest of as many comparisons with the anchor does.
    """

    feature_set: str
    seeds: int
    elo: float
    elo_error_games: float
    elo_error_seeds: float | None
    elo_error: float | None = None
    degrees_of_freedom: float | None = None
    p: float | None = None
    p_adjusted: float | None = None


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
    pgn: Path | str | Iterable[Path | str],
    anchor: str | None = None,
    unusable: Unusable | None = None,
) -> tuple[Results, model.Fit]:
    """Games and their fit, for all that `rate` and `details` make of it; raises what `rate` does.

    The advantage of White and the share of draws are told on stderr.
    """
    results = read_results([pgn] if isinstance(pgn, str | Path) else pgn, unusable)
    if anchor is not None and anchor not in results.players:
        raise UserError(
            f'no player "{anchor}" to anchor on{nearest(anchor, results.players)}; '
            f"the players are {', '.join(results.players)}"
        )
    fitted = fit(results)
    openings = len(np.unique(results.cluster))
    if fitted.white_advantage_error:
        print(
            f"white advantage {fitted.white_advantage:+.2f} +- {fitted.white_advantage_error:.2f}, "
            f"draws {np.mean(results.points == 0.5):.1%} of {len(results):,} games from "
            f"{openings:,} openings",
            file=sys.stderr,
        )
    if openings < FEW:
        print(f"{openings} openings are few: the errors come out too small", file=sys.stderr)
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
    games: Mapping[Limit, Path],
    anchor: str = "ALL",
    pooling: Mapping[Limit, Pooling] | None = None,
) -> dict[Limit, dict[str, SetRating]]:
    """Rates feature sets whose nets, ``FEATURE_SET#SEED``, play at some limits; see `sets_of`.

    Games of the same kind tell together how far trainings scatter: their nets are the same.

    Raises
    ------
    UserError
        As `rate`, and for an anchor set without a player.
    """
    known = {limit: (pooling or {}).get(limit) or Pooling() for limit in games}
    fits = {limit: fit(read_results([played])) for limit, played in games.items()}
    rows = {limit: spreads(fits[limit], known[limit]) for limit in games}
    found = {}
    for limit, own in known.items():
        told = replace(own, again=again(rows, limit))
        found[limit] = sets_of(fits[limit], anchor, told)
    return found


def sets_of(fitted: model.Fit, anchor: str, pooling: Pooling | None = None) -> dict[str, SetRating]:
    """Rates feature sets from the ratings of their nets, a random effect within each set.

    With r the ratings of the nets, V their joint covariance (clustered by opening), c the
    contrast (mean of the set's n nets - mean of the anchor's n0), and of each group of sets that
    scatter alike s2 = sum of (r - mean of its set)^2 / df, df = sum of (n - 1), and w, the games'
    part of s2 by the trace of V within sets:

    * elo = c.r, and elo_error_games = 1.96 sqrt(c' V c): the covariance between the two sets, which
      share opponents, is in it;
    * elo_error_seeds = t(df) sqrt(s2 (1/n + 1/n0)). The ratings spread by their games, too, so in a
      round robin this covers new trainings *and* games, as far as these few nets tell;
    * elo_error = t(df) sqrt(tau2 (1/n + 1/n0) + c' V c) takes the two apart and together again,
      each once. tau2 >= 0, the variance of trainings alone, is estimated from this experiment and
      others of its kind together (`spread.estimate`). The degrees of freedom are Satterthwaite's
      (1946), 2 v^2 / var(v), the games' own variance being taken as known. So the interval is
      never that of the games alone: an s2 that came out small leaves doubt about tau2.
    * Where the groups of set and anchor differ, their variances stand apart: s2/n + s2_0/n0.
    * p_adjusted is Dunnett's, stepping down, where all sets scatter alike; otherwise Holm's.

    Parameters
    ----------
    fitted : model.Fit
    anchor : str
        The feature set whose elo is 0, with errors of 0.
    pooling : Pooling, optional
        Groups, and what other experiments know. Without it all sets of these games scatter alike.

    Returns
    -------
    dict of str to SetRating
        By elo, descending.

    Raises
    ------
    UserError
        For an anchor set without a player.
    """
    pooling = pooling or Pooling()
    members = members_of(fitted)
    check_played("anchor set", anchor, members)
    own = {row.group: row for row in spreads(fitted, pooling)}
    trainings = {
        group: pooled(pooling.with_again(row), pooling.others() if group == "" else ())
        for group, row in own.items()
    }
    group_of = {name: pooling.groups.get(name, "") for name in members}
    weights = {name: {name: 1.0, anchor: -1.0} if name != anchor else {} for name in members}
    contrasts = {name: contrast_of(weights[name], members) for name in members}
    rows = {}
    for name, nets in members.items():
        row, games = by_games(fitted, name, len(nets), contrasts[name])
        if name == anchor:
            some = bool(trainings[group_of[name]].information)
            alone = len(nets) < 2
            row = replace(
                row,
                elo_error_seeds=None if alone else 0.0,
                elo_error=0.0 if some else None,
                degrees_of_freedom=np.inf if some else None,
            )
        else:
            shares = shares_of(weights[name], members, group_of)
            if min(len(nets), len(members[anchor])) > 1:
                row = replace(row, elo_error_seeds=_seeds_alone(shares, own))
            row = quoted(row, games, shares, trainings)
        rows[name] = row
    rows = _adjusted(rows, anchor, contrasts, fitted.covariance, trainings, group_of)
    return {row.feature_set: row for row in sorted(rows.values(), key=_by_elo)}


def spreads(fitted: model.Fit, pooling: Pooling) -> list[Spread]:
    """The spread of equal trainings in these games, by group of sets."""
    found = []
    members = members_of(fitted)
    for group in dict.fromkeys(pooling.groups.get(name, "") for name in members):
        scatter = games = 0.0
        freedom = 0
        for name, nets in members.items():
            if pooling.groups.get(name, "") == group:
                within = np.eye(len(nets)) - 1 / len(nets)
                scatter += float((fitted.elo[nets] @ within) @ fitted.elo[nets])
                games += float(np.trace(within @ fitted.covariance[np.ix_(nets, nets)]))
                freedom += len(nets) - 1
        parts = (scatter / max(freedom, 1), games / max(freedom, 1), freedom)
        found.append(Spread(pooling.experiment, pooling.kind, group, *parts))
    return found


def members_of(fitted: model.Fit) -> dict[str, list[int]]:
    """The nets of each set, by their numbers among the players."""
    found: dict[str, list[int]] = {}
    for i, player in enumerate(fitted.players):
        found.setdefault(NetName.parse(player).entry, []).append(i)
    return found


def check_played(what: str, name: str, members: Mapping[str, list[int]]) -> None:
    """Raises UserError when no net of a set has played."""
    if name not in members:
        raise UserError(
            f'no net of the {what} "{name}" played{nearest(name, members)}; '
            f"the sets are {', '.join(members)}"
        )


def contrast_of(weights: Mapping[str, float], members: Mapping[str, list[int]]) -> np.ndarray:
    """What each net counts in a weighted sum of sets, each of which is the mean of its nets.

    Returns
    -------
    float64 [players]
    """
    found = np.zeros(sum(map(len, members.values())))
    for name, weight in weights.items():
        found[members[name]] += weight / len(members[name])
    return found


def shares_of(
    weights: Mapping[str, float],
    members: Mapping[str, list[int]],
    group_of: Mapping[str, str],
) -> dict[str, float]:
    """What the variance of each group of sets that scatter alike counts in such a sum."""
    found: dict[str, float] = {}
    for name, weight in weights.items():
        group = group_of.get(name, "")
        found[group] = found.get(group, 0.0) + weight**2 / len(members[name])
    return found


def by_games(
    fitted: model.Fit, name: str, seeds: int, contrast: np.ndarray
) -> tuple[SetRating, float]:
    """A contrast of ratings with its error by the games alone, and their variance."""
    games = float(contrast @ fitted.covariance @ contrast)
    error = float(SIGNIFICANCE * np.sqrt(max(games, 0)))
    return SetRating(name, seeds, float(contrast @ fitted.elo), error, None), games


def _by_elo(row: SetRating) -> tuple[float, str]:
    return -row.elo, row.feature_set


def _seeds_alone(shares: Mapping[str, float], own: Mapping[str, Spread]) -> float | None:
    """t(df) sqrt(s2 (1/n + 1/n0)); of two groups both variances, with Satterthwaite's df."""
    from scipy.stats import t

    if not all(own[group].freedom for group in shares):
        return None
    parts = {group: share * own[group].variance for group, share in shares.items()}
    variance = sum(parts.values())
    if not variance:
        return 0.0
    freedom = variance**2 / sum(part**2 / own[group].freedom for group, part in parts.items())
    return float(t.ppf(0.975, freedom) * np.sqrt(variance))


def quoted(
    row: SetRating,
    games: float,
    shares: Mapping[str, float],
    trainings: Mapping[str, Estimate],
) -> SetRating:
    """A row with the error to quote, see `sets_of`.

    Parameters
    ----------
    row : SetRating
    games : float
        Variance of its difference from the anchor by the games.
    shares : mapping of str to float
        What the variance of each group counts in that difference: 1/n of the set + 1/n of the
        anchor.
    trainings : mapping of str to Estimate
        By group.
    """
    from scipy.stats import t

    if not all(trainings[group].information for group in shares):
        return row
    variance = games + sum(share * trainings[group].variance for group, share in shares.items())
    doubt = sum(share**2 / trainings[group].information for group, share in shares.items())
    # Where the games of the two sets leave less doubt than those within sets, it would go to 0.
    freedom = max(2 * variance**2 / doubt, 1.0)
    return replace(
        row,
        elo_error=float(t.ppf(0.975, freedom) * np.sqrt(variance)),
        degrees_of_freedom=float(freedom),
        p=float(2 * t.sf(abs(row.elo) / np.sqrt(variance), freedom)),
    )


def _adjusted(
    rows: dict[str, SetRating],
    anchor: str,
    contrasts: Mapping[str, np.ndarray],
    covariance: np.ndarray,
    trainings: Mapping[str, Estimate],
    group_of: Mapping[str, str],
) -> dict[str, SetRating]:
    """Rows with p-values for all comparisons with the anchor together."""
    names = [name for name, row in rows.items() if row.p is not None]
    if not names:
        return rows
    if len({group_of[name] for name in (*names, anchor)}) > 1:
        p = holm(np.array([rows[name].p for name in names]))
    else:
        tau2 = trainings[group_of[anchor]].variance
        of = np.array([contrasts[name] for name in names])
        both = of @ (covariance + tau2 * np.eye(covariance.shape[0])) @ of.T
        error = np.sqrt(np.diag(both))
        p = dunnett(
            np.array([rows[name].elo for name in names]) / error,
            both / np.outer(error, error),
            min(rows[name].degrees_of_freedom or np.inf for name in names),
        )
    adjusted = {
        name: replace(rows[name], p_adjusted=float(q)) for name, q in zip(names, p, strict=True)
    }
    return rows | adjusted
