"""``nnuelab data``: position files of this project and of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli.app import Commands, app

data_app = typer.Typer(cls=Commands, no_args_is_help=True, help="Position files: convert them.")
app.add_typer(data_app, name="data")


@data_app.command()
def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="IN",
            help="Positions: .npy, .binpack, .bf, or text, also .zst: .plain, .csv, .epd, .fen, "
            ".jsonl.",
        ),
    ],
    output: Annotated[Path, typer.Argument(metavar="OUT", help="Positions to write, likewise.")],
    max_unusable: Annotated[
        int, typer.Option(min=0, help="Lines that may be left out because they can't be used.")
    ] = 100,
) -> None:
    """Convert positions between this project's dataset and files of the field.

    Example: nnuelab data convert training.binpack positions.npy
    """
    from nnuelab.data import formats

    written, unusable, left_out = formats.convert(source, output, max_unusable)
    typer.echo(f"{output}: {written:,} positions", err=True)
    if unusable.count:
        typer.echo(unusable.told(), err=True)
    for reason, count in left_out.items():
        typer.echo(f"left out: {reason}: {count:,}", err=True)
