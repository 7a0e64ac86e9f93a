"""What the numbers of a table allow to say: a verdict for each row, an answer for each table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

from nnuelab.report import hypotheses
from nnuelab.report.table import entry, labels
from nnuelab.tournament.adjusted import LEVEL
from nnuelab.tournament.yardsticks import COST, NODES, TIME, Yardstick

Row = Mapping[str, str]
Asked = Mapping[str, Any]  # a hypothesis, as `hypotheses.told` has it; empty where there is none
NOTHING: Asked = {}

MOST_NAMES = 4  # in a sentence; more are counted


class Verdict(StrEnum):
    """What may be said of a set and the anchor, among all sets of its table."""

    STRONGER = "stronger"
    EQUIVALENT = "equivalent"
    UNDECIDED = "undecided"
    WEAKER = "weaker"
    ANCHOR = "anchor"


def number(row: Row, column: str) -> float | None:
    """A cell as a number, None where nothing was measured."""
    return float(row[column]) if row.get(column) else None


def main(rows: Sequence[Row], asked: Asked = NOTHING) -> list[Yardstick]:
    """The yardsticks that answer: fixed nodes, and that of the hypothesis ``asked``.

    Where that is of fixed nodes, or nothing, one at which speed counts: equal cost or fixed time.
    """
    wanted = [hypotheses.yardstick(asked)] if asked else []
    wanted = [each for each in (*wanted, COST, TIME) if each is not NODES]
    played = (each for each in wanted if any(row.get(each.column) for row in rows))
    return [NODES, *list(played)[:1]]


def verdict(
    row: Row, anchor: str, yardstick: Yardstick = NODES, asked: Asked = NOTHING
) -> Verdict | None:
    """By the p-value that is adjusted for all sets of the table; None where nobody played.

    What it leaves undecided is equivalent where the hypothesis ``asked`` says so, and holds.
    """
    elo, p = number(row, yardstick.column), number(row, yardstick.p)
    if elo is None:
        return None
    if entry(row) == anchor:
        return Verdict.ANCHOR
    if p is None or p >= LEVEL:
        is_equivalent = hypotheses.is_equivalent(asked, row, yardstick)
        return Verdict.EQUIVALENT if is_equivalent else Verdict.UNDECIDED
    return Verdict.STRONGER if elo > 0 else Verdict.WEAKER


def why(row: Row, anchor: str, yardstick: Yardstick = NODES, asked: Asked = NOTHING) -> str:
    """What the verdict rests on."""
    found, column = verdict(row, anchor, yardstick, asked), yardstick.column
    if found in (None, Verdict.ANCHOR):
        return ""
    if found is Verdict.EQUIVALENT:
        return f"its interval lies within \u00b1{asked['within']:g} Elo, the hypothesis"
    p = number(row, yardstick.p)
    if found is not Verdict.UNDECIDED:
        return f"p {_p(p)}, all sets taken together"
    elo = abs(float(row[column]))
    games, error = number(row, f"{column}_error_games"), number(row, f"{column}_error")
    if error is not None and elo > error:
        return f"alone it would be told apart; among all these sets it isn't (p {_p(p)})"
    if games is not None and elo > games:
        return (
            "these very nets differ, but nothing is known about new trainings"
            if error is None
            else "these very nets differ, but new trainings could turn it round"
        )
    return "less than its error"


def quoted(row: Row, yardstick: Yardstick = NODES) -> str:
    """An Elo with the error to quote."""
    column = yardstick.column
    text = f"{float(row[column]):+.1f}"
    if error := row.get(f"{column}_error"):
        return f"{text} \u00b1{error}"
    if error := row.get(f"{column}_error_games"):
        return f"{text} \u00b1{error} of the games alone"
    return f"{text}, error unknown"


def answer(rows: Sequence[Row], anchor: str, asked: Asked = NOTHING, deep: int = 0) -> str:
    """A sentence: who is stronger than the anchor, who weaker, and of whom that is open.

    What the hypothesis ``asked`` was about is open no longer once that is settled; ``deep``: see
    `Yardstick.at`.
    """
    rated = [row for row in rows if number(row, "elo") is not None]
    if not rated:
        return "No set has a rating yet."
    if len(rated) == 1:
        return f"{entry(rated[0])} is alone: there is nothing to compare it with."
    called = labels(rows)
    said: dict[str, list[str]] = {}
    for yardstick in main(rated, asked):
        clause = _clause(rated, anchor, yardstick, called, asked)
        said.setdefault(clause, []).append(yardstick.at(deep))
    text = "; ".join(f"at {' and at '.join(at)} {clause}" for clause, at in said.items())
    return f"{text[0].upper()}{text[1:]}."


def _clause(
    rows: Sequence[Row],
    anchor: str,
    yardstick: Yardstick,
    called: Mapping[str, str],
    asked: Asked,
) -> str:
    settled = hypotheses.settled(asked, rows)
    found: dict[Verdict, list[str]] = {kind: [] for kind in Verdict}
    for row in sorted(rows, key=lambda row: -(number(row, yardstick.column) or 0)):
        kind = verdict(row, anchor, yardstick, asked)
        is_settled = settled == (yardstick.column, entry(row))
        if kind and not (kind is Verdict.UNDECIDED and is_settled):
            found[kind].append(called[entry(row)])
    stronger = found[Verdict.STRONGER]
    verb = "is" if len(stronger) < 2 else "are"
    others = [
        f"{kind}: {_names(found[kind])}"
        for kind in (Verdict.EQUIVALENT, Verdict.UNDECIDED, Verdict.WEAKER)
        if found[kind]
    ]
    rest = f" ({'; '.join(others)})" if others else ""
    return f"{_names(stronger) or 'none'} {verb} stronger than {called.get(anchor, anchor)}{rest}"


def _names(names: Sequence[str]) -> str:
    between = " and " if any("," in name for name in names) else ", "
    return str(len(names)) if len(names) > MOST_NAMES else between.join(names)


def design(rows: Sequence[Row], nodes: tuple[int, int], games: Mapping[Yardstick, int]) -> str:
    """How many sets, trainings and games a table is of; what isn't known is left out."""
    seeds = sorted({int(row["seeds"]) for row in rows if row.get("seeds")})
    told = [f"{len(rows)} row{'s' if len(rows) > 1 else ''}"]
    if seeds:
        many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
        told.append(f"{many} training{'s' if seeds[-1] > 1 else ''} of each")
    told += [f"{nodes[0]:,} nodes a move"] * bool(nodes[0])
    played = "; ".join(f"{number:,} at {kind.at(nodes[1])}" for kind, number in games.items())
    return f"{', '.join(told)}.{f' Games: {played}.' if played else ''}"


def losses(rows: Sequence[Row]) -> str:
    """Who has the smallest validation loss, and who is as near to it as seeds to one another."""
    found = [row for row in rows if number(row, "val_loss_mean") is not None]
    if len(found) < 2:
        return ""
    found.sort(key=lambda row: float(row["val_loss_mean"]))
    least, called = found[0], labels(rows)
    near = [
        called[entry(row)]
        for row in found[1:]
        if float(row["val_loss_mean"]) - float(least["val_loss_mean"])
        <= max(number(r, "val_loss_sd") or 0 for r in (row, least))
    ]
    told = f"; within the spread of the seeds: {', '.join(near)}" if near else ""
    return (
        f"The smallest validation loss, {least['val_loss_mean']}, is that of "
        f"{called[entry(least)]}{told}."
    )


def _p(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def column_of(yardstick: Yardstick) -> str:
    """Name of the column with its verdicts, which stands on the page alone.

    >>> column_of(NODES), column_of(COST)
    ('verdict', 'verdict_cost')
    """
    return yardstick.column.replace("elo", "verdict")
