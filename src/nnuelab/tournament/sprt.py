"""Elo and sequential tests from counts of pairs (pentanomial) or of games (trinomial).

The test is the generalized sequential probability ratio test (GSPRT) of M. Van den Bergh
(*The Generalized Sequential Probability Ratio Test*, *Normalized Elo*; the arithmetic of fishtest
and fastchess): for each hypothesis the distribution of results that is likeliest under it, and the
logarithm of the ratio of the two likelihoods.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from nnuelab.errors import UserError
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.words import Model

NORMALIZED = 800 / math.log(10)  # normalized Elo of one standard deviation of a game
MISSING = 1e-3  # stands for a count of 0, or a result that never came would be impossible
KINDS = {3: "losses, draws, wins", 5: "pairs with 0, 1/2, 1, 3/2, 2 points"}
# Elo; beyond, no distribution may have the mean or the effect
FARTHEST = {Model.LOGISTIC: 300.0, Model.NORMALIZED: 200.0}
LEAST_PAIRS = 40  # before a match may end: fewer say too little of their own spread
ITERATIONS = 20  # of the likeliest distribution; three are enough as a rule


def expected_score(elo: float) -> float:
    """Points per game of a player who is this many logistic Elo stronger."""
    return 1 / (1 + 10 ** (-elo / 400))


@dataclass
class Tally:
    """Results, and what they say of the difference in strength.

    Attributes
    ----------
    counts : list of int
        Pairs in which the first player scored 0, 1/2, 1, 3/2 and 2 points (pentanomial), or games
        that it lost, drew and won (trinomial).
    """

    counts: list[int]

    @classmethod
    def empty(cls) -> Self:
        """No pair yet."""
        return cls([0] * 5)

    @classmethod
    def of_games(cls, points: np.ndarray, cluster: np.ndarray) -> Self:
        """Games with the player's ``points`` [n] and the numbers of their opening pairs [n].

        By pairs, without the games that have no partner; game by game where nothing pairs, or more
        than two games share an opening.
        """
        clusters, sizes = np.unique(cluster, return_inverse=True, return_counts=True)[1:]
        if sizes.max() == 2:
            both = np.bincount(clusters, points)[sizes == 2]
            counts = np.bincount(np.rint(2 * both).astype(int), minlength=5)
        else:
            counts = np.bincount(np.rint(2 * points).astype(int), minlength=3)
        return cls(counts.tolist())

    @property
    def pairs(self) -> int:
        """Results: opening pairs, or games where the counts are three."""
        return sum(self.counts)

    @property
    def games(self) -> int:
        """Games played."""
        return self.pairs * (2 if len(self.counts) == 5 else 1)

    def _scores(self) -> np.ndarray:
        return np.arange(len(self.counts)) / (len(self.counts) - 1)

    def mean_and_error(self) -> tuple[float, float]:
        """Points per game and its standard error."""
        shares = np.array(self.counts) / self.pairs
        mean = float(self._scores() @ shares)
        variance = float((self._scores() - mean) ** 2 @ shares)
        return mean, math.sqrt(variance / self.pairs)

    def elo(self) -> tuple[float, float]:
        """Logistic Elo of the first player, and the half width of its 95 % interval.

        Infinite where one side has won everything; the error is NaN there and where all results are
        alike.
        """
        if not self.pairs:
            return math.nan, math.nan
        mean, error = self.mean_and_error()
        if not 0 < mean < 1:
            return math.copysign(math.inf, mean - 0.5), math.nan
        slope = 400 / math.log(10) / (mean * (1 - mean))
        return 400 * math.log10(mean / (1 - mean)), 1.96 * slope * error or math.nan

    def llr(self, elo0: float, elo1: float, model: Model = Model.LOGISTIC) -> float:
        """Log-likelihood ratio of a difference of ``elo1`` to one of ``elo0``."""
        counts = np.maximum(np.array(self.counts, float), MISSING)
        shares, scores = counts / counts.sum(), self._scores()
        if model is Model.LOGISTIC:
            zero, one = (_with_mean(scores, shares, expected_score(elo)) for elo in (elo0, elo1))
        else:
            # A pair is two games: its deviation, in points per game, is that of one / sqrt(2).
            per_result = math.sqrt(2) if len(self.counts) == 5 else 1.0
            zero, one = (
                _with_effect(scores, shares, per_result * elo / NORMALIZED) for elo in (elo0, elo1)
            )
        return float(counts @ np.log(one / zero))


def _tilted(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The likeliest distribution [n] under which ``values`` [n] have the mean 0.

    It is shares / (1 + x values) with the x that makes the mean 0 (Owen's empirical likelihood).
    """
    from scipy.optimize import brentq

    low, high = -1 / values.max(), -1 / values.min()
    inside = 1e-12 * (high - low)

    def mean(x: float) -> float:
        return float((shares * values / (1 + x * values)).sum())

    return shares / (1 + brentq(mean, low + inside, high - inside, xtol=1e-15) * values)


def _with_mean(scores: np.ndarray, shares: np.ndarray, mean: float) -> np.ndarray:
    return _tilted(scores - mean, shares)


def _with_effect(scores: np.ndarray, shares: np.ndarray, effect: float) -> np.ndarray:
    """The likeliest distribution whose mean is ``effect`` of its deviations above 1/2.

    The condition isn't linear in the distribution; it is linearized around the last one.
    """
    found = np.full(len(scores), 1 / len(scores))
    for _ in range(ITERATIONS):
        last, mean = found, found @ scores
        deviation = math.sqrt(found @ (scores - mean) ** 2)
        bend = 1 + ((mean - scores) / deviation) ** 2
        found = _tilted(scores - 0.5 - effect * deviation * bend / 2, shares)
        if np.abs(found - last).max() < 1e-9:
            break
    return found


