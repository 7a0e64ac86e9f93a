"""``nnuelab data``: position files of this project and of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli.app import Commands, app
from nnuelab.errors import UserError
from nnuelab.settings import MAX_SEED
from nnuelab.settings.weighted import weighted

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

    Example: nnuelab data convert positions.csv.zst positions.npy --max-unusable 0
    """
    from nnuelab.data import conversion

    written, unusable, left_out = conversion.convert(source, output, max_unusable)
    typer.echo(f"{output}: {written:,} positions", err=True)
    if unusable.count:
        typer.echo(unusable.summary(), err=True)
    for reason, count in left_out.items():
        typer.echo(f"left out: {reason}: {count:,}", err=True)


@data_app.command()
def index(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE[=WEIGHT]...",
            help="Positions: .npy, .binpack, .bf, .plain; WEIGHT: how often training sees each "
            "of them while it sees those of weight 1 once.",
        ),
    ],
    output: Annotated[Path, typer.Option(help="Index to write, .shards.")],
    validation: Annotated[
        Path | None, typer.Option(help="Positions that are held out, to write, .npy.")
    ] = None,
    validation_share: Annotated[
        float,
        typer.Option(min=0, max=0.9, help="Held out of the files that aren't .npy, about."),
    ] = 0.0,
    seed: Annotated[int, typer.Option(min=0, max=MAX_SEED, help="Of what is held out.")] = 1,
) -> None:
    """Join files of positions: their index is itself a dataset; nothing is copied.

    Example: nnuelab data index 2024.binpack old.bf=0.5 --output train.shards

    Example: nnuelab data index 2024.binpack 2023.binpack --output train.shards
    --validation validation.npy --validation-share 0.01
    """
    from nnuelab.data import joining

    try:
        weights = weighted(files)
    except ValueError as error:
        raise UserError(str(error)) from error
    joined, held_out = joining.join(output, weights, validation, validation_share, seed)
    typer.echo(f"{output}: {len(joined):,} positions in {len(weights)} shards", err=True)
    if validation is not None:
        typer.echo(f"{validation}: {held_out:,} positions", err=True)
