"""The results in words, generated from the numbers of the tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nnuelab.report.table import entry

Row = Mapping[str, str]


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
            f"{float(best['elo']) - float(second['elo']):.1f} points behind it."
        )
    worst = rated[-1]
    if entry(worst) not in (anchor, entry(best), entry(second)):
        said.append(f"The weakest is {entry(worst)} at {_elo(worst)}. {_sure(worst, anchor)}")
    losses = [row for row in rows if number(row, "val_loss_mean") is not None]
    if len(losses) > 1:
        least = min(losses, key=lambda row: float(row["val_loss_mean"]))
        also = ", the strongest one" if least is best else ""
        said.append(
            f"The smallest validation loss, {least['val_loss_mean']}, is that of "
            f"{entry(least)}{also}."
        )
    said.append(_time(rated, anchor))
    return [sentence for sentence in said if sentence]


def _elo(row: Row, column: str = "elo") -> str:
    return f"{float(row[column]):+.1f}"


def _errors(row: Row, column: str = "elo") -> str:
    said = []
    if row.get(f"{column}_error_games"):
        said.append(f"\u00b1{row[f'{column}_error_games']} from the games")
    if row.get(f"{column}_error_seeds"):
        said.append(f"\u00b1{row[f'{column}_error_seeds']} with new trainings")
    return " and ".join(said) or "with no error known"


def _sure(row: Row, anchor: str, column: str = "elo") -> str:
    """What the two errors allow to say of a set and the anchor."""
    elo = float(row[column])
    games, seeds = number(row, f"{column}_error_games"), number(row, f"{column}_error_seeds")
    word = "stronger" if elo > 0 else "weaker"
    # Few seeds may lie close by chance: new trainings are never surer than these very nets.
    if seeds is not None and abs(elo) > max(seeds, games or 0):
        return f"That it is {word} than {anchor} would also hold for new trainings (95 %)."
    if games is not None and abs(elo) > games:
        why = (
            "with one seed, nothing is known about new trainings"
            if seeds is None
            else "new trainings could turn it round"
        )
        return f"These very nets are {word} than those of {anchor} (95 %), but {why}."
    return f"That isn't enough to tell it from {anchor}."


def _time(rated: Sequence[Row], anchor: str) -> str:
    timed = sorted(
        (row for row in rated if number(row, "elo_time") is not None),
        key=lambda row: -float(row["elo_time"]),
    )
    if not timed:
        return "Games at a fixed time per move, where speed counts, too, were not played."
    best = timed[0]
    if entry(best) == anchor:
        return f"At a fixed time per move {anchor} is the strongest."
    return (
        f"At a fixed time per move {entry(best)} is the strongest: "
        f"{_elo(best, 'elo_time')}, {_errors(best, 'elo_time')}. "
        f"{_sure(best, anchor, 'elo_time')}"
    )
