"""Command datagen: generated games."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks, ShippedNet, Workers, app
from nnuelab.cli.options import OnePart, Parts, limit_of, with_settings
from nnuelab.settings.games import Generating


@app.command()
@with_settings()
def datagen(
    *,
    output: Annotated[Path, typer.Option(help="Games, .pgn.zst.")],
    settings: Generating,
    depth: Annotated[
        int | None, typer.Option(min=1, help="Depth per search, instead of nodes.")
    ] = None,
    net: ShippedNet = None,
    engine: Annotated[
        str | None, typer.Option(help="UCI engine that plays instead: a path, or a name on PATH.")
    ] = None,
    compression: Annotated[
        int, typer.Option(min=1, max=22, help="zstd's level; 22 is 15 % smaller, and slow.")
    ] = 12,
    workers: Workers = 0,
    part: OnePart = None,
    parts: Parts = None,
    blocks: Blocks = None,
) -> None:
    """Generate training games by self-play, with evaluations.

    Interrupted runs resume; the file is the same for any number of workers. Games can be played in
    parts, on several machines, and put together by --parts, to the same bytes.

    Example: nnuelab datagen --net results/nets/ALL/1/net.nnue --output games.pgn.zst --games 100

    Example: nnuelab datagen --engine stockfish --depth 8 --games 20000 --seed 2 --part 2/7
    --output 2of7.part
    """
    from nnuelab.parts import Part
    from nnuelab.selfplay.datagen import Parameters
    from nnuelab.selfplay.datagen import datagen as play_games
    from nnuelab.tournament.limits import Limit

    source = _source(net, engine, [*(parts or []), *(blocks or [])], output)
    if part is None:
        artifacts.check_ending(output, "generated games", ".pgn.zst")
    else:
        artifacts.check_ending(output, "a part of generated games", ".part")
    if settings.nodes is not None and depth is not None:
        raise typer.BadParameter("give --nodes or --depth, not both")
    limit = Limit(**limit_of(Generating, nodes=settings.nodes, depth=depth))
    parameters = Parameters(limit, settings.random_plies, settings.max_opening_score, settings.seed)
    results, speed = play_games(
        output,
        source,
        settings.games,
        parameters,
        compression=compression,
        workers=workers,
        part=None if part is None else Part.parse(part),
        parts=parts or (),
    )
    typer.echo(f"{output}: {sum(results.values()):,} games", err=True)
    for result, count in sorted(results.items()):
        typer.echo(f"{result} {count}", err=True)
    if speed.searched:
        typer.echo(str(speed), err=True)


def _source(net: Path | None, engine: str | None, others: list[Path], output: Path) -> Any:
    """Who plays, and not into one of its own files."""
    from nnuelab import evaluator
    from nnuelab.selfplay.datagen import Source

    if net is not None and engine is not None:
        raise typer.BadParameter("give --net or --engine, not both: a net is for this engine")
    given = [file for file in (net, engine, *others) if file is not None]
    artifacts.check_apart(given, [output])
    return Source(engine or evaluator.read(net))
