"""``nnuelab check-engine``: an engine's evaluations and features against those of a net."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.errors import UserError
from nnuelab.settings import MAX_SEED


@app.command("check-engine")
def check_engine(
    engine: Annotated[
        Path,
        typer.Argument(metavar="ENGINE", help="UCI engine with `eval`, or an exported .so."),
    ],
    net: Annotated[
        Path,
        typer.Option(help="The net that it plays with.", autocompletion=completion.nets),
    ],
    games: Annotated[int, typer.Option(min=0, help="Random games.")] = 100,
    pgn: Annotated[Path | None, typer.Option(help="Real games as well, PGN.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of the random games.")] = 0,
    pattern: Annotated[
        str | None,
        typer.Option(
            help="What to look for in the answer to `eval`, its number in (...).",
            show_default="evaluation, then a number",
        ),
    ] = None,
    pawns: Annotated[bool, typer.Option("--pawns", help="It tells pawns.")] = False,
    white: Annotated[bool, typer.Option("--white", help="It tells White's view.")] = False,
    tolerance: Annotated[
        float, typer.Option(min=0, help="Centipawns that it may differ, by rounding.")
    ] = 0.0,
    features: Annotated[
        str | None,
        typer.Option(help="Its command that lists active features; an .so is asked for them."),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            help="What to look for in that answer, a list in (...) for each side.",
            show_default="stm: and other:, then numbers",
        ),
    ] = None,
    patience: Annotated[float, typer.Option(min=0.1, help="Seconds for an answer.")] = 10.0,
    blocks: Blocks = None,
) -> None:
    """Compare an engine's evaluations and features with a net's; show the shortest wrong line.

    Example: nnuelab check-engine my-engine/nnue/libnnue.so --net net.nnue
    """
    from nnuelab.export.check_engine import PATTERN, ROWS, Reading, check

    pattern, rows = pattern or PATTERN, rows or ROWS
    for option, text in (("--pattern", pattern), ("--rows", rows)):
        try:
            groups = re.compile(text).groups
        except re.error as error:
            raise UserError(f"{option} {text!r} is no regular expression: {error}") from None
        if not groups:
            raise UserError(f"{option} {text!r} has no group (...) for what it looks for")
    if pgn is not None and not pgn.is_file():
        raise UserError(f"there is no file {pgn}")
    reading = Reading(pattern, pawns, white, tolerance, patience, features, rows)
    right, mistake = check(engine, net, reading, games, seed, pgn)
    if mistake is not None:
        raise UserError(f"{engine}, after {right:,} right positions, {mistake}")
    typer.echo(f"{engine}: {right:,} positions, all right")
