"""Where games come from: the project's own generated ones, or months of the Lichess database.

A file that arrives in pieces is called ``.part`` until it is whole and its checksum is right.
"""

from __future__ import annotations

import http.client
import json
import re
import shutil
import time
import urllib.error
import urllib.request
from pathlib import Path

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.progress import Progress

EMBEDDED = artifacts.PACKAGE.parents[1] / "resources" / "embedded" / "games.pgn.zst"
LICHESS = "https://database.lichess.org"
ATTEMPTS = 5
PAUSE = 1.0  # seconds before the second attempt, doubled before each further one
TIMEOUT = 60.0  # seconds without a byte
BLOCK = 1 << 20


def embedded(output: Path, source: Path = EMBEDDED) -> None:
    """Copies the generated games that come with the project, if their checksum is right."""
    record = source.with_name(source.name + ".json")
    if not source.is_file() or not record.is_file():
        raise UserError(f"the embedded games are missing: {source} and its .json; use a full clone")
    expected = json.loads(record.read_text())["sha256"]
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


def lichess(month: str, output: Path, mirror: str = LICHESS) -> None:
    """Fetches a month of rated standard games; continues an interrupted download.

    Parameters
    ----------
    month : str
        ``YYYY-MM``.
    mirror : str
        Address in front of ``/standard/lichess_db_standard_rated_YYYY-MM.pgn.zst``. When it has
        ``/standard/sha256sums.txt``, the file is checked against it.

    Raises
    ------
    UserError
        When the month doesn't exist, the connection fails for good, or the checksum is wrong.
    """
    if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", month):
        raise UserError(f"{month!r} is no month of the Lichess database; write it as 2013-01")
    name = f"lichess_db_standard_rated_{month}.pgn.zst"
    folder = f"{mirror.rstrip('/')}/standard"
    part = output.with_name(output.name + ".part")
    artifacts.make_parent(part)
    expected = _checksum(f"{folder}/sha256sums.txt", name)
    _fetch(f"{folder}/{name}", part)
    if expected and artifacts.sha256(part) != expected:
        part.unlink()
        raise UserError(f"{folder}/{name} arrived damaged (wrong SHA-256); run again to fetch it")
    part.replace(output)
    artifacts.provenance(
        output,
        parameters={"source": "lichess", "url": f"{folder}/{name}", "checked": bool(expected)},
        module="data.download",
    )


def _checksum(url: str, name: str) -> str | None:
    """The SHA-256 of a file in the mirror's list; None when there is no list or no such line."""
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT) as answer:
            text = answer.read().decode()
    except (OSError, http.client.HTTPException):
        return None
    found = re.search(rf"^([0-9a-f]{{64}})\s+\*?{re.escape(name)}$", text, re.MULTILINE)
    return found[1] if found else None


def _fetch(url: str, part: Path) -> None:
    """Makes ``part`` whole, in several attempts if need be."""
    for attempt in range(ATTEMPTS):
        if attempt:
            time.sleep(PAUSE * 2 ** (attempt - 1))
        try:
            if _fetch_once(url, part):
                return
            reason: object = "the connection was cut"
        except urllib.error.HTTPError as error:
            if error.code in (404, 410, 403):
                raise UserError(
                    f"{url}: {error.code} {error.reason}; check month and mirror"
                ) from None
            reason = f"{error.code} {error.reason}"
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
    raise UserError(f"can't fetch {url}: {reason}; run again to continue where it stopped")


def _fetch_once(url: str, part: Path) -> bool:
    """Appends what is missing; whether the file is whole now."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"Range": f"bytes={have}-"} if have else {})
    try:
        answer = urllib.request.urlopen(request, timeout=TIMEOUT)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        # Nothing lies beyond what we have: whole, if the size is right; else begin anew.
        total = error.headers.get("Content-Range", "").rpartition("/")[2]
        if total == str(have):
            return True
        part.unlink()
        return False
    with answer:
        if answer.status != 206:
            have = 0  # the server ignores ranges and sends everything
        length = answer.headers.get("Content-Length")
        total_bytes = have + int(length) if length else None
        with (
            part.open("ab" if have else "wb") as file,
            Progress(total_bytes, "bytes", part.stem, done=have) as progress,
        ):
            # A cut connection is no error for read(): the length tells.
            while block := answer.read(BLOCK):
                file.write(block)
                progress.advance(len(block))
        return total_bytes is None or part.stat().st_size == total_bytes
