"""Elo as marks with their intervals along a scale: of a column of a table, or of the overview."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nnuelab.report import words
from nnuelab.report.intervals import ends
from nnuelab.report.results import Experiment
from nnuelab.report.table import entry, labels
from nnuelab.report.words import Row, Verdict, number
from nnuelab.tournament.yardsticks import NODES, Yardstick

STEPS = 7  # of a scale, about


@dataclass(frozen=True)
class Scale:
    """From ``low`` to ``high``, rating points; 0 is on it, and what is beyond stands at its end."""

    low: float
    high: float

    @classmethod
    def over(cls, rows: Sequence[Row], kinds: Iterable[Yardstick], *more: float) -> Scale:
        """Long enough for all intervals at some yardsticks, and for more values."""
        values = [0.0, *more, *_ends(rows, kinds)]
        room = (max(values) - min(values)) * 0.02 or 1.0
        return cls(min(values) - room, max(values) + room)

    @classmethod
    def of_most(cls, rows: Sequence[Row], kinds: Iterable[Yardstick]) -> Scale:
        """For rows of many experiments: without the outermost twentieth of the ends.

        So no set that is far weaker, or hardly known, makes all others small.
        """
        values = sorted(_ends(rows, kinds)) or [0.0]
        outer = len(values) // 40
        low, high = min(0.0, values[outer]), max(0.0, values[-1 - outer])
        room = (high - low) * 0.02 or 1.0
        return cls(low - room, high + room)

    def place(self, value: float) -> float:
        """Where it is, in percent from the left."""
        part = (value - self.low) / (self.high - self.low)
        return round(100 * min(max(part, 0.0), 1.0), 2)

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


def _ends(rows: Sequence[Row], kinds: Iterable[Yardstick]) -> list[float]:
    """Every Elo at some yardsticks, and the ends of its intervals."""
    values = []
    for yardstick in kinds:
        for row in rows:
            if (elo := number(row, yardstick.column)) is not None:
                values += [elo, *ends(row, yardstick.column).values()]
    return values


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
    is_beyond : bool
        The mark is at an end of the scale, where its number isn't.
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
    is_beyond: bool = False


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
    elo = float(row[yardstick.column])
    return Bar(
        yardstick.column,
        scale.place(elo),
        scale.place(0.0),
        found,
        quoted if row.get(f"{yardstick.column}_error") else row[yardstick.column],
        quoted,
        "the anchor, 0" if found is Verdict.ANCHOR else f"{text}, {reason}",
        **spans,
        is_beyond=not scale.low <= elo <= scale.high,
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


def ranking(experiment: Experiment, scale: Scale | None = None) -> Ranking | None:
    """All rows that have a rating, on a scale that is long enough; None where none has."""
    rated, shown = _rated(experiment), words.main(experiment.rows, experiment.hypothesis)
    if not rated:
        return None
    study = [value for row in rated if (value := number(row, "published_elo")) is not None]
    scale, called = scale or Scale.over(rated, shown, *study), labels(rated)
    lines = []
    for row in sorted(rated, key=lambda row: -float(row["elo"])):
        published = None if entry(row) == experiment.anchor else number(row, "published_elo")
        marks = (bar(row, experiment, scale, kind) for kind in shown)
        lines.append(
            Ranked(
                called[entry(row)],
                row["feature_set"],
                [mark for mark in marks if mark is not None],
                None if published is None else (scale.place(published), f"{published:+.1f}"),
            )
        )
    return Ranking(lines, scale.ticks, shown)


def rankings(experiments: Sequence[Experiment]) -> dict[str, Ranking]:
    """Those of several experiments by name, on one scale."""
    shown = dict.fromkeys(k for each in experiments for k in words.main(each.rows, each.hypothesis))
    scale = Scale.of_most([row for each in experiments for row in _rated(each)], shown)
    found = {experiment.name: ranking(experiment, scale) for experiment in experiments}
    return {name: ranked for name, ranked in found.items() if ranked is not None}


def _rated(experiment: Experiment) -> list[Row]:
    return [row for row in experiment.rows if number(row, "elo") is not None]
