"""How far equal trainings scatter in strength: by group, pooled over experiments of one kind.

With two seeds each, one experiment hardly knows it; all of its kind together do. So the variances
of earlier experiments stand in a file, as rows of `Spread`.
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nnuelab import files
from nnuelab.errors import UserError

K = TypeVar("K")

# Level of the F test before pooling: Bozivich, Bancroft and Hartley (Annals of Mathematical
# Statistics 27, 1956) advise .25, as at .05 a somewhat larger variance passes and errors come out
# too small.
DOUBTFUL = 0.25


@dataclass(frozen=True)
class Spread:
    """What the trainings of a group of sets in one experiment say; the columns of the file.

    Attributes
    ----------
    experiment : str
    kind : str
        Only rows of one kind are pooled: the limit of the games, and settings of training.
    group : str
        Sets that scatter alike; empty: the common one, which experiments share.
    variance : float
        Of ratings within sets, squared rating points, pooled over the sets of the group.
    games : float
        The part of it that the games explain, from the covariance of the ratings.
    freedom : int
        Degrees of freedom of ``variance``: the sum of seeds - 1.
    """

    experiment: str
    kind: str
    group: str
    variance: float
    games: float
    freedom: int


COLUMNS = tuple(column.name for column in fields(Spread))


@dataclass(frozen=True)
class Pooling:
    """What an experiment shares with others.

    Attributes
    ----------
    experiment, kind : str
        As in `Spread`.
    groups : mapping of str to str
        Group by set, of sets that don't scatter as most do.
    known : sequence of Spread
        Of this and other experiments; this one's and those of another kind are left out.
    again : sequence of Spread
        Of this experiment's very nets in other games of this kind, such as those at equal cost.
    """

    experiment: str = ""
    kind: str = ""
    groups: Mapping[str, str] = field(default_factory=dict)
    known: Sequence[Spread] = ()
    again: Sequence[Spread] = ()

    def others(self) -> list[Spread]:
        """Known rows that may be pooled with this experiment's common group, one an experiment."""
        found: dict[str, list[Spread]] = {}
        for row in self.known:
            if (row.kind, row.group) == (self.kind, "") and row.experiment != self.experiment:
                found.setdefault(row.experiment, []).append(row)
        return [together(rows) for rows in found.values()]

    def with_again(self, own: Spread) -> Spread:
        """What all games of this kind say of a group's nets."""
        return together([own, *(row for row in self.again if row.group == own.group)])


def together(rows: Sequence[Spread]) -> Spread:
    """Rows of the same nets in different games as one: means, weighted by how well the games tell.

    The nets are the same ones, so there are no more degrees of freedom than in one row. The games
    differ, so the mean is known a little better than that. The weights, 1 / games^2, are the best
    where trainings scatter little beside the games, and lose little where they don't: a few games
    at one limit don't blur what many at another say.
    """
    told = np.array([(row.variance, row.games) for row in rows])
    weights = 1 / np.maximum(told[:, 1], 1.0) ** 2  # 0 where no set has a second net
    variance, games = np.average(told, axis=0, weights=weights).tolist()
    return replace(rows[0], variance=variance, games=games)


def again(rows: Mapping[K, Sequence[Spread]], key: K) -> list[Spread]:
    """Rows of the nets of ``rows[key]`` in their other games of its kind, if that is named."""
    (experiment, kind), *_ = [(row.experiment, row.kind) for row in rows[key]]
    return [
        row
        for other, those in rows.items()
        for row in those
        if other != key and kind and (row.experiment, row.kind) == (experiment, kind)
    ]


@dataclass(frozen=True)
class Estimate:
    """The variance of trainings, without the games, and how well it is known.

    Attributes
    ----------
    variance : float
        tau2, squared rating points.
    information : float
        Fisher's: the reciprocal of the variance of ``variance``. 0: nothing is known.
    """

    variance: float = 0.0
    information: float = 0.0

    def freedom(self, games: float = 0.0) -> float:
        """Degrees of freedom of ``variance + games``, by Satterthwaite: 2 v^2 / var(v)."""
        return 2 * (self.variance + games) ** 2 * self.information


def estimate(rows: Iterable[Spread]) -> Estimate:
    """The variance of trainings that several rows share, by restricted maximum likelihood (REML).

    Each row's variance s2 is (tau2 + w) chi2(df) / df, with the games' part w known. So tau2 >= 0
    is where the score, the sum of df (s2 - tau2 - w) / (2 (tau2 + w)^2), is 0, or the bound; its
    information is the sum of df / (2 (tau2 + w)^2). (Patterson and Thompson 1971; with rows that
    differ in w it is the estimate of Paule and Mandel 1982, weighted by likelihood.)
    """
    from scipy.optimize import brentq

    known = [row for row in rows if row.freedom]
    if not known:
        return Estimate()
    s2, games, freedom = np.array([(r.variance, r.games, r.freedom) for r in known]).T

    def score(variance: float) -> float:
        return float(np.sum(freedom * (s2 - variance - games) / (variance + games) ** 2))

    tau2 = brentq(score, 0.0, float(s2.max())) if score(0.0) > 0 else 0.0
    return Estimate(tau2, float(np.sum(freedom / (2 * (tau2 + games) ** 2))))


def pooled(own: Spread, others: Sequence[Spread], *, tell: bool = True) -> Estimate:
    """The estimate of an experiment's own row and others of its kind.

    If its own trainings scatter more than the others allow (F test of its variance against theirs
    plus its games), the others are left out: a larger spread must not hide behind theirs. That is
    told on stderr, unless ``tell`` is False.
    """
    from scipy.stats import f

    known = estimate(others)
    if own.freedom and known.information:
        expected = known.variance + own.games
        chance = f.sf(own.variance / expected, own.freedom, known.freedom(own.games))
        if chance < DOUBTFUL:
            if tell:
                print(
                    f"{own.experiment} ({own.kind}): equal trainings scatter more than elsewhere, "
                    f"with a variance of {own.variance:.0f} where {expected:.0f} was expected (p = "
                    f"{chance:.2g}); other experiments aren't used for its errors",
                    file=sys.stderr,
                )
            return estimate([own])
    return estimate([own, *others])


def read(path: Path) -> list[Spread]:
    """The rows of a file of spreads; raises UserError with the line where one can't be read."""
    try:
        files.require(path)
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        told = error.strerror if isinstance(error, OSError) else error
        raise UserError(f"can't read {path} ({told}); give a file of `nnuelab spread`") from None
    return [of_row(row, f"{path}, line {line}") for line, row in enumerate(rows, 2)]


def of_row(row: Mapping[str, Any], place: str) -> Spread:
    """A row by its columns; raises UserError where values are missing, negative or no numbers."""
    try:
        found = Spread(
            experiment=str(row["experiment"]),
            kind=str(row["kind"]),
            group=str(row["group"]),
            variance=float(row["variance"]),
            games=float(row["games"]),
            freedom=int(row["freedom"]),
        )
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{place}: no row of {','.join(COLUMNS)}") from None
    if not (0 <= found.variance < np.inf and 0 < found.games < np.inf and found.freedom >= 0):
        raise UserError(
            f"{place}: variance and freedom must be numbers from 0 on, games greater than 0"
        )
    return found


def to_csv(rows: Iterable[Spread]) -> str:
    """Rows as the file has them."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(
        {**asdict(row), "variance": f"{row.variance:.2f}", "games": f"{row.games:.2f}"}
        for row in rows
    )
    return text.getvalue()
