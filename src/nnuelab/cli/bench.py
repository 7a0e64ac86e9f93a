"""Command bench: runs a benchmark of the repository's folder benchmarks/."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.sources import PACKAGE

CLONE = PACKAGE.parents[1]
COLUMNS = ("name", "ours", "reference", "unit", "ratio", "at_least", "aim")
WIDTHS = {"ours": 15, "reference": 14, "unit": 17, "ratio": 9, "at_least": 9, "aim": 9}


def _names() -> list[str]:
    files = sorted((CLONE / "benchmarks").glob("[a-z]*.py"))
    return [file.stem for file in files if file.stem != "harness"]


@app.command()
def bench(
    name: Annotated[
        str,
        typer.Argument(
            help="data, export, features, kernels, latency, layers, perft, policy, search, "
            "selfplay, texel or train.",
            autocompletion=_names,
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
) -> None:
    """Measure speed: medians of several rounds, alternating with the reference.

    Example: nnuelab bench search

    Example: nnuelab bench kernels --json > kernels.jsonl
    """
    names = _names()
    if not names:
        raise UserError(
            "the benchmarks are in the repository, not in the installed package: "
            "clone it and run `./run --setup` there"
        )
    if name not in names:
        raise typer.BadParameter(f"no benchmark {name!r}; there are {', '.join(names)}")
    sys.path.insert(0, str(CLONE))
    try:
        rows = importlib.import_module(f"benchmarks.{name}").rows()
    except ModuleNotFoundError as error:
        raise UserError(f"bench {name} needs {error.name}; run ./run --setup") from error
    if as_json:
        for row in rows:
            print(json.dumps({column: row[column] for column in COLUMNS}), flush=True)
    else:
        _print_table(rows)


def _print_table(rows: Iterable[dict[str, Any]]) -> None:
    """A line with the name, below it the figures: 80 columns, in a pipe, too. Then a verdict."""
    print(_line({name: name.replace("_", " ") for name in WIDTHS}))
    asked, missed = 0, []
    for row in rows:
        print(row["name"], flush=True)
        judged = None not in (row["ratio"], row["at_least"])
        asked += judged
        if judged and row["ratio"] < row["at_least"]:
            missed.append(row["name"])
        typer.secho(_line(row), fg="red" if row["name"] in missed else None)
    if missed:
        print(f"\n{len(missed)} of {asked} ratios are below what is asked: {', '.join(missed)}")
    elif asked:
        print(f"\nall ratios reach what is asked: {asked}")


def _line(row: dict[str, Any]) -> str:
    cells = (
        f"  {row[name]:<{width - 2}}" if name == "unit" else f"{_cell(row[name]):>{width}}"
        for name, width in WIDTHS.items()
    )
    return "".join(cells).rstrip()


def _cell(value: str | float | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.2f}"
