"""Command datagen: generated games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, Seed, ShippedNet, Workers, app


@app.command()
def datagen(
    output: Annotated[Path, typer.Option(help="Games, .pgn.zst.")],
    games: Annotated[int, typer.Option(min=1, help="How many games.")] = 12_000,
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes per search; or:")] = None,
    depth: Annotated[int | None, typer.Option(min=1, help="Depth per search.")] = None,
    net: ShippedNet = None,
    engine: Annotated[
        str | None, typer.Option(help="UCI engine that plays instead: a path, or a name on PATH.")
    ] = None,
    random_plies: Annotated[int, typer.Option(min=4, help="Random plies first, or one more.")] = 8,
    max_opening_score: Annotated[
        int, typer.Option(min=1, help="Balance of openings, centipawns.")
    ] = 100,
    seed: Seed = 1,
    compression: Annotated[
        int, typer.Option(min=1, max=22, help="zstd's level; 22 is 15 % smaller, and slow.")
    ] = 12,
    workers: Workers = 0,
    blocks: Blocks = None,
) -> None:
    """Play games of the engine against itself, with evaluations, as training data.

    Interrupted runs resume. The file is the same for any number of workers.

    Example: nnuelab datagen --net results/nets/ALL/1/net.nnue --output games.pgn.zst --games 100
    """
    from nnuelab.selfplay.datagen import Parameters, Source
    from nnuelab.selfplay.datagen import datagen as play_games
    from nnuelab.tournament.limits import Limit

    if net is not None and engine is not None:
        raise typer.BadParameter("give --net or --engine, not both: a net is for this engine")
    if nodes is not None and depth is not None:
        raise typer.BadParameter("give --nodes or --depth, not both")
    given = [file for file in (net, engine, *(blocks or [])) if file is not None]
    artifacts.check_apart(given, [output])
    artifacts.check_ending(output, "generated games", ".pgn.zst")
    limit = Limit(depth=depth) if depth is not None else Limit(nodes=nodes or 5000)
    parameters = Parameters(limit, random_plies, max_opening_score, seed)
    results, speed = play_games(
        output, Source(engine, net), games, parameters, compression=compression, workers=workers
    )
    typer.echo(f"{output}: {games:,} games", err=True)
    for result, count in sorted(results.items()):
        typer.echo(f"{result} {count}", err=True)
    if speed.searched:
        typer.echo(str(speed), err=True)
