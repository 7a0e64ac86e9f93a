"""The results in words, generated from the numbers of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nnuelab.report.table import entry
from nnuelab.tournament import yardsticks
from nnuelab.tournament.adjusted import LEVEL
from nnuelab.tournament.yardsticks import COST, TIME

Row = Mapping[str, str]

ADJUSTED = {yardstick.column: yardstick.p for yardstick in yardsticks.ALL}  # of which strength


def number(row: Row, column: str) -> float | None:
    """A cell as a number, None where nothing was measured."""
    return float(row[column]) if row.get(column) else None


def summary(rows: Sequence[Row], anchor: str) -> list[str]:
    """Sentences about who won, by how much, and how sure that is."""
    rated = sorted(
        (row for row in rows if number(row, "elo") is not None), key=lambda row: -float(row["elo"])
    )
    if not rated:
        return ["No set has a rating yet."]
    if len(rated) == 1:
        return [f"{entry(rated[0])} is alone: there is nothing to compare it with."]
    said = []
    best, second = rated[0], rated[1]
    if entry(best) == anchor:
        said.append(
            f"{anchor}, the anchor, is the strongest; {entry(second)} comes next, "
            f"{_elo(second)} points. {_sure(second, anchor)}"
        )
    else:
        said.append(
            f"{entry(best)} is the strongest: {_elo(best)} points relative to {anchor}, "
            f"{_errors(best)}. {_sure(best, anchor)} The next, {entry(second)}, is "
            f"{float(best['elo']) - float(second['elo']):.1f} points behind it"
            f"{'' if entry(second) == anchor else _apart(best, second)}."
        )
    worst = rated[-1]
    if entry(worst) not in (anchor, entry(best), entry(second)):
        said.append(f"The weakest is {entry(worst)} at {_elo(worst)}. {_sure(worst, anchor)}")
    losses = [row for row in rows if number(row, "val_loss_mean") is not None]
    if len(losses) > 1:
        said.append(_losses(losses, best))
    said.append(_paid(rated, anchor))
    return [sentence for sentence in said if sentence]


def _losses(rows: Sequence[Row], best: Row) -> str:
    """Who has the smallest validation loss, and who is as near to it as seeds to one another."""
    rows = sorted(rows, key=lambda row: float(row["val_loss_mean"]))
    least = rows[0]
    also = ", the strongest one" if least is best else ""
    near = [
        entry(row)
        for row in rows[1:]
        if float(row["val_loss_mean"]) - float(least["val_loss_mean"])
        <= max(number(r, "val_loss_sd") or 0 for r in (row, least))
    ]
    told = f"; within the spread of the seeds: {', '.join(near)}" if near else ""
    return (
        f"The smallest validation loss, {least['val_loss_mean']}, is that of "
        f"{entry(least)}{also}{told}."
    )


def _apart(a: Row, b: Row) -> str:
    """Said of two sets, neither of them the anchor, that are nearer than their errors."""
    errors = [number(r, "elo_error") or number(r, "elo_error_games") or 0 for r in (a, b)]
    near = float(a["elo"]) - float(b["elo"]) <= max(errors)
    return ", which isn't enough to tell them apart" if near else ""


def _elo(row: Row, column: str = "elo") -> str:
    return f"{float(row[column]):+.1f}"


def _errors(row: Row, column: str = "elo") -> str:
    if row.get(f"{column}_error"):
        return f"\u00b1{row[f'{column}_error']}"
    if row.get(f"{column}_error_games"):
        return f"\u00b1{row[f'{column}_error_games']} of the games alone"
    return "with no error known"


def _sure(row: Row, anchor: str, column: str = "elo") -> str:
    """What the errors allow to say of a set and the anchor, among all sets of the table."""
    elo = float(row[column])
    games, error = number(row, f"{column}_error_games"), number(row, f"{column}_error")
    adjusted = number(row, ADJUSTED[column])
    word = "stronger" if elo > 0 else "weaker"
    if adjusted is not None and adjusted < LEVEL:
        return (
            f"That it is {word} than {anchor} would also hold for new trainings "
            f"(p {_p(adjusted)}, all sets taken together)."
        )
    if error is not None and abs(elo) > error:
        return (
            f"Alone, it would be told from {anchor} (95 %); among all these sets it isn't "
            f"(p {_p(adjusted)})."
        )
    if games is not None and abs(elo) > games:
        why = (
            "nothing is known about new trainings"
            if error is None
            else "new trainings could turn it round"
        )
        return f"These very nets are {word} than those of {anchor} (95 %), but {why}."
    return f"That isn't enough to tell it from {anchor}."


def _p(value: float | None) -> str:
    if value is None:
        return "unknown"
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _paid(rated: Sequence[Row], anchor: str) -> str:
    """Who is the strongest where speed counts, too: at equal cost, or else at fixed time."""
    for yardstick in (COST, TIME):
        column, where = yardstick.column, f"At {yardstick.title}"
        found = [row for row in rated if number(row, column) is not None]
        if found:
            break
    else:
        return "Games at equal cost, where speed counts, too, were not played."
    found.sort(key=lambda row: -float(row[column]))
    best = found[0]
    if entry(best) != anchor:
        return (
            f"{where} {entry(best)} is the strongest: {_elo(best, column)}, "
            f"{_errors(best, column)}. {_sure(best, anchor, column)}"
        )
    if len(found) == 1:
        return f"{where} only {anchor} has a rating."
    second = found[1]
    return (
        f"{where} {anchor} is the strongest; {entry(second)} comes next, {_elo(second, column)}, "
        f"{_errors(second, column)}. {_sure(second, anchor, column)}"
    )
