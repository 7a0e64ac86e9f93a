"""The tables of docs/importance.md are what the published tables say.

`python -m tests.test_importance_page` prints them.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator

from .conftest import ROOT

PUBLISHED = ROOT / "results/published/importance"
Row = dict[str, str]


def read(name: str) -> tuple[list[Row], float]:
    """The rows of a table, and the loss of the net with all its features."""
    path = PUBLISHED / f"{name}.csv"
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return rows, json.loads(path.with_suffix(".csv.json").read_text())["parameters"]["loss"]


def rise(row: Row, loss: float, what: str = "rise", form: str = ".0f") -> str:
    """In per cent of the loss, with its error."""
    value, error = (100 * float(row[name]) / loss for name in (what, f"{what}_error"))
    return f"{value:{form}} ± {error:{form.removeprefix('+')}}".replace("-", "\N{MINUS SIGN}")


def both(row: Row, loss: float, form: str = ".0f") -> str:
    """As the net is, and fitted anew."""
    return f"{rise(row, loss, form=form)} | {rise(row, loss, 'refit_rise', form)}"


def lines() -> Iterator[str]:
    """Of the five blocks: two nets."""
    (first, loss), (second, other) = read("lines-1"), read("lines-2")
    for one, two in zip(first, second, strict=True):
        rises = (
            f"{rise(one, loss, what)}, {rise(two, other, what)}" for what in ("rise", "refit_rise")
        )
        norms = f"{float(one['norm']):.1f}, {float(two['norm']):.1f}"
        yield f"| {one['group']} | {norms} | {' | '.join(rises)} | "


def roles() -> Iterator[str]:
    rows, loss = read("mobility")
    of = {row["group"]: row for row in rows}
    for role in ("pawn", "knight", "bishop", "rook", "queen", "king"):
        yield f"| {role} | {both(of[f'ALL, {role}'], loss)} | {both(of[f'MB, {role}'], loss)} |"


def pairs() -> Iterator[str]:
    (usual, loss), (slow, other) = read("pairs"), read("pairs-slow")
    for apart, (one, two) in enumerate(zip(usual, slow, strict=True)):
        assert one["group"] == two["group"] == f"PP, {apart} files apart"
        elo = f"{float(two['elo']):+.0f} ± {float(two['elo_error']):.0f}"
        yield (
            f"| {apart} | {float(one['active']):.1f} | {both(one, loss, '+.1f')} "
            f"| {both(two, other, '+.1f')} | {elo} |"
        ).replace("-", "\N{MINUS SIGN}")


def path() -> Iterator[str]:
    """The price at which each gate is closed, and the rise without all that are closed there."""
    for seed in (1, 2):
        rows, loss = read(f"path-{seed}")
        closed: dict[str, Row] = {}
        for row in rows:
            if float(row["gate"]) == 0:
                closed.setdefault(row["group"], row)
        order = [closed[f"PP, {apart} files apart"] for apart in (0, 7, 6, 5, 4, 3, 2, 1)]
        found = [float(row["penalty"]) for row in order]
        prices = " | ".join(f"{p:.1f}" if p >= 1 else f"{p:.2f}".lstrip("0") for p in found)
        yield f"| seed {seed}: closed at | {prices} |"
        yield f"| rise, % | {' | '.join(rise(row, loss, form='+.1f') for row in order)} |"


def together() -> Iterator[str]:
    """All far pairs, and all near ones, of both nets: in the text."""
    for which in ("far", "near"):
        for name in ("pairs", "pairs-slow"):
            (row,), loss = read(f"{name}-{which}")
            yield f"{rise(row, loss, form='+.0f')} ({rise(row, loss, 'refit_rise', '+.0f')})"


TABLES = (lines, roles, pairs, path)


def test_all_numbers_are_those_of_the_published_tables() -> None:
    page = (ROOT / "docs/importance.md").read_text()
    for line in [line for table in TABLES for line in table()]:
        assert f"\n{line}" in page, line
    text = page.replace(" % (fitted anew\n  ", " (")
    for told in together():
        assert f" {told}" in text, told


if __name__ == "__main__":
    for table in (*TABLES, together):
        print(*table(), sep="\n")
