"""One file over HTTP: whole and with the right checksum, or not at all.

An unfinished download lies beside the output as ``.part``. The next run resumes it, if the server
confirms (``If-Range``) that its file is still the same.
"""

from __future__ import annotations

import http.client
import random
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.message import Message
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from nnuelab import artifacts, json_text
from nnuelab.errors import UserError
from nnuelab.progress import Progress

ATTEMPTS = 6  # in a row without a byte
PAUSE = 1.0  # seconds before the second attempt, doubled before each further one
LONGEST_PAUSE = 600.0  # of those that a server asks for
Result = TypeVar("Result")

TIMEOUT = 60.0  # seconds without a byte
BLOCK = 1 << 20
GONE = (401, 403, 404, 410)  # no use in asking again


def fetch(url: str, output: Path, expected: str | None = None, max_rate: float = 0) -> bool:
    """Downloads the file at an address to ``output``; resumes an interrupted download.

    Parameters
    ----------
    expected : str, optional
        SHA-256 of the file.
    max_rate : float
        MB/s; 0: all there is.

    Returns
    -------
    bool
        False when it was there already.

    Raises
    ------
    UserError
        When there is no such file, the connection fails for good, the checksum is wrong, the disk
        is full, or another process fetches the same.
    """
    if _is_there(url, output, expected):
        return False
    part = output.with_name(output.name + ".part")
    artifacts.make_parent(part)
    with _locked(part) as file:
        _complete(url, part, file, expected is not None, max_rate)
        if expected and artifacts.sha256(part) != expected:
            _remove(part)
            raise UserError(f"{url} arrived damaged (wrong SHA-256); run again to fetch it")
        part.replace(output)
        _validator(part).unlink(missing_ok=True)
    return True


def listed_checksum(url: str, name: str) -> str | None:
    """The SHA-256 of a file in a server's list; None when there is no list or no such line.

    Raises
    ------
    UserError
        When the list can't be fetched though it may be there.
    """

    def read() -> str:
        try:
            with _open(url, {}) as answer:
                return str(answer.read().decode("utf-8", "replace"))
        except urllib.error.HTTPError as error:
            if error.code not in GONE:
                raise
            return ""

    text = _retry(url, read, lambda: 0)
    found = re.search(rf"^([0-9a-f]{{64}})\s+\*?{re.escape(name)}$", text, re.MULTILINE)
    return found[1] if found else None


def _is_there(url: str, output: Path, expected: str | None) -> bool:
    """Whether an earlier run has fetched the file, and nothing has changed it since."""
    try:
        record = json_text.load(output.with_name(output.name + ".json").read_text())
        known = record["parameters"]["url"] == url and expected in (None, record["sha256"])
        return bool(known and artifacts.sha256(output) == record["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


@contextmanager
def _locked(part: Path) -> Iterator[BinaryIO]:
    """The unfinished file, open for one process at a time."""
    try:
        file = open(part, "a+b")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise UserError(f"can't write {part}: {error.strerror}") from error
    with file:
        artifacts.lock(file, part)
        yield file


def _validator(part: Path) -> Path:
    """The file beside a part that names its address and version."""
    return part.with_name(part.name + ".json")


def _version(url: str, part: Path) -> str | None:
    """What the server calls the version of a part, "" for nothing; None: it isn't of this file."""
    try:
        said = json_text.load(_validator(part).read_text())
        version = said["version"] if said["url"] == url else None
    except (OSError, ValueError, LookupError, TypeError):
        return None
    fits = isinstance(version, str) and version.isascii() and version.isprintable()
    return version if fits else None  # no line of a header otherwise


def _remove(part: Path) -> None:
    part.unlink(missing_ok=True)
    _validator(part).unlink(missing_ok=True)


def _complete(url: str, part: Path, file: BinaryIO, checked: bool, max_rate: float) -> None:
    """Makes ``part`` whole, in as many attempts as bring something."""
    try:
        _retry(
            url,
            lambda: _fetch_once(url, part, file, checked, max_rate) or None,
            lambda: file.seek(0, 2),
        )
    finally:
        if part.exists() and part.stat().st_size == 0:
            _remove(part)


def _retry(url: str, attempt: Callable[[], Result | None], size: Callable[[], int]) -> Result:
    """Repeats ``attempt`` until it returns a value; growth of ``size`` resets the count."""
    failures, before = 0, size()
    while failures < ATTEMPTS:
        pause = PAUSE * 2**failures * (1 + random.random() / 4)  # not all clients at once
        reason: object = "the connection was cut"
        try:
            if (found := attempt()) is not None:
                return found
        except urllib.error.HTTPError as error:
            reason = f"{error.code} {error.reason}"
            if error.code in GONE:
                raise UserError(f"{url}: {reason}; check its name and the mirror") from None
            pause = max(pause, min(_asked_pause(error.headers), LONGEST_PAUSE))
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "reason", None) or error
        after = size()
        failures = 0 if after > before else failures + 1
        before = after
        if failures < ATTEMPTS:
            time.sleep(pause)
    raise UserError(f"can't fetch {url}: {reason}; run again to resume")


def _asked_pause(headers: Message) -> float:
    """Seconds until a server wants to be asked again (``Retry-After``); 0 when it says nothing."""
    asked = headers.get("Retry-After", "")
    if asked.isascii() and asked.isdigit():
        return float(asked)
    try:
        return parsedate_to_datetime(asked).timestamp() - time.time()
    except ValueError:
        return 0.0


def _open(url: str, headers: dict[str, str]) -> Any:
    return urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT)


