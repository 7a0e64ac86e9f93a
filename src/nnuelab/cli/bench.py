"""Command bench: speed, against a reference that is measured in the same run."""

from __future__ import annotations

import importlib
import json
from typing import Annotated, Any

import typer

from nnuelab.cli.app import app
from nnuelab.errors import UserError

BENCHMARKS = {  # name -> module and function that returns the rows
    "data": "nnuelab.data.bench:data_rows",
    "search": "nnuelab.engine.bench:search_rows",
    "features": "nnuelab.engine.feature_bench:feature_rows",
    "kernels": "nnuelab.engine.bench:kernel_rows",
    "latency": "nnuelab.engine.latency_bench:latency_rows",
    "perft": "nnuelab.engine.bench:perft_rows",
    "selfplay": "nnuelab.selfplay.bench:selfplay_rows",
    "train": "nnuelab.nnue.bench:train_rows",
}
COLUMNS = ("name", "ours", "reference", "unit", "ratio", "at_least", "aim")


@app.command()
def bench(
    name: Annotated[
        str,
        typer.Argument(
            help=f"One of {', '.join(BENCHMARKS)}.", autocompletion=lambda: list(BENCHMARKS)
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Measure speed: medians of several rounds, taken in turn with the reference.

    Example: nnuelab bench search
    """
    if name not in BENCHMARKS:
        raise typer.BadParameter(f"no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    module, function = BENCHMARKS[name].split(":")
    try:
        measure = getattr(importlib.import_module(module), function)
    except ModuleNotFoundError as error:
        raise UserError(f"bench {name} needs {error.name}; run ./run --setup") from error
    rows: list[dict[str, Any]] = measure()
    if as_json:
        for row in rows:
            print(json.dumps({column: row[column] for column in COLUMNS}))
    else:
        _print_table(rows)


def _print_table(rows: list[dict[str, Any]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table()
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("name", "unit") else "right")
    for row in rows:
        cells = [_cell(row[column]) for column in COLUMNS]
        table.add_row(*cells, style=_style(row))
    Console().print(table)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"
    return str(value)


def _style(row: dict[str, Any]) -> str:
    missed = None not in (row["ratio"], row["at_least"]) and row["ratio"] < row["at_least"]
    return "red" if missed else ""
