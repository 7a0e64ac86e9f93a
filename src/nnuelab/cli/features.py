"""``nnuelab features``: list blocks, show active features, check and measure a feature set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from nnuelab import artifacts, files
from nnuelab.cli import completion
from nnuelab.cli.app import Blocks, Commands, app
from nnuelab.settings import MAX_SEED
from nnuelab.settings.train import Training

if TYPE_CHECKING:
    from nnuelab.features import Block, Family

SLOW_UPDATE = 10  # times that of ALL, from where on a search makes half as many nodes or fewer

features_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Feature sets: list the blocks, show active features, check the properties.",
)
app.add_typer(features_app, name="features")

Expression = Annotated[
    str,
    typer.Argument(
        metavar="EXPR",
        help="Blocks joined by + and *, e.g. ALL+H+V.",
        autocompletion=completion.feature_sets,
    ),
]


@features_app.command("list")
def list_blocks(
    as_json: Annotated[bool, typer.Option("--json", help="One JSON array.")] = False,
    blocks: Blocks = None,
) -> None:
    """List every block with its size and definition.

    Example: nnuelab features list --blocks my_blocks.py

    Example: nnuelab features list --json
    """
    from nnuelab.features import registry

    rows = [_row(known) for known in dict.fromkeys(registry.load().values())]
    if as_json:
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        aliases = f" (also {', '.join(row['aliases'])})" if row["aliases"] else ""
        size = "" if row["size"] is None else row["size"]
        formula = f"{row['formula']}: " if row["formula"] else ""
        typer.echo(f"{row['name']:{width}} {size:6}  {formula}{row['definition']}{aliases}")


def _row(known: Block | Family) -> dict[str, Any]:
    """A row of the list: a block, or a family, whose size depends on its parameters."""
    from nnuelab.features import Block

    row: dict[str, Any] = {"name": "", "aliases": list(known.aliases)}
    if isinstance(known, Block):
        row |= {"name": known.name, "size": known.size, "formula": known.formula}
        row["concepts"] = [concept.name for concept in known.concepts]
    else:
        row |= {"name": known.usage, "size": None, "formula": None, "concepts": None}
    return {**row, "definition": known.definition}


@features_app.command()
def new(
    name: Annotated[str, typer.Argument(help="Of the block, such as RING.")],
    folder: Annotated[Path, typer.Option(help="Where its files go.")] = Path(),
) -> None:
    """Write the file of a new feature block and its test, to begin with.

    Example: nnuelab features new OUTER_RING --folder my_blocks

    Example: nnuelab features new RING
    """
    from nnuelab.features import new_block

    block, test = new_block.create(name, folder)
    typer.echo(f"{block} and {test}: edit them, and test the block with pytest {test}", err=True)


@features_app.command()
def topk(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="Dataset, .npy.")],
    output: Annotated[Path, typer.Option(help="CSV with the pairs.")],
    k: Annotated[int, typer.Option("-k", min=1, max=100_000, help="Pairs.")] = 512,
) -> None:
    """Find the most frequent pairs of pieces in a dataset: the list of the block TOPK.

    Example: nnuelab features topk results/data/train.npy -k 512 --output pairs.csv

    Example: nnuelab features topk results/data/train.npy -k 4096 --output pairs.csv
    """
    from nnuelab.data import validation
    from nnuelab.features import pair_list

    artifacts.check_apart([data], [output])
    pairs = pair_list.most_frequent(validation.chunks(data), k)
    with artifacts.atomic(output) as temporary:
        temporary.write_text(pair_list.text_of(pairs))
    artifacts.provenance(
        output, inputs={"data": data}, parameters={"k": k}, module="features.pair_list"
    )
    typer.echo(f"{output}: {k} pairs, seen in {pairs[0][2]:,} to {pairs[-1][2]:,} views", err=True)


@features_app.command()
def active(
    expression: Expression,
    fen: Annotated[str, typer.Option(help="The position.")],
    names: Annotated[bool, typer.Option("--names", help="Also the name of each feature.")] = False,
    blocks: Blocks = None,
) -> None:
    """Print the indices of the active features: of the side to move, then of the other.

    Example: nnuelab features active ALL+H --fen "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1"

    Example: nnuelab features active RING --names --blocks my_blocks.py
    --fen "4k3/8/8/8/4P3/8/8/4K3 w - - 0 1"
    """
    from nnuelab.chess import notation
    from nnuelab.features import check, parse

    features = parse(expression)
    position = notation.from_fen(fen)
    turn = int(position["turn"])
    for label, perspective in (("stm", turn), ("other", 1 - turn)):
        indices = check.extracted(features, position, perspective)
        typer.echo(" ".join([f"{label}:", *map(str, indices)]))
        if names:
            for index in indices:
                typer.echo(f"  {index:>8}  {features.feature_name(index)}")


@features_app.command("check")
def check_features(
    expression: Expression,
    games: Annotated[int, typer.Option(min=1, help="Random games to play.")] = 50,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Seed of the random games.")] = 1,
    blocks: Blocks = None,
) -> None:
    """Check the properties that every feature set must have; exit status 1 if one fails.

    Example: nnuelab features check ALL+H+V --games 100

    Example: nnuelab features check RING*H --games 20 --seed 7 --blocks my_blocks.py
    """
    from nnuelab.features import check, parse
    from nnuelab.report import feature_statistics

    features = parse(expression)
    played = check.random_games(games, seed)
    counts = ", ".join(f"{n} {what}" for what, n in check.census(played).items())
    least = "" if features.alive_is_exact else "at least "
    typer.echo(
        f"{features.name}: {features.size} features, {least}{len(features.dead)} of them dead, "
        f"at most {features.max_active} active"
    )
    typer.echo(f"{games} random games: {counts}")
    failed: list[str] = []
    for name, holds in check.PROPERTIES.items():
        if broken := set(failed) & set(check.FOUNDATIONS):
            typer.echo(f"skipped {name}, for it builds on {' and '.join(broken)}")
            continue
        try:
            holds(features, played)
            typer.echo(f"ok      {name}")
        except check.PropertyFailed as failure:
            failed.append(name)
            typer.echo(f"FAILED  {name}: {failure}")
    if failed:
        raise typer.Exit(1)
    positions = [position for game in played for position in game.positions]
    ns, usual = (feature_statistics.update_ns(each, positions) for each in (features, parse("ALL")))
    if ns and usual:
        slow = "; a search will be slow with it" if ns > SLOW_UPDATE * usual else ""
        typer.echo(
            f"cost    an accumulator's update takes {ns:.0f} ns, {ns / usual:.1f} times as long as "
            f"with ALL{slow}"
        )


@features_app.command()
def stats(
    expression: Expression,
    positions: Annotated[
        Path, typer.Argument(metavar="DATA", help="Games (.pgn, .zst, .gz, .bz2) or a dataset.")
    ],
    l1: Annotated[
        int, typer.Option(min=1, max=16384, help="Neurons per perspective.")
    ] = Training.l1,
    count: Annotated[
        int, typer.Option("--positions", min=1, help="Positions whose legal moves are counted.")
    ] = 100_000,
    csv: Annotated[Path | None, typer.Option(help="All figures, .csv.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Figure, .svg, .png or .html.")] = None,
    blocks: Blocks = None,
) -> None:
    """Count the feature changes of legal moves in real positions, and measure their cost.

    Example: nnuelab features stats ALL+H+V games.pgn.zst --csv stats.csv --plot stats.svg

    Example: nnuelab features stats HALFKAV2_HM results/data/train.npy --l1 1024 --positions 20000
    """
    from rich.table import Table

    from nnuelab import charts
    from nnuelab.features import parse
    from nnuelab.report import feature_statistics as statistics
    from nnuelab.report import render

    features = parse(expression)
    outputs = [path for path in (csv, plot) if path is not None]
    artifacts.check_apart([positions, *(blocks or [])], outputs)
    if plot is not None:
        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    files.check(positions)
    taken = statistics.load(positions, count)
    found = statistics.rows(features, taken, l1)
    typer.echo(
        f"{positions}: {len(taken.records):,} positions, {found[0]['moves']:,} legal moves"
        + ("" if taken.games is None else f", {taken.games:,} whole games"),
        err=True,
    )
    if taken.games is None:
        typer.echo(
            "refreshes are counted by legal move only; refreshes per game need games, or a dataset "
            "with all their positions",
            err=True,
        )
    with render.output() as console:
        for title, (head, lines) in statistics.tables(found).items():
            console.print(f"[bold]{title}[/bold]", highlight=False)
            table = Table(box=None, pad_edge=False, header_style="italic")
            table.add_column(head[0], overflow="fold")
            for name in head[1:]:
                table.add_column(name, justify="right", no_wrap=True)
            for line in lines:
                table.add_row(*line)
            console.print(table, "")
    if csv is not None:
        statistics.write_csv(csv, found)
    if plot is not None:
        statistics.plot(plot, found)
    for path in outputs:
        artifacts.provenance(
            path,
            inputs={"positions": positions},
            parameters={"feature_set": features.name, "l1": l1, "positions": count},
            module="report.feature_statistics",
        )
