"""``nnuelab check-engine``: engines' evaluations and features against a net, or a set alone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import files
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app
from nnuelab.errors import UserError
from nnuelab.settings import MAX_SEED


@app.command("check-engine")
def check_engine(
    engines: Annotated[
        list[Path],
        typer.Argument(
            metavar="ENGINE...",
            help="UCI engine, or an exported .so; several builds are checked in turn.",
        ),
    ],
    net: Annotated[
        Path | None,
        typer.Option(
            help="The net that it plays with; its `eval` is asked.", autocompletion=completion.nets
        ),
    ] = None,
    features: Annotated[
        str | None,
        typer.Option(
            help="Its feature set; its rows alone are asked where no net is given.",
            autocompletion=completion.feature_sets,
        ),
    ] = None,
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
    ask: Annotated[
        str | None,
        typer.Option(
            help="Its command that lists active features.",
            show_default="features, with --features or an .so",
        ),
    ] = None,
    own_numbers: Annotated[
        bool,
        typer.Option("--own-numbers", help="It numbers features in a way of its own: find it out."),
    ] = False,
    rows: Annotated[
        str | None,
        typer.Option(
            help="What to look for in that answer, a list in (...) for each side.",
            show_default="stm: and other:, then numbers",
        ),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1, help="Let all builds search each game's middle: they must say the same."
        ),
    ] = None,
    patience: Annotated[
        float, typer.Option(min=0.1, help="Seconds for an answer or a search.")
    ] = 10.0,
    blocks: Blocks = None,
) -> None:
    """Compare an engine's evaluations and features with the right ones; shrink what is wrong.

    Example: nnuelab check-engine my-engine/nnue/libnnue.so --net net.nnue

    Example: nnuelab check-engine ./avx2 ./avx512 --features 'HALFKAV2_HM+FULL_THREATS(16)'
    --own-numbers --depth 8
    """
    from nnuelab import features as sets
    from nnuelab.export.check_engine import PATTERN, ROWS, Reading, check, games_of
    from nnuelab.export.check_search import compare
    from nnuelab.features.check import random_games
    from nnuelab.nnue.netfile import read_net

    pattern, rows = pattern or PATTERN, rows or ROWS
    for option, text in (("--pattern", pattern), ("--rows", rows)):
        try:
            groups = re.compile(text).groups
        except re.error as error:
            raise UserError(f"{option} {text!r} is no regular expression: {error}") from None
        if not groups:
            raise UserError(f"{option} {text!r} has no group (...) for what it looks for")
    if pgn is not None:
        files.check(pgn)
    asked = None if features is None else sets.parse(features)
    right = net or asked
    if right is None and (depth is None or ask or own_numbers):
        raise typer.BadParameter("give --net, --features, or both")
    if depth is not None and (len(engines) < 2 or any(each.suffix == ".so" for each in engines)):
        raise typer.BadParameter("--depth compares two or more UCI engines, builds of one")
    if net and asked and (found := read_net(net).features.name) != asked.name:
        raise UserError(f"{net} is a net of {found}, not of {asked.name}")
    ask = ask or ("features" if asked or own_numbers else None)
    reading = Reading(pattern, pawns, white, tolerance, patience, ask, rows, own_numbers)
    lines = random_games(games, seed) + ([] if pgn is None else list(games_of(pgn)))
    if not lines:
        raise typer.BadParameter("no game to check: give more than 0 --games, or --pgn")
    wrong: list[str] = []
    for engine in engines:
        if right is None:
            break
        try:
            told = check(engine, right, reading, lines)
        except UserError as error:  # the others are checked all the same
            wrong.append(str(error))
            continue
        if told.mistake is not None:
            wrong.append(f"{engine}, after {told.right:,} right positions, {told.mistake}")
            continue
        seen = f"; {told.seen:,} of {told.features:,} features were active" if told.seen else ""
        typer.echo(f"{engine}: {told.right:,} positions, all right{seen}")
        if engine.suffix != ".so" and depth is None:
            typer.echo(f"{engine}: what its search does behind `go` wasn't checked", err=True)
    if depth is not None:
        try:
            alike = compare(engines, lines, depth, patience)
            typer.echo(f"{alike:,} searches, alike in all {len(engines)} engines")
        except UserError as error:
            wrong.append(str(error))
    if wrong:
        raise UserError("\n".join(dict.fromkeys(wrong)))
