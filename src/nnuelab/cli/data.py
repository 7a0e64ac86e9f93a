"""Commands of generated games: datagen, book, puzzlegen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from nnuelab import artifacts
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, app

Workers = Annotated[int, typer.Option(min=0, help="Processes; 0: one per core.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Engine = Annotated[str, typer.Option(help="UCI engine: a path, or a name on PATH.")]
Net = Annotated[
    Path | None,
    typer.Option(
        help="Net of this engine.",
        show_default="the shipped one",
        autocompletion=completion.nets,
    ),
]
Player = Annotated[
    str | None,
    typer.Option(help="UCI engine that plays instead: a path, or a name on PATH."),
]
Nodes = Annotated[int | None, typer.Option(min=1, help="Nodes per search.")]
Depth = Annotated[int | None, typer.Option(min=1, help="Depth per search, instead of nodes.")]


@app.command()
def datagen(
    output: Annotated[Path, typer.Option(help="Games, .pgn.zst.")],
    games: Annotated[int, typer.Option(min=1, help="How many games.")] = 12_000,
    nodes: Nodes = None,
    depth: Depth = None,
    net: Net = None,
    engine: Player = None,
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

    Killed and started again, it continues; the file is the same for any number of workers.

    Example: nnuelab datagen --net results/nets/ALL/1/net.nnue --output games.pgn.zst --games 100
    """
    from nnuelab.selfplay.datagen import Parameters
    from nnuelab.selfplay.datagen import datagen as play_games

    source = _source(net, engine, blocks, output)
    artifacts.check_ending(output, "generated games", ".pgn.zst")
    limit = _limit(nodes, depth, 5000)
    parameters = Parameters(limit, random_plies, max_opening_score, seed)
    results, speed = play_games(
        output, source, games, parameters, compression=compression, workers=workers
    )
    typer.echo(f"{output}: {games:,} games", err=True)
    for result, count in sorted(results.items()):
        typer.echo(f"{result} {count}", err=True)
    if speed.searched:
        typer.echo(str(speed), err=True)


@app.command()
def book(
    output: Annotated[Path, typer.Option(help="Opening book, .epd.gz.")],
    positions: Annotated[int, typer.Option(min=1, help="How many openings.")] = 12_000,
    nodes: Nodes = None,
    depth: Depth = None,
    net: Net = None,
    engine: Player = None,
    random_plies: Annotated[int, typer.Option(min=4, help="Random plies, or one more.")] = 8,
    max_score: Annotated[int, typer.Option(min=1, help="Balance, centipawns.")] = 50,
    seed: Seed = 2,
    workers: Workers = 0,
    blocks: Blocks = None,
) -> None:
    """Make an opening book of random balanced positions.

    Example: nnuelab book --output openings.epd.gz --positions 1000 --nodes 5000
    """
    from nnuelab.selfplay.book import book as make_book

    source = _source(net, engine, blocks, output)
    artifacts.check_ending(output, "a book", ".epd.gz")
    limit = _limit(nodes, depth, 5000)
    make_book(output, source, positions, limit, random_plies, max_score, seed, workers)
    typer.echo(f"{output}: {positions:,} openings", err=True)


def _source(net: Path | None, engine: str | None, blocks: list[Path] | None, output: Path) -> Any:
    """Who plays, and not into one of its own files."""
    from nnuelab.selfplay.datagen import Source

    if net is not None and engine is not None:
        raise typer.BadParameter("give --net or --engine, not both: a net is for this engine")
    given = [file for file in (net, engine, *(blocks or [])) if file is not None]
    artifacts.check_apart(given, [output])
    return Source(engine, net)


def _limit(nodes: int | None, depth: int | None, default: int) -> Any:
    """The limit of each search; ``default`` nodes where none is given."""
    from nnuelab.tournament.limits import Limit

    if nodes is not None and depth is not None:
        raise typer.BadParameter("give --nodes or --depth, not both")
    return Limit(depth=depth) if depth is not None else Limit(nodes=nodes or default)


@app.command()
def puzzlegen(
    games: Annotated[list[Path], typer.Argument(help="Games with [%eval] comments, PGN.")],
    output: Annotated[Path, typer.Option(help="Puzzles, .csv or .csv.gz.")],
    puzzles: Annotated[int, typer.Option(min=1, help="How many, at most one of a game.")] = 200,
    nodes: Annotated[int, typer.Option(min=100, help="Nodes per search.")] = 20_000,
    engine: Engine = "stockfish",
    workers: Workers = 0,
) -> None:
    """Make puzzles out of games: positions after mistakes in which exactly one move clearly wins.

    The columns are those of the Lichess puzzle database. Ratings tell how many nodes the engine
    needs, from 600 (one) to 2200: nobody has played these puzzles.

    Example: nnuelab puzzlegen resources/embedded/games.pgn.zst --output puzzles.csv.gz
    """
    from nnuelab.selfplay.puzzles import puzzles as make_puzzles

    artifacts.check_apart([*games, engine], [output])
    artifacts.check_ending(output, "puzzles", ".csv", ".csv.gz")
    found = make_puzzles(games, output, engine, puzzles, nodes, workers)
    typer.echo(f"{output}: {found:,} puzzles", err=True)
