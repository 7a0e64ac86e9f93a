"""Sets of one variant and variants of one set, of an experiment that has several of both.

Its table compares all with one anchor. What it asks is often how sets differ within a variant, or
what a variant changes in each set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from nnuelab import names
from nnuelab.names import NetName
from nnuelab.report import hypotheses, reading, words
from nnuelab.report.advice import known_spreads
from nnuelab.report.bars import Bar, Scale
from nnuelab.report.grids import Grid
from nnuelab.report.results import Experiment, Results
from nnuelab.report.table import entry
from nnuelab.report.words import Verdict
from nnuelab.tournament import contrasts
from nnuelab.tournament.yardsticks import ALL, NODES, Yardstick

MOST = 6  # differences in a sentence


class Pair(NamedTuple):
    """Two entries of a table, what they differ in, and what they share."""

    plus: str
    minus: str
    differ: str
    share: str


class Difference(NamedTuple):
    """Elo of the one less that of the other, with halves of 95 % intervals.

    Those of the games alone, and with new trainings, where their spread is known.
    """

    elo: float
    games: float
    error: float | None

    @property
    def quoted(self) -> str:
        """With the error to quote."""
        if self.error is None:
            return f"{self.elo:+.1f} \u00b1{self.games:.1f} of the games alone"
        return f"{self.elo:+.1f} \u00b1{self.error:.1f}"

    def bar(self, scale: Scale, kind: Yardstick) -> Bar:
        """Its mark in a table."""
        decided = self.error is not None and abs(self.elo) > self.error
        way = Verdict.STRONGER if self.elo > 0 else Verdict.WEAKER
        return Bar(
            kind.column,
            scale.place(self.elo),
            scale.place(0.0),
            way if decided else Verdict.UNDECIDED,
            self.quoted,
            self.quoted,
            f"{self.quoted} (95\u00a0%, of this comparison alone)",
            self._span(scale, self.games),
            None if self.error is None else self._span(scale, self.error),
        )

    def _span(self, scale: Scale, half: float) -> tuple[float, float]:
        left, right = (scale.place(self.elo + sign * half) for sign in (-1, 1))
        return left, round(right - left, 2)


def pairs(experiment: Experiment) -> tuple[list[Pair], list[Pair]]:
    """Each set with the anchor's of its variant, and each variant with the anchor's of its set.

    Both empty but for a table with several of both.
    """
    known = {entry(row): NetName.parse(entry(row)) for row in experiment.rows}
    anchor, (_, common) = NetName.parse(experiment.anchor), names.shared(known)
    across, along = list[Pair](), list[Pair]()
    for plus, name in known.items():
        own, its = (names.without(each.variant, common) for each in (name, anchor))
        minus = replace(name, feature_set=anchor.feature_set).entry
        if minus in known and minus != plus:
            differ = f"{name.feature_set} less {anchor.feature_set}"
            across.append(Pair(plus, minus, differ, own))
        minus = replace(name, variant=anchor.variant).entry
        if minus in known and minus != plus:
            along.append(Pair(plus, minus, f"{own} less {its}", name.feature_set))
    several = all(len({pair.share for pair in found}) > 1 for found in (across, along))
    return (across, along) if several else ([], [])


def differences(
    found: Results, experiment: Experiment, chosen: Sequence[Pair]
) -> dict[Yardstick, dict[Pair, Difference]]:
    """By yardstick of `words.main`; those from the anchor are as the table has them.

    Empty where the games have no details.

    Raises
    ------
    UserError
        For details that are damaged, or groups of sets that scatter differently.
    """
    rows = {entry(row): row for row in experiment.rows}
    files = {kind.column: found.details(experiment, kind) for kind in ALL}
    details = {
        column: reading.read_json(path, "players", "covariance", "spread")
        for column, path in files.items()
        if path.is_file()
    }
    trainings = contrasts.trainings_of(details, known_spreads(found, experiment), tell=False)

    def of(pair: Pair, column: str) -> Difference:
        if pair.minus == experiment.anchor:
            row = rows[pair.plus]
            error = words.number(row, f"{column}_error")
            return Difference(float(row[column]), float(row[f"{column}_error_games"]), error)
        weights = contrasts.weights_of([pair.plus], [pair.minus], mean=False)
        rated = contrasts.contrast(details[column], weights, trainings[column])
        return Difference(rated.elo, rated.elo_error_games, rated.elo_error)

    return {
        kind: {pair: of(pair, kind.column) for pair in chosen}
        for kind in words.main(experiment.rows, experiment.hypothesis)
        if kind.column in details
    }


def add(found: Results, experiment: Experiment, tables: list[Grid]) -> list[str]:
    """Adds a table of them; the sentences of those that are few, at the hypothesis's yardstick."""
    both, asked = pairs(experiment), experiment.hypothesis
    known = differences(found, experiment, [*both[0], *both[1]]) if both[0] else {}
    if not known:
        return []
    tables.append(_grid(experiment, [*both[0], *both[1]], known, found))
    kind, said = hypotheses.yardstick(asked) if asked else NODES, list[str]()
    for chosen in both:
        if kind in known and len(chosen) <= MOST and len({pair.differ for pair in chosen}) == 1:
            numbers = (known[kind][pair].quoted.replace(" ", "\u00a0") for pair in chosen)
            told = ", ".join(f"{n} ({pair.share})" for n, pair in zip(numbers, chosen, strict=True))
            where = kind.at(experiment.nodes[1])
            said.append(f"{chosen[0].differ} at {where}: {told}; 95\u00a0% each.")
    return said


def _grid(
    experiment: Experiment,
    chosen: Sequence[Pair],
    known: Mapping[Yardstick, Mapping[Pair, Difference]],
    found: Results,
) -> Grid:
    ends = [
        each.elo + sign * max(each.games, each.error or 0.0)
        for of_kind in known.values()
        for each in of_kind.values()
        for sign in (-1, 1)
    ]
    scale = Scale.over([], [], *ends)
    columns, rows = [("differ", "difference"), ("share", "of")], []
    for kind in known:
        columns.append((kind.column, f"Elo at {kind.at(experiment.nodes[1])}"))
        columns.append((f"{kind.column}_error", "\u00b1 (95\u00a0%)"))
    for pair in chosen:
        numbers = [of_kind[pair] for of_kind in known.values()]
        cells = [
            f"{n:.1f}" if n is not None else "" for each in numbers for n in (each.elo, each.error)
        ]
        rows.append([pair.differ, pair.share, *cells])
    files = [found.label(found.details(experiment, kind)) for kind in known]
    return Grid(
        f"{experiment.name}-within",
        "Sets of one variant, and variants of one set; each difference with its own interval",
        columns,
        rows,
        [{"": files}] * len(rows),
        frozenset(name for name, _ in columns if name.endswith("_error")),
        bars={
            kind.column: [of_kind[pair].bar(scale, kind) for pair in chosen]
            for kind, of_kind in known.items()
        },
    )
