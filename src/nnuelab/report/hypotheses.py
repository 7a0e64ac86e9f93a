"""What an experiment was to find out, whether that was fixed before its games, what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

from nnuelab.report.reading import read_record
from nnuelab.report.table import entry, labels
from nnuelab.tournament.yardsticks import ALL, Yardstick


class Outcome(StrEnum):
    """What became of a hypothesis."""

    HOLDS = "It holds"
    REFUTED = "It is refuted"
    UNDECIDED = "These games leave it undecided"


def told(now: Mapping[str, Any], games: Mapping[Yardstick, Path]) -> dict[str, Any]:
    """What the provenance of a table says of a hypothesis, nothing where there is none.

    Parameters
    ----------
    now : mapping
        Hypothesis and hash as the experiment has them now (`params.fixed`).
    games : mapping of Yardstick to path
        PGN files, whose provenance has the hash with which they began.

    Returns
    -------
    dict
        ``hypothesis``, with its ``sha256`` and whether it was ``fixed_before`` the games that
        decide.

    Raises
    ------
    UserError
        The record of the games is missing or damaged.
    """
    asked = now.get("hypothesis")
    if not asked:
        return {}
    decisive = next(pgn for yardstick, pgn in games.items() if yardstick.column == asked["column"])
    record = read_record(decisive.with_name(decisive.name + ".json"))
    before = record["parameters"].get("fixed", {})
    same = before.get("sha256") == now["sha256"]
    return {"hypothesis": {**asked, "sha256": now["sha256"], "fixed_before": same}}


def yardstick(asked: Mapping[str, Any]) -> Yardstick:
    """At which the hypothesis is asked."""
    return next(each for each in ALL if each.column == asked["column"])


def outcome(asked: Mapping[str, Any], rows: Sequence[Mapping[str, str]]) -> Outcome:
    """What its interval says: one contrast, so its error is that of one interval."""
    row, column = _row(asked, rows), asked["column"]
    if not row.get(f"{column}_error"):
        return Outcome.UNDECIDED
    elo, error = float(row[column]), float(row[f"{column}_error"])
    low, high = elo - error, elo + error
    bound = float(asked["within"] or 0)
    holds = {"stronger": low > 0, "weaker": high < 0, "equivalent": -bound < low and high < bound}
    against = {"stronger": high < 0, "weaker": low > 0, "equivalent": low > bound or high < -bound}
    if holds[asked["is"]]:
        return Outcome.HOLDS
    return Outcome.REFUTED if against[asked["is"]] else Outcome.UNDECIDED


def settled(asked: Mapping[str, Any], rows: Sequence[Mapping[str, str]]) -> tuple[str, str] | None:
    """Column and entry of which a hypothesis has been answered; None without one."""
    if not asked or outcome(asked, rows) is Outcome.UNDECIDED:
        return None
    return asked["column"], asked["set"]


def _row(asked: Mapping[str, Any], rows: Sequence[Mapping[str, str]]) -> Mapping[str, str]:
    return next(row for row in rows if entry(row) == asked["set"])


def is_equivalent(asked: Mapping[str, Any], row: Mapping[str, str], at: Yardstick) -> bool:
    """Whether a hypothesis says so of a row at a yardstick, and holds."""
    if not asked or (asked["is"], asked["column"]) != ("equivalent", at.column):
        return False
    return asked["set"] == entry(row) and outcome(asked, [row]) is Outcome.HOLDS


def in_words(
    asked: Mapping[str, Any], rows: Sequence[Mapping[str, str]], anchor: str, deep: int = 0
) -> str:
    """The hypothesis and what became of it; ``deep``: see `Yardstick.at`."""
    row, called = _row(asked, rows), labels(rows)
    name, other = called[asked["set"]], called.get(anchor, anchor)
    column = asked["column"]
    expected = {
        "stronger": f"{name} is stronger than {other}",
        "weaker": f"{name} is weaker than {other}",
        "equivalent": f"{name} differs from {other} by less than {asked['within'] or 0:g} Elo",
    }[asked["is"]]
    when = (
        "fixed before the games"
        if asked["fixed_before"]
        else "not fixed before the games, or changed since"
    )
    text = f"The hypothesis, {when}: {expected}, at {yardstick(asked).at(deep)}."
    if not row.get(f"{column}_error"):
        return f"{text} Undecided: its error isn't known."
    elo, error = float(row[column]), float(row[f"{column}_error"])
    found = f"{elo:+.1f} \u00b1{error:.1f} (95 %, of this comparison alone)"
    return f"{text} {outcome(asked, rows)}: {found}."
