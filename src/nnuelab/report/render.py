"""Summaries on a terminal."""

from __future__ import annotations

from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from nnuelab.report import table
from nnuelab.report.inspect import Summary


def show(summary: Summary, console: Console) -> None:
    """Prints what it is, what is in it, and where it came from."""
    size = summary.path.stat().st_size
    console.print(f"[bold]{summary.path}[/bold]: {summary.kind}, {size:,} bytes", highlight=False)
    if summary.facts:
        console.print(_pairs({name.replace("_", " "): v for name, v in summary.facts.items()}))
    for title, rows in summary.tables.items():
        if not rows:
            continue
        console.print(f"\n[bold]{title}[/bold]")
        if summary.kind == "table":
            text = [{k: table.cell(k, v) for k, v in row.items()} for row in rows]
            console.print(_grid(*table.readable(text, narrow=True)))
            if table.has_published(text):
                console.print(f"\n{table.PUBLISHED_NOTE}", highlight=False)
        else:
            console.print(_grid(list(rows[0]), [[_text(v) for v in row.values()] for row in rows]))
    if summary.provenance:
        console.print("\n[bold]where it came from[/bold]")
        console.print(_pairs(_flat(summary.provenance)))


def _grid(head: list[str], body: list[list[str]]) -> Table:
    grid = Table(box=None, pad_edge=False, header_style="italic")
    for i, title in enumerate(head):
        numeric = all(_is_number(line[i].split(" ")[0]) for line in body)
        justify: Literal["right", "left"] = "right" if numeric else "left"
        grid.add_column(title.replace("_", " "), justify=justify, no_wrap=numeric)
    for line in body:
        grid.add_row(*line)
    return grid


def _pairs(values: dict[str, Any]) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False)
    grid.add_column(style="italic", no_wrap=True)
    grid.add_column()
    for name, value in values.items():
        grid.add_row(name, _text(value))
    return grid


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


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", "") or "0")
    except ValueError:
        return False
    return True
