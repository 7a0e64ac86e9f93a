"""How many more seeds would decide what an experiment left open, as `nnuelab power` foretells."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nnuelab.errors import UserError
from nnuelab.names import listed
from nnuelab.report import hypotheses, reading
from nnuelab.report.results import Experiment, Results
from nnuelab.report.table import entry, labels
from nnuelab.report.words import Verdict, verdict
from nnuelab.settings.games import MOST_DRAWS
from nnuelab.tournament import power, spread
from nnuelab.tournament.power import Design
from nnuelab.tournament.schedule import Settings, pairings
from nnuelab.tournament.spread import Pooling
from nnuelab.tournament.words import Format
from nnuelab.tournament.yardsticks import COST, NODES, Yardstick

PLANNED = (Format.ROUND_ROBIN, Format.ANCHORED)
SETTLED = (
    "The hypothesis is settled. What else is undecided here was explored: to settle that takes a "
    "hypothesis of its own, and other seeds."
)


def seeds(found: Results, experiment: Experiment, yardstick: Yardstick) -> dict[str, int | None]:
    """Seeds, of all sets, with which each undecided difference would be told in 80 %.

    If it is as large as it was measured, and each pairing of nets has as many games as it had. None
    where `power.MOST_SEEDS` don't suffice. Empty where that can't be told: without the details of
    the games, where equals drew all of them, or where groups of sets scatter differently.

    Raises
    ------
    UserError
        The details are damaged.
    """
    rows, anchor = experiment.rows, experiment.anchor
    details = found.details(experiment, yardstick)
    open_rows = [row for row in rows if verdict(row, anchor, yardstick) is Verdict.UNDECIDED]
    if not (open_rows and details.is_file()):
        return {}
    said = reading.read_json(details, "spread", "draw_rate_of_equals")
    played = _played(found, experiment, yardstick, said)
    if played.get("format") not in PLANNED:
        return {}
    own = [spread.of_row(row, str(details)) for row in said["spread"]]
    draws = float(said["draw_rate_of_equals"])
    if len(own) != 1 or own[0].group or draws > MOST_DRAWS:
        return {}
    pooling = Pooling(experiment.name, own[0].kind, known=known_spreads(found, experiment))
    training = spread.pooled(own[0], pooling.others(), tell=False).variance
    design = Design(
        [entry(row) for row in rows],
        anchor,
        _seeds(experiment),
        float(played["games_per_pairing"]),
        draws,
        Format(played["format"]),
    )
    measured = {entry(row): abs(float(row[yardstick.column])) for row in open_rows}
    return power.seeds_needed(design, pooling, training, measured)


def in_words(found: Results, experiment: Experiment) -> list[str]:
    """A sentence for each yardstick that left something open; of a hypothesis, where there is one.

    Nothing of one of equivalence that is open: `nnuelab power` foretells differences.
    """
    called, now, told = labels(experiment.rows), _seeds(experiment), []
    yardsticks: Sequence[Yardstick] = (NODES, COST)
    if asked := experiment.hypothesis:
        if hypotheses.settled(asked, experiment.rows):
            return [SETTLED]
        yardsticks = () if asked["is"] == "equivalent" else (hypotheses.yardstick(asked),)
    for yardstick in yardsticks:
        try:
            needed = seeds(found, experiment, yardstick)
        except UserError:
            continue  # an open question is no damage, and what is damaged is told elsewhere
        more: dict[int, list[str]] = {}
        if asked:
            needed = {name: number for name, number in needed.items() if name == asked["set"]}
        for name, number in needed.items():
            if number is not None:
                more.setdefault(max(number - now, 1), []).append(called[name])
        never = [called[name] for name, number in needed.items() if number is None]
        parts = [
            f"{number} more seed{'s' if number > 1 else ''} would tell {listed(more[number])} from "
            "the anchor"
            for number in sorted(more)
        ]
        if never:
            parts.append(f"{listed(never)} would need more than {power.MOST_SEEDS} seeds")
        if parts:
            text = "; ".join(parts)
            told.append(
                f"At {yardstick.at(experiment.nodes[1])} {text} (in 80 % of cases, if the "
                "differences are as large as measured; nnuelab power)."
            )
    return told


def _played(
    found: Results, experiment: Experiment, yardstick: Yardstick, details: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Format and games per pairing: by the record of the games, or without it by who met.

    Empty where the games are of no format that is foretold.
    """
    if record := found.records.get(found.label(found.games(experiment, yardstick))):
        return record["parameters"]
    try:
        names = [player["name"] for player in details["players"]]
        met = {
            frozenset((pair["player"], pair["opponent"])): pair["games"]
            for pair in details["head_to_head"]
        }
        near = round(sum(met.values()) / math.comb(len(names), 2) / 2) * 2
        # Each pairing has a whole number of openings, so the mean isn't quite what was asked for.
        for form, games in itertools.product(PLANNED, (near, near - 2, near + 2)):
            planned = pairings(names, Settings(games, form, anchor=experiment.anchor))
            if met == {frozenset(pair): 2 * openings for pair, openings in planned.items()}:
                return {"format": form, "games_per_pairing": games}
    except (KeyError, TypeError, ZeroDivisionError):
        return {}
    return {}


def _seeds(experiment: Experiment) -> int:
    return min(int(row["seeds"]) for row in experiment.rows)


def known_spreads(found: Results, experiment: Experiment) -> list[spread.Spread]:
    """The spreads of other experiments that the table was made with, where they are there."""
    record: dict[str, Any] = found.records.get(
        f"{found.folder.name}/{experiment.name}_table.csv", {}
    )
    inputs = record.get("inputs", {}).values()
    made = next((each["path"] for each in inputs if Path(each["path"]).name == "spread.csv"), None)
    above = found.folder.resolve().parents  # a folder of results may be deeper in its project
    files = (place / made for place in above if made and (place / made).is_file())
    return next((spread.read(file) for file in files), [])
