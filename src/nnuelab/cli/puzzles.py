"""Puzzles: `nnuelab puzzles`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, Workers, app
from nnuelab.cli.options import limit_of, with_settings
from nnuelab.cli.tournament import Depth, Movetime
from nnuelab.settings.games import Games, Puzzling

EMBEDDED = artifacts.RESOURCES / "embedded" / "puzzles.csv.gz"
THEMES_SHOWN = 12


@app.command()
@with_settings()
def puzzles(
    *,
    file: Annotated[
        Path,
        typer.Argument(
            help="Puzzles: Lichess' CSV, short or full, plain or compressed.",
            show_default="the project's own",
        ),
    ] = EMBEDDED,
    net: Annotated[
        str,
        typer.Option(
            help="A net, `default` (the shipped one), a hand-crafted evaluation, or a UCI engine.",
            autocompletion=completion.players,
        ),
    ] = "default",
    settings: Puzzling,
    depth: Depth = None,
    movetime: Movetime = None,
    output: Annotated[
        Path | None, typer.Option(help="JSON: totals, all groups, wrong answers.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="The groups as CSV.")] = None,
    workers: Workers = 0,
    hash: Annotated[int, typer.Option(help="Hash table, MB.", min=1, max=65536)] = Games.hash,
    blocks: Blocks = None,
) -> None:
    """Solve puzzles with a net; accuracy by rating and theme, with 95 % Wilson intervals.

    A move is right if it is the expected one, or mates where that mates. Accuracy is right moves
    / moves. With --output, interrupted runs resume. At fixed nodes or depth the result is the same
    for any number of workers.

    Example: nnuelab puzzles puzzles.csv --net results/nets/ALL/1/net.nnue --nodes 1000
    --output results/puzzles.json

    Example: nnuelab puzzles --net stockfish --depth 8 --count 500 --csv groups.csv
    """

    from nnuelab.report import inspect, render
    from nnuelab.tournament import puzzle_scores as scores
    from nnuelab.tournament import puzzles as asked
    from nnuelab.tournament.players import Defaults, modules, read_players

    limit = limit_of(Puzzling, nodes=settings.nodes, depth=depth, movetime=movetime)
    outputs = [path for path in (output, csv) if path is not None]
    artifacts.check_apart([file, net, *(blocks or [])], outputs)
    entrant = read_players(None, [f"player={net}"], Defaults(limit, hash))["player"]
    artifacts.check_apart(entrant.files().values(), outputs)
    chosen = asked.read(file)[: settings.count or None]
    partial = output and output.with_name(output.name + ".partial")
    found = asked.answers(chosen, entrant, source=file, partial_file=partial, processes=workers)
    told = scores.told(chosen, found)
    content = {"player": entrant.settings(), **told, "missed": list(asked.missed(chosen, found))}
    record: dict[str, Any] = {
        "inputs": {"puzzles": file, **entrant.files()},
        "parameters": {**entrant.settings(), "count": settings.count},
        "module": ["tournament.puzzle_scores", *modules([entrant])],
    }
    if output is not None:
        artifacts.write_json(output, content)
        artifacts.provenance(output, **record)
    if csv is not None:
        with artifacts.atomic(csv) as temporary:
            temporary.write_text(scores.to_csv(scores.groups(chosen, found)))
        artifacts.provenance(csv, **record)
    with render.output() as console:
        render.show(inspect.of_puzzles(output or file, content, THEMES_SHOWN), console)