def _fetch_once(url: str, part: Path, file: BinaryIO, checked: bool, max_rate: float) -> bool:
    """Appends the missing bytes; returns whether the file is complete."""
    version = _version(url, part)
    if version is None:
        file.truncate(0)  # of another file, or nobody knows of which
    have = file.seek(0, 2)
    headers = {}
    if have:
        headers["Range"] = f"bytes={have}-"
        if version:
            headers["If-Range"] = version
    try:
        answer = _open(url, headers)
    except urllib.error.HTTPError as error:
        if error.code != 416:
            raise
        # Nothing lies beyond what we have: whole, if the size is right; else begin anew.
        total = error.headers.get("Content-Range", "").rpartition("/")[2]
        if total != str(have):
            file.truncate(0)
        return total == str(have)
    with answer:
        begins = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
        if answer.status != 206 or begins != str(have):
            file.truncate(0)  # everything comes: ranges are ignored, or it is another version
            have = 0
            if answer.status == 206:
                return False
        length = answer.headers.get("Content-Length")
        if length is None and not answer.chunked and not checked:
            raise UserError(
                f"{url}: the server doesn't send the file's length, so a truncated file can't "
                "be detected; give its checksum (--sha256), or another mirror"
            )
        total_bytes = None if length is None else have + int(length)
        # A weak validator doesn't promise the same bytes.
        version = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
        version = "" if version.startswith("W/") else version
        artifacts.write_json(_validator(part), {"url": url, "version": version})
        _copy(answer, file, have, total_bytes, part, max_rate)
        return total_bytes is None or file.seek(0, 2) == total_bytes


def _copy(
    answer: Any, file: BinaryIO, have: int, total: int | None, part: Path, max_rate: float
) -> None:
    """Writes the answer, no faster than ``max_rate`` MB/s; a cut connection ends it early."""
    rate = max_rate * 1e6
    block_size = BLOCK if not rate else max(1, min(BLOCK, int(rate / 10)))
    start, written = time.monotonic(), 0
    with Progress(total, "bytes", part.stem, done=have) as progress:
        while block := answer.read(block_size):
            try:
                file.write(block)
                file.flush()
            except OSError as error:
                raise UserError(
                    f"can't write {part}: {error.strerror}; make room and run again to resume"
                ) from error
            written += len(block)
            progress.advance(len(block))
            if rate:
                time.sleep(max(0.0, start + written / rate - time.monotonic()))
