"""Where games come from: the project's own generated ones, or months of the Lichess database.

Puzzles and opening books come the same way (`fetch`).
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from nnuelab import artifacts, json_text
from nnuelab.data import fetch
from nnuelab.errors import UserError

EMBEDDED = artifacts.RESOURCES / "embedded" / "games.pgn.zst"
LICHESS = "https://database.lichess.org"


def embedded(output: Path, source: Path = EMBEDDED) -> None:
    """Copies the generated games that come with the project, if their checksum is right."""
    record = source.with_name(source.name + ".json")
    if not source.is_file() or not record.is_file():
        raise UserError(f"the embedded games are missing: {source} and its .json; use a full clone")
    try:
        expected = json_text.load(record.read_text())["sha256"]
    except (ValueError, LookupError, TypeError):
        expected = None
    with artifacts.atomic(output) as temporary:
        shutil.copyfile(source, temporary)
        if artifacts.sha256(temporary) != expected:
            raise UserError(f"{source} is damaged (its SHA-256 is not that of {record.name})")
    artifacts.provenance(
        output,
        inputs={"embedded": source},
        parameters={"source": "embedded"},
        module="data.download",
    )


def lichess(
    month: str,
    output: Path,
    mirror: str = LICHESS,
    checksum: str | None = None,
    max_rate: float = 0,
) -> bool:
    """Fetches a month of rated standard games (`fetch.fetch`); False if it was there already.

    Parameters
    ----------
    month : str
        ``YYYY-MM``.
    mirror : str
        Address in front of ``/standard/lichess_db_standard_rated_YYYY-MM.pgn.zst``. When it has
        ``/standard/sha256sums.txt``, the file is checked against it.
    checksum : str, optional
        SHA-256, instead of the mirror's list.
    max_rate : float
        MB/s; 0: all there is.

    Raises
    ------
    UserError
        When the month doesn't exist, the connection fails for good, or the checksum is wrong.
    """
    if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", month):
        raise UserError(f"{month!r} is not a month of the Lichess database; write it as 2013-01")
    name = f"lichess_db_standard_rated_{month}.pgn.zst"
    folder = f"{mirror.rstrip('/')}/standard"
    artifacts.make_parent(output)  # fails before a server is asked
    checksum = checksum or fetch.listed_checksum(f"{folder}/sha256sums.txt", name)
    return _fetched(f"{folder}/{name}", output, "lichess", checksum, max_rate)


def puzzles(
    output: Path, mirror: str = LICHESS, checksum: str | None = None, max_rate: float = 0
) -> bool:
    """Fetches the puzzles of the Lichess database, ``/lichess_db_puzzle.csv.zst`` of a mirror."""
    url = f"{mirror.rstrip('/')}/lichess_db_puzzle.csv.zst"
    return _fetched(url, output, "puzzles", checksum, max_rate)


def book(
    name: str, output: Path, mirror: str, checksum: str | None = None, max_rate: float = 0
) -> bool:
    """Fetches an opening book: the file ``name`` of a folder at the address ``mirror``."""
    if not name or "/" in name:
        raise UserError(f"{name!r} doesn't name an opening book; write it as UHO_4060_v3.epd.zip")
    return _fetched(f"{mirror.rstrip('/')}/{name}", output, "book", checksum, max_rate)


def _fetched(url: str, output: Path, source: str, checksum: str | None, max_rate: float) -> bool:
    fresh = fetch.fetch(url, output, checksum, max_rate)
    if fresh:
        artifacts.provenance(
            output,
            parameters={"source": source, "url": url, "checked": bool(checksum)},
            module="data.download",
        )
    return fresh
