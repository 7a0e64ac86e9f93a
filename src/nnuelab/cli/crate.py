"""Results for archives: `nnuelab crate`."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path
from typing import Annotated

import typer

from nnuelab import artifacts
from nnuelab.cli.app import app


@app.command()
def crate(
    folder: Annotated[
        Path,
        typer.Argument(metavar="RESULTS", help="Folder of results.", exists=True, file_okay=False),
    ] = Path("results"),
    name: Annotated[str | None, typer.Option(help="Of the crate. [default: the folder's]")] = None,
    published: Annotated[
        datetime | None,
        typer.Option("--date", formats=["%Y-%m-%d"], help="Of publication. [default: today]"),
    ] = None,
    license: Annotated[str | None, typer.Option(help="Address of a licence.")] = None,
) -> None:
    """Describe a folder of results as an RO-Crate, which archives of research data read.

    Writes ro-crate-metadata.json there: every file with a record of its making, the command, its
    inputs, and versions. A file that isn't what its record says is left out.

    Example: nnuelab crate results --license https://creativecommons.org/publicdomain/zero/1.0/

    Example: nnuelab crate results-tiny --name 'A tiny run' --date 2025-01-31
    """
    from nnuelab.report import crate as crates

    day = (published.date() if published else date.today()).isoformat()
    written = folder / crates.NAME
    found = crates.metadata(folder, name or folder.resolve().name, day, license)
    artifacts.write_json(written, found)
    files = sum(each["@type"] == "File" for each in found["@graph"])
    typer.echo(f"{written}: {files:,} files", err=True)
