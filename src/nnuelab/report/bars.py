"""Elo as marks with their intervals along a scale: of a column of a table, or of the overview."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nnuelab.report import words
from nnuelab.report.plots import ends
from nnuelab.report.results import Experiment
from nnuelab.report.table import entry, labels
from nnuelab.report.words import Row, Verdict, number
from nnuelab.tournament.yardsticks import NODES, Yardstick

STEPS = 7  # of a scale, about


@dataclass(frozen=True)
class Scale:
    """From ``low`` to ``high``, rating points; 0 is on it."""

    low: float
    high: float

    @classmethod
    def over(cls, rows: Sequence[Row], kinds: Iterable[Yardstick], *more: float) -> Scale:
        """Long enough for all intervals at some yardsticks, and for more values."""
        values = [0.0, *more]
        for yardstick in kinds:
            for row in rows:
                if (elo := number(row, yardstick.column)) is not None:
                    values += [elo, *ends(row, yardstick.column).values()]
        room = (max(values) - min(values)) * 0.02 or 1.0
        return cls(min(values) - room, max(values) + room)

    def place(self, value: float) -> float:
        """Where it is, in percent from the left."""
        return round(100 * (value - self.low) / (self.high - self.low), 2)

    @property
    def ticks(self) -> list[tuple[str, float]]:
        """Round values with their places."""
        rough = (self.high - self.low) / STEPS
        power = 10 ** math.floor(math.log10(rough))
        step = power * min((f for f in (1, 2, 5, 10) if f * power >= rough), default=10)
        first, last = math.ceil(self.low / step), math.floor(self.high / step)
        return [
            (f"{i * step:+g}" if i else "0", self.place(i * step)) for i in range(first, last + 1)
        ]


@dataclass(frozen=True)
class Bar:
    """A mark with its intervals, places in percent; ``games`` and ``seeds`` are (left, width).

    Attributes
    ----------
    column : str
        Of the Elo, which tells the yardstick.
    verdict : Verdict
        What isn't decided looks so.
    cell, quoted, text : str
        The number with the error that a table has room for; with any error; and with its verdict
        and what that rests on.
    """

    column: str
    at: float
    zero: float
    verdict: Verdict
    cell: str
    quoted: str
    text: str
    games: tuple[float, float] | None = None
    seeds: tuple[float, float] | None = None


def bar(row: Row, experiment: Experiment, scale: Scale, yardstick: Yardstick = NODES) -> Bar | None:
    """The mark of a row; None where nobody played."""
    anchor, asked = experiment.anchor, experiment.hypothesis
    found = words.verdict(row, anchor, yardstick, asked)
    if found is None:
        return None
    spans = {}
    known = ends(row, yardstick.column)
    for kind in ("games", "seeds"):
        if f"{kind}_low" in known and found is not Verdict.ANCHOR:
            left, right = (scale.place(known[f"{kind}_{end}"]) for end in ("low", "high"))
            spans[kind] = (left, round(right - left, 2))
    reason = words.why(row, anchor, yardstick, asked)
    quoted = "0" if found is Verdict.ANCHOR else words.quoted(row, yardstick)
    text = f"{quoted} at {yardstick.at(experiment.nodes[1])}: {found}"
    return Bar(
        yardstick.column,
        scale.place(float(row[yardstick.column])),
        scale.place(0.0),
        found,
        quoted if row.get(f"{yardstick.column}_error") else row[yardstick.column],
        quoted,
        "the anchor, 0" if found is Verdict.ANCHOR else f"{text}, {reason}",
        **spans,
    )


@dataclass(frozen=True)
class Ranked:
    """A line of the picture: a set with its marks; ``published`` is a place and a number."""

    name: str
    feature_set: str
    bars: list[Bar]
    published: tuple[float, str] | None


@dataclass(frozen=True)
class Ranking:
    """The picture of an experiment: all of its sets, the strongest at fixed nodes first."""

    lines: list[Ranked]
    ticks: list[tuple[str, float]]
    kinds: list[Yardstick]

    @property
    def has_published(self) -> bool:
        """Whether there are numbers of the study in it."""
        return any(line.published for line in self.lines)


def ranking(experiment: Experiment) -> Ranking | None:
    """All rows that have a rating; None where none has."""
    rated = [row for row in experiment.rows if number(row, "elo") is not None]
    if not rated:
        return None
    kinds = [kind for kind in (NODES, words.paid(rated)) if kind is not None]
    study = [value for row in rated if (value := number(row, "published_elo")) is not None]
    scale, called = Scale.over(rated, kinds, *study), labels(rated)
    lines = []
    for row in sorted(rated, key=lambda row: -float(row["elo"])):
        published = None if entry(row) == experiment.anchor else number(row, "published_elo")
        marks = (bar(row, experiment, scale, kind) for kind in kinds)
        lines.append(
            Ranked(
                called[entry(row)],
                row["feature_set"],
                [mark for mark in marks if mark is not None],
                None if published is None else (scale.place(published), f"{published:+.1f}"),
            )
        )
    return Ranking(lines, scale.ticks, kinds)
