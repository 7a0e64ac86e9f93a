"""Statistics beside the ratings: head-to-head, likelihood of superiority, draw rates."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from nnuelab.intervals import SIGNIFICANCE
from nnuelab.tournament import model, ratings
from nnuelab.tournament.headers import Results
from nnuelab.tournament.spread import Pooling
from nnuelab.tournament.sprt import Tally


@dataclass(frozen=True)
class Meeting:
    """Two players' games against each other, from the first one's view.

    Attributes
    ----------
    player, opponent : str
    tally : Tally
        By opening pairs (pentanomial) where all games pair, otherwise by games (trinomial).
    wins, draws, losses : int
        Games.
    """

    player: str
    opponent: str
    tally: Tally
    wins: int
    draws: int
    losses: int

    def told(self) -> dict[str, Any]:
        """As JSON; Elo (logistic, 95 %) that is infinite or can't be told is null."""
        elo, error = self.tally.elo()
        games = self.wins + self.draws + self.losses
        return {
            "player": self.player,
            "opponent": self.opponent,
            "games": games,
            "wins": self.wins,
            "draws": self.draws,
            "losses": self.losses,
            "score": (self.wins + self.draws / 2) / games,
            "counts": self.tally.counts,
            "elo": _number(elo),
            "elo_error": _number(error),
        }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def head_to_head(results: Results) -> Iterator[Meeting]:
    """Each two players that met, in the order of ``results.players``."""
    n = len(results.players)
    first = np.minimum(results.white, results.black).astype(np.int64)
    second = np.maximum(results.white, results.black).astype(np.int64)
    points = np.where(results.white == first, results.points, 1 - results.points)
    pairing = first * n + second
    order = np.argsort(pairing, kind="stable")
    borders = np.flatnonzero(np.diff(pairing[order])) + 1
    for games in np.split(order, borders):
        losses, draws, wins = np.bincount(np.rint(2 * points[games]).astype(int), minlength=3)
        yield Meeting(
            results.players[first[games[0]]],
            results.players[second[games[0]]],
            Tally.of_games(points[games], results.cluster[games]),
            *(int(wins), int(draws), int(losses)),
        )


def superiority(fitted: model.Fit) -> np.ndarray:
    """Likelihood of superiority of one player over another (LOS; Ordo's CFS), float64 [n, n].

    Row over column: the probability that the rating difference is positive, normal with the
    variance of that difference in the joint covariance. 1/2 on the diagonal.
    """
    from scipy.stats import norm

    variance = np.diag(fitted.covariance)
    spread = np.sqrt(
        np.maximum(variance[:, None] + variance[None, :] - 2 * fitted.covariance, 1e-12)
    )
    return norm.cdf((fitted.elo[:, None] - fitted.elo[None, :]) / spread)


def draw_rate(expected: np.ndarray, equal: float) -> np.ndarray:
    """Share of draws [n] where White's expected score is ``expected`` [n].

    Davidson's model (1970), which is Ordo's: wins x losses / draws^2 is the same at every
    difference in strength, so one number says it, the share of draws ``equal`` between equals
    (0..1, both excluded).
    """
    ratio = ((1 - equal) / (2 * equal)) ** 2
    # d from (p - d/2) (1 - p - d/2) = ratio d^2, solved so that no small difference of large
    # numbers is taken where ratio is near 1/4.
    product = 4 * expected * (1 - expected)
    return product / (1 + np.sqrt(1 + (4 * ratio - 1) * product))


def equal_draw_rate(results: Results, fitted: model.Fit) -> tuple[float, float]:
    """Share of draws between equals that makes all games' expected draws those that came.

    Returns
    -------
    rate, error : float
        0..1, with half its 95 % interval, clustered by opening.
    """
    from scipy.optimize import brentq

    drawn = results.points == 0.5
    if not drawn.any() or drawn.all():
        return float(drawn[0]), 0.0
    difference = fitted.elo[results.white] + fitted.white_advantage - fitted.elo[results.black]
    expected = 1 / (1 + np.exp(-model.SLOPE * difference))
    low, high, step = 1e-9, 1 - 1e-9, 1e-5
    if draw_rate(expected, high).sum() <= drawn.sum():
        return 1.0, 0.0  # more draws than the model has for these differences in strength
    rate = brentq(lambda equal: float(draw_rate(expected, equal).sum() - drawn.sum()), low, high)
    slope = (draw_rate(expected, rate + step) - draw_rate(expected, rate - step)).sum() / step / 2
    left = np.bincount(results.cluster, drawn - draw_rate(expected, rate))
    return rate, float(SIGNIFICANCE * math.sqrt(left @ left) / slope)


def files(players: Collection[str], records: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What each player played with, each file once, by the provenance of its games."""
    named = (
        (player, kind, source["sha256"])
        for record in records
        for name, source in record["inputs"].items()
        for kind, _, player in [name.partition(" ")]
        if player in players
    )
    return [
        {"player": player, "file": kind, "sha256": sha256}
        for player, kind, sha256 in sorted(set(named))
    ]


def told(
    results: Results,
    fitted: model.Fit,
    anchor: str | None,
    anchor_set: str | None,
    pooling: Pooling | None = None,
    records: Iterable[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Everything about a tournament as JSON: what `nnuelab rate --details` writes.

    ``anchor_set`` and ``pooling`` are those of `ratings.sets_of`; without the former no feature
    sets are told. ``records`` are the provenance of the games, where they have any.
    """
    rows = ratings.table(results, fitted, anchor)
    place = {name: i for i, name in enumerate(fitted.players)}
    surely = superiority(fitted)
    rate, rate_error = equal_draw_rate(results, fitted)
    order = [place[row.name] for row in rows]
    found: dict[str, Any] = {
        "anchor": anchor,
        "games": len(results),
        "openings": len(np.unique(results.cluster)),
        "white_advantage": fitted.white_advantage,
        "white_advantage_error": fitted.white_advantage_error,
        "draws": float(np.mean(results.points == 0.5)),
        "draw_rate_of_equals": rate,
        "draw_rate_of_equals_error": rate_error,
        "players": [asdict(row) for row in rows],
        "files": files(fitted.players, records),
        "superiority": [
            {
                "player": row.name,
                **{other.name: float(surely[i, j]) for other, j in zip(rows, order, strict=True)},
            }
            for row, i in zip(rows, order, strict=True)
        ],
        "head_to_head": [meeting.told() for meeting in head_to_head(results)],
        "covariance": fitted.covariance[np.ix_(order, order)].tolist(),
    }
    if anchor_set is not None:
        found["feature_sets"] = [
            {
                name: _number(value) if isinstance(value, float) else value
                for name, value in asdict(row).items()
            }
            for row in ratings.sets_of(fitted, anchor_set, pooling).values()
        ]
        found["spread"] = [
            asdict(row) for row in ratings.spreads(fitted, pooling or Pooling()) if row.freedom
        ]
    return found


def to_json(found: dict[str, Any]) -> str:
    """`told` as text, indented."""
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"
