"""``nnuelab data``: position files of this project and of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli.app import Commands, app

data_app = typer.Typer(
    cls=Commands, no_args_is_help=True, help="Position files: convert and join them."
)
app.add_typer(data_app, name="data")


@data_app.command()
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="Positions: .npy, .shards, .binpack, .bf, or text, also .zst, .gz, .bz2: "
            ".plain, .csv, .epd, .fen, .jsonl.",
        ),
    ],
    output: Annotated[
        Path,
        typer.Argument(metavar="OUT", help="Positions to write; not .shards, .jsonl or .bz2."),
    ],
    max_unusable: Annotated[
        int, typer.Option(min=0, help="Unusable lines that may be left out.")
    ] = 100,
) -> None:
    """Convert positions between this project's datasets and other formats.

    Example: nnuelab data convert training.binpack positions.npy
    """
    from nnuelab.data import formats

    written, unusable, left_out = formats.convert(source, output, max_unusable)
    typer.echo(f"{output}: {written:,} positions", err=True)
    if unusable.count:
        typer.echo(unusable.summary(), err=True)
    for reason, count in left_out.items():
        typer.echo(f"left out: {reason}: {count:,}", err=True)


@data_app.command()
def index(
    shards: Annotated[list[Path], typer.Argument(help="Datasets, .npy.")],
    output: Annotated[Path, typer.Option(help="Index to write, .shards.")],
) -> None:
    """Join datasets: an index of several files is itself a dataset; nothing is copied.

    Example: nnuelab data index 2024-01.npy 2024-02.npy --output train.shards
    """
    from nnuelab.data import dataset

    joined = dataset.write_index(output, shards)
    typer.echo(f"{output}: {len(joined):,} positions in {len(shards)} shards", err=True)