@dataclass(frozen=True)
class Sprt:
    """A sequential test of two differences in Elo.

    Attributes
    ----------
    elo0, elo1 : float
        The two hypotheses, elo0 < elo1.
    alpha, beta : float
        How often elo1 may be accepted though elo0 is true, and elo0 though elo1 is true.
    model : Model
    """

    elo0: float = 0.0
    elo1: float = 5.0
    alpha: float = 0.05
    beta: float = 0.05
    model: Model = Model.LOGISTIC

    def __post_init__(self) -> None:
        if not -math.inf < self.elo0 < self.elo1 < math.inf:
            raise UserError(f"elo0 {self.elo0:g} must be less than elo1 {self.elo1:g}")
        most = FARTHEST[self.model]
        for elo in (self.elo0, self.elo1):
            if abs(elo) > most:
                raise UserError(f"{elo:g} Elo is too far from 0; {most:g} is the most")
        for name, value in (("alpha", self.alpha), ("beta", self.beta)):
            if not 0 < value < 0.5:
                raise UserError(f"{name} {value:g}: it must lie between 0 and 0.5")

    @property
    def bounds(self) -> tuple[float, float]:
        """LLR at or below which elo0 is accepted, and at or above which elo1 is (Wald)."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def llr(self, tally: Tally) -> float:
        """The log-likelihood ratio so far."""
        return tally.llr(self.elo0, self.elo1, self.model)

    def verdict(self, tally: Tally) -> str | None:
        """``elo0`` or ``elo1``, whichever is accepted; None while the test goes on."""
        low, high = self.bounds
        llr = self.llr(tally)
        return "elo1" if llr >= high else "elo0" if llr <= low else None


class LiveTest:
    """A test that looks on while a match is played, at the pairs in the order of the schedule.

    Pairs end in any order; that they count in this one makes the end the same for any number of
    workers.

    Attributes
    ----------
    tally : Tally
        Of the pairs that count so far, from the first player's view.
    end : int or None
        So many pairs decided; None while the test goes on.
    """

    def __init__(self, test: Sprt) -> None:
        self.test = test
        self.tally = Tally.empty()
        self.end: int | None = None
        self._waiting: dict[int, int] = {}

    def add(self, number: int, half_points: int) -> None:
        """Counts pair ``number`` of the schedule, 0..4 half points of the first player's."""
        self._waiting[number] = half_points
        while self.end is None and self.tally.pairs in self._waiting:
            self.tally.counts[self._waiting.pop(self.tally.pairs)] += 1
            if self.tally.pairs >= LEAST_PAIRS and self.test.verdict(self.tally):
                self.end = self.tally.pairs

    def told(self) -> dict[str, Any]:
        """As JSON."""
        lower, upper = self.test.bounds
        return {
            **asdict(self.test),
            "pairs": self.tally.pairs,
            "counts": list(self.tally.counts),
            "llr": self.test.llr(self.tally) if self.tally.pairs else 0.0,
            "lower": lower,
            "upper": upper,
            "verdict": self.test.verdict(self.tally) if self.end else None,
        }

    def __str__(self) -> str:
        told = self.told()
        accepted = told["verdict"] or "no decision"
        return (
            f"SPRT {self.test.elo0:g} against {self.test.elo1:g} Elo ({self.test.model}): LLR "
            f"{told['llr']:.2f} ({told['lower']:.2f} to {told['upper']:.2f}), {accepted} after "
            f"{self.tally.pairs:,} pairs"
        )


def read_test(text: str, model: Model) -> Sprt:
    """A test of ``ELO0,ELO1`` or ``ELO0,ELO1,ALPHA,BETA``; UserError for anything else."""
    try:
        numbers = [float(number) for number in text.split(",")]
    except ValueError:
        numbers = []
    if len(numbers) not in (2, 4):
        raise UserError(f"sprt {text}: it must be ELO0,ELO1 or ELO0,ELO1,ALPHA,BETA, as 0,5")
    return Sprt(**dict(zip(("elo0", "elo1", "alpha", "beta"), numbers, strict=False)), model=model)


def read_counts(text: str) -> Tally:
    """A tally of three or five counts, ``1,2,3``.

    Raises
    ------
    UserError
        Another number of counts, a negative one, or nothing but zeros.
    """
    try:
        counts = [int(count) for count in text.split(",")]
    except ValueError:
        raise UserError(f"counts {text}: they must be whole numbers, as 1,2,3") from None
    if len(counts) not in KINDS:
        kinds = " or ".join(f"{n} ({what})" for n, what in KINDS.items())
        raise UserError(f"{len(counts)} counts; there must be {kinds}")
    if min(counts) < 0 or not sum(counts):
        raise UserError(f"counts {text}: they must be numbers of results")
    return Tally(counts)


def from_pgn(pgn: Iterable[Path | str], player: str) -> Tally:
    """A player's results against all others: by opening pairs, or by games where they don't pair.

    Raises
    ------
    UserError
        What `read_results` raises; a player who isn't there.
    """
    results = read_results(pgn)
    if player not in results.players:
        raise UserError(
            f'there is no player "{player}"; the players are {", ".join(results.players)}'
        )
    number = results.players.index(player)
    own = (results.white == number) | (results.black == number)
    points = np.where(results.white == number, results.points, 1 - results.points)[own]
    tally = Tally.of_games(points, results.pair[own])
    if len(tally.counts) == 3:
        print("the games don't pair by openings: each is taken for itself", file=sys.stderr)
    elif alone := len(points) - tally.games:
        print(f"{alone:,} games without a partner are left out", file=sys.stderr)
    return tally
