"""Command download: games, puzzles and opening books."""

from __future__ import annotations

import re
import urllib.parse
from pathlib import Path
from typing import Annotated, Literal

import typer

from nnuelab import artifacts
from nnuelab.cli.app import app


@app.command()
def download(
    output: Annotated[
        Path, typer.Option(help="The file (games: .pgn.zst); of a range of months, a folder.")
    ],
    source: Annotated[
        Literal["embedded", "lichess", "puzzles", "book"],
        typer.Option(help="Shipped games, Lichess games, Lichess puzzles, a folder of books."),
    ] = "embedded",
    part: Annotated[
        str, typer.Option(help="Month YYYY-MM or range YYYY-MM..YYYY-MM; name of a book.")
    ] = "",
    mirror: Annotated[
        str,
        typer.Option(help="Address of a mirror of the database, or of the books' folder."),
    ] = "",
    sha256: Annotated[
        str, typer.Option(help="Checksum, where the server lists none.", metavar="HEX")
    ] = "",
    max_rate: Annotated[float, typer.Option(min=0, help="MB/s; 0: no limit.")] = 0,
) -> None:
    """Fetch games, puzzles or an opening book; interrupted downloads resume.

    Example: nnuelab download --source lichess --part 2013-01 --output 2013-01.pgn.zst

    Example: nnuelab download --source lichess --part 2013-01..2013-12 --output games --max-rate 5
    """
    from nnuelab.data import download as downloads
    from nnuelab.params.models import months

    checksum = sha256.lower() or None
    if checksum and not re.fullmatch("[0-9a-f]{64}", checksum):
        raise typer.BadParameter(f"--sha256 {sha256}: write 64 hexadecimal digits")
    if mirror:
        _check_address(mirror)
    lichess = mirror or downloads.LICHESS
    outputs = [output]
    if source == "embedded":
        artifacts.check_apart([downloads.EMBEDDED], [output])
        downloads.embedded(output)
    elif source == "puzzles":
        downloads.puzzles(output, lichess, checksum, max_rate)
    elif source == "book":
        if not mirror:
            raise typer.BadParameter("an opening book needs --mirror, the address of its folder")
        downloads.book(part, output, mirror, checksum, max_rate)
    elif ".." in part:
        if checksum:
            raise typer.BadParameter("--sha256 is for one file; give one month")
        try:
            names = months([part])
        except ValueError as error:
            raise typer.BadParameter(f"--part: {error}; write it as 2013-01..2013-03") from None
        outputs = [output / f"{month}.pgn.zst" for month in names]
        for month, path in zip(names, outputs, strict=True):
            downloads.lichess(month, path, lichess, None, max_rate)
    else:
        downloads.lichess(part, output, lichess, checksum, max_rate)
    for path in outputs:
        typer.echo(f"{path}: {path.stat().st_size:,} bytes", err=True)


def _check_address(mirror: str) -> None:
    try:
        found = urllib.parse.urlsplit(mirror)
        usable = found.scheme in ("http", "https") and found.hostname and found.port != 0
    except ValueError:  # brackets or a port that are none
        usable = False
    if not usable or not mirror.isprintable() or " " in mirror:
        raise typer.BadParameter(f"--mirror {mirror}: write an address, as https://HOST/FOLDER")
