"""A project of one's own: `nnuelab new`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from nnuelab.cli.app import app


@app.command()
def new(
    folder: Annotated[Path, typer.Argument(help="To be made; it must not be there, or be empty.")],
) -> None:
    """Make a folder for experiments of your own, without a clone of the repository.

    It has the settings, the embedded games, openings and puzzles, and a Snakefile that takes the
    rules from the installed package.

    Example: nnuelab new my-encodings

    Example: nnuelab new .
    """
    from nnuelab.params import project

    project.create(folder)
    print(
        f"made {folder}: cd there, and run snakemake --configfile config/tiny.yaml", file=sys.stderr
    )
