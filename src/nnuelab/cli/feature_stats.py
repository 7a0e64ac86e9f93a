"""``nnuelab features stats``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import Blocks
from nnuelab.cli.features import Expression, features_app
from nnuelab.errors import UserError


@features_app.command()
def stats(
    expression: Expression,
    positions: Annotated[
        Path, typer.Argument(metavar="DATA", help="Games (.pgn, .zst, .gz, .bz2) or a dataset.")
    ],
    l1: Annotated[int, typer.Option(min=1, max=16384, help="Neurons per perspective.")] = 512,
    count: Annotated[
        int, typer.Option("--positions", min=1, help="Positions whose legal moves are counted.")
    ] = 100_000,
    csv: Annotated[Path | None, typer.Option(help="All figures, .csv.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Figure, .svg, .png or .html.")] = None,
    blocks: Blocks = None,
) -> None:
    """Count what legal moves change in real positions, and measure what that costs.

    Example: nnuelab features stats ALL+H+V games.pgn.zst --csv stats.csv --plot stats.svg
    """
    from rich.console import Console
    from rich.table import Table

    from nnuelab import charts
    from nnuelab.features import parse
    from nnuelab.report import feature_statistics as statistics

    features = parse(expression)
    outputs = [path for path in (csv, plot) if path is not None]
    artifacts.check_apart([positions, *(blocks or [])], outputs)
    if plot is not None:
        artifacts.check_ending(plot, "a figure", *charts.FORMATS)
    if not positions.is_file():
        raise UserError(f"there is no file {positions}; give games or a dataset")
    taken = statistics.load(positions, count)
    found = statistics.rows(features, taken, l1)
    typer.echo(
        f"{positions}: {len(taken.records):,} positions, {found[0]['moves']:,} legal moves"
        + ("" if taken.games is None else f", {taken.games:,} whole games"),
        err=True,
    )
    if taken.games is None:
        typer.echo(
            "refreshes are counted by legal move only: by game needs games, or a dataset with all "
            "their positions",
            err=True,
        )
    console = Console()
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
