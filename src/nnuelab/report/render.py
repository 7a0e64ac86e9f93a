"""Summaries on a terminal."""

from __future__ import annotations

import csv
import io
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from rich.columns import Columns
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from nnuelab.errors import clipped
from nnuelab.report import readable, table
from nnuelab.report.diff import Difference
from nnuelab.report.inspect import BOARDS, Summary

SHORT = 12  # letters of a text
NARROW = 80  # columns of what stands side by side
UNLIMITED = 100_000


@contextmanager
def output() -> Iterator[Console]:
    """Prints to stdout: as wide as the terminal; elsewhere a row is one line, however long.

    COLUMNS says otherwise.
    """
    if sys.stdout.isatty() or os.environ.get("COLUMNS"):
        yield Console()
        return
    console = Console(file=io.StringIO(), width=UNLIMITED)
    yield console
    assert isinstance(console.file, io.StringIO)
    for line in console.file.getvalue().splitlines():
        print(line.rstrip())


def show(summary: Summary, console: Console) -> None:
    """Prints what it is, what is in it, and where it came from; the table of an experiment last."""
    size = summary.path.stat().st_size
    path = _named(summary.path)
    console.print(f"[bold]{path}[/bold]: {summary.kind}, {size:,} bytes", highlight=False)
    _facts(summary.facts, console)
    made = summary.provenance
    if made and summary.kind == "table":
        console.print(
            f"made from {len(made.get('inputs', {}))} files, which {path}.json lists",
            highlight=False,
        )
        made = None
    for title, rows in summary.tables.items():
        if not rows:
            continue
        console.print(f"\n[bold]{_named(title)}[/bold]")
        if title == BOARDS:
            console.print(_boards(rows), width=min(console.width, NARROW))
        elif summary.kind == "table":
            text = [{k: table.cell(k, v) for k, v in row.items()} for row in rows]
            deep = summary.facts.get("nodes_deep", 0)
            _print(*readable.head_and_lines(text, deep, narrow=True), console)
            if readable.has_published(text):
                console.print(f"\n{readable.PUBLISHED_NOTE}", highlight=False)
        else:
            _print(list(rows[0]), [[_text(v) for v in row.values()] for row in rows], console)
    if made:
        console.print("\n[bold]where it came from[/bold]")
        console.print(_pairs(_flat(made)))


def show_difference(found: Difference, a: Path, b: Path, console: Console) -> None:
    """Prints the differences between two files."""
    console.print(f"[bold]a[/bold] {_named(a)}\n[bold]b[/bold] {_named(b)}", highlight=False)
    _facts(found.facts, console)
    for title, rows in found.tables.items():
        console.print(
            f"\n[bold]{_named(title)}[/bold]" + ("" if rows else ": none"), highlight=False
        )
        if rows:
            _print(list(rows[0]), [[_text(v) for v in row.values()] for row in rows], console)


def print_rows(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Prints a table: laid out on a terminal, elsewhere as CSV, each line as soon as it is known.

    On a terminal, what is the same in all rows stands above them, and rows that were known when
    something interrupted the others are printed, too.
    """
    if not sys.stdout.isatty():
        lines = csv.writer(sys.stdout, lineterminator="\n")
        lines.writerow(head)
        for row in rows:
            lines.writerow(row)
            sys.stdout.flush()
        return
    body: list[list[str]] = []
    try:
        for row in rows:
            body.append([str(cell) for cell in row])
    finally:
        _lay_out(head, body, Console())


def _lay_out(head: Sequence[str], body: list[list[str]], console: Console) -> None:
    columns = dict(zip(head, zip(*body, strict=True), strict=True)) if body else {}
    same = {name: cells[0] for name, cells in columns.items() if len(set(cells)) == 1 < len(body)}
    _facts({name: cell for name, cell in same.items() if cell}, console)
    if same and len(same) < len(head):
        console.print()
    kept = [i for i, name in enumerate(head) if name not in same]
    if kept:
        _print([head[i] for i in kept], [[line[i] for i in kept] for line in body], console)


def print_csv(text: str) -> None:
    """Prints the text of a CSV file: laid out on a terminal, elsewhere as it is."""
    if sys.stdout.isatty():
        head, *rows = csv.reader(io.StringIO(text))
        print_rows(head, rows)
    else:
        sys.stdout.write(text)


def _facts(facts: dict[str, Any], console: Console) -> None:
    if facts:
        console.print(_pairs({name.replace("_", " "): v for name, v in facts.items()}))


def _print(head: list[str], body: list[list[str]], console: Console) -> None:
    """Prints a table; one with too many numbers in parts, each with the first column."""
    columns = list(zip(head, *body, strict=True))
    first = _least_width(columns[0], max(SHORT, console.width // 3))
    parts, used = [[0]], first
    for i, column in enumerate(columns[1:], 1):
        width = 2 + _least_width(column, SHORT)
        if len(parts[-1]) > 1 and used + width > console.width:
            parts.append([0])
            used = first
        parts[-1].append(i)
        used += width
    for number, part in enumerate(parts):
        if number:
            console.print()
        console.print(_grid([head[i] for i in part], [[line[i] for i in part] for line in body]))


def _least_width(column: tuple[str, ...], short: int) -> int:
    """The width a column needs, title first: numbers and short texts don't wrap, long texts do."""
    longest = max(map(len, column))
    return longest if _numeric(column[1:]) else min(longest, short)


def _boards(rows: list[dict[str, Any]]) -> Columns:
    """Boards side by side, as many as fit, with score and move."""
    return Columns(
        [
            Text(f"{row['board']}\n\nscore {_text(row['score'])}, played {_text(row['move'])}")
            for row in rows
        ],
        padding=(0, 4),
    )


def _grid(head: list[str], body: list[list[str]]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="italic")
    for i, title in enumerate(head):
        numeric = _numeric([line[i] for line in body])
        justify: Literal["right", "left"] = "right" if numeric else "left"
        grid.add_column(
            _literal(title.replace("_", " ")), justify=justify, no_wrap=numeric, overflow="fold"
        )
    for line in body:
        grid.add_row(*map(_literal, line))
    return grid


def _pairs(values: dict[str, Any]) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(style="italic", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in values.items():
        grid.add_row(_literal(name), _literal(_text(value)))
    return grid


def _literal(text: str) -> Text:
    """Text of a file, in which brackets are no markup and escape sequences none; not too long."""
    return Text(clipped(text))


def _named(what: object) -> str:
    """The same within a text that has markup."""
    return escape(clipped(str(what)))


def _flat(provenance: dict[str, Any]) -> dict[str, Any]:
    """Provenance in one line an entry."""
    shown = {}
    for name, value in provenance.items():
        if name == "inputs" and isinstance(value, dict):
            for key, source in value.items():
                place = "" if key == source["path"] else f"{source['path']}  "
                shown[f"input {key}"] = f"{place}sha256 {source['sha256'][:16]}"
        elif isinstance(value, dict):
            shown[name] = ", ".join(f"{key} {_text(item)}" for key, item in value.items())
        elif value is not None:
            shown[name] = value
    return shown


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _numeric(cells: Sequence[str]) -> bool:
    """Whether all are numbers or bounds, with their errors behind them or without."""
    return all(_is_number(cell.removeprefix("< ").split(" ")[0]) for cell in cells)


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "") or "0")
    except ValueError:
        return False
    return True
