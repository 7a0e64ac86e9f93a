"""Finished work on disk, one JSON line each, from which an interrupted run resumes."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO, Self

from nnuelab import artifacts, json_text
from nnuelab.errors import UserError, clipped

SYNC_INTERVAL = 1.0  # seconds of work that a power cut may cost; a kill costs none


class Journal:
    """An append-only file whose first line identifies its run; a context manager.

    Each entry has a CRC-32 of itself and all before it. Entries of the same run are kept, up to the
    first that is cut off or damaged. The journal of another run is replaced, with a message; that,
    and a damaged one, are kept whole as ``.old``, too. Memory holds the places of lines, not the
    entries. One process at a time has the journal, until the block ends: `remove` it within.

    Parameters
    ----------
    path : Path
    identity : mapping
        JSON; equal exactly when the entries would be: inputs, settings and code of the run.

    Raises
    ------
    UserError
        When the file can't be written, or another process has it.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any]) -> None:
        self.path = path
        self._head = (json.dumps(identity, sort_keys=True) + "\n").encode()
        self._places: list[int] = []
        self._check = zlib.crc32(self._head)
        self._synced = 0.0

    def __enter__(self) -> Self:
        artifacts.make_parent(self.path)
        try:
            self._file = open(self.path, "a+b")
        except OSError as error:
            raise UserError(f"can't write {self.path}: {error.strerror}") from error
        artifacts.lock(self._file, self.path)
        self._end = self._scan()
        self._file.truncate(self._end)
        if self._end == 0:
            self._append(self._head)
        return self

    def _scan(self) -> int:
        """Finds the entries; returns the length of the journal up to the first damaged line."""
        self._file.seek(0)
        head = self._file.readline()
        if head != self._head:
            if head.endswith(b"\n"):
                different = self._difference(head)
                self._set_aside(f"is of a run with other settings ({different})", "starts anew")
            return 0
        end = len(head)
        for line in self._file:
            found, check = _checked(line.partition(b" ")[2][:-2], self._check)
            if line != found:
                if line.endswith(b"\n"):
                    behind = f"behind entry {len(self):,}"
                    what = f"is damaged, or of an earlier version, {behind}"
                    self._set_aside(what, "goes on from there")
                break
            self._places.append(end)
            self._check = check
            end += len(line)
        return end

    def _set_aside(self, what: str, then: str) -> None:
        old = self.path.with_name(f"{self.path.name}.old")
        try:
            shutil.copyfile(self.path, old)
        except OSError as error:
            raise UserError(f"can't write {old}: {error.strerror}") from error
        print(f"{self.path} {what}; it is kept as {old.name}, and the run {then}", file=sys.stderr)

    def _difference(self, head: bytes) -> str:
        """What identifies the run there otherwise than this one, in words."""
        try:
            there = dict(json_text.load(head))
        except (ValueError, TypeError):
            there = {}
        here = json.loads(self._head)
        different = [key for key in here if there.get(key) != here[key]] or list(there)
        return clipped(", ".join(map(str, different)))

    def _append(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.flush()
            if time.monotonic() - self._synced >= SYNC_INTERVAL:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise UserError(
                f"can't write {self.path}: {error.strerror}; make room and run the same command "
                "again to resume"
            ) from error
        self._end += len(line)

    def append(self, entry: Any) -> None:
        """Keeps an entry (JSON): when this returns, a kill doesn't undo it."""
        place = self._end
        line, check = _checked(json.dumps(entry).encode(), self._check)
        self._append(line)
        self._places.append(place)
        self._check = check

    def entries_of(self, path: Path) -> Iterator[Any]:
        """Entries of a finished part of this run, as `write` wrote them.

        Raises
        ------
        UserError
            When it can't be read, is of another run, or damaged: before the first entry.
        """
        return read_part(path, self._head)

    def join(
        self, parts: Iterable[Path], number: Callable[[Any], int], what: str
    ) -> dict[int, int]:
        """Adds what finished parts of this run have, where it has no entry of the same number.

        Parameters
        ----------
        parts : iterable of Path
            As `write` wrote them.
        number : callable
            The number of an entry; AttributeError, LookupError, TypeError or ValueError where it
            is no entry of this kind.
        what : str
            An entry, in words.

        Returns
        -------
        dict of int to int
            Where in the journal the entry of a number is.

        Raises
        ------
        UserError
            As `entries_of`, and for entries, of the journal too, that have no number.
        """

        def number_in(path: Path, entry: Any) -> int:
            try:
                return number(entry)
            except (AttributeError, LookupError, TypeError, ValueError):
                raise UserError(
                    f"{path} has an entry that is no {what}; delete it and play it again"
                ) from None

        places: dict[int, int] = {}
        for place, entry in enumerate(self):
            places.setdefault(number_in(self.path, entry), place)
        for path in parts:
            for entry in self.entries_of(path):
                if (found := number_in(path, entry)) not in places:
                    places[found] = len(self)
                    self.append(entry)
        return places

    def write(self, file: BinaryIO, indices: Iterable[int]) -> None:
        """Writes entries as a part of this run, for `entries_of`, and a SHA-256 of all lines."""
        digest = hashlib.sha256(self._head)
        file.write(self._head)
        for index in indices:
            line = json.dumps(self[index]).encode() + b"\n"
            digest.update(line)
            file.write(line)
        file.write(_last(digest))

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> Any:
        self._file.seek(self._places[index])
        return entry_of(self._file.readline())

    def __iter__(self) -> Iterator[Any]:
        return (self[index] for index in range(len(self)))

    def remove(self) -> None:
        """Deletes the file: its work is done."""
        self.path.unlink(missing_ok=True)

    def __exit__(self, *error: object) -> None:
        with suppress(OSError):
            self._file.close()


def read_part(path: Path, head: bytes = b"") -> Iterator[Any]:
    """Entries of a finished part of the run with this head, or of any; see `Journal.entries_of`."""
    try:
        with open(path, "rb") as file:
            digest, first = hashlib.sha256(), file.readline()
            if head not in (b"", first):
                raise UserError(
                    f"{path} is no part of this run: its inputs, settings or code are others; "
                    "make it again"
                )
            last = first
            for line in file:
                digest.update(last)
                last = line
            if last != _last(digest):
                raise ValueError("its last line is no checksum of those before")
            file.seek(len(first))
            yield from (json_text.load(line) for line in file if line != last)
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror}; check its name") from error
    except ValueError as error:
        raise UserError(
            f"{path} is damaged, or of an earlier version ({error}); make it again"
        ) from error


def entry_of(line: bytes) -> Any:
    """The entry of a whole line, taken for right; ValueError and the like where it is no entry."""
    _, entry = json_text.load(line)
    return entry


def _checked(entry: bytes, before: int) -> tuple[bytes, int]:
    """The line of an entry, and the checksum that it begins with; ``before``: that of the last.

    >>> _checked(b'{"pair": 3}', 0)
    (b'["8f0f3b4a", {"pair": 3}]\\n', 2400140106)
    """
    check = zlib.crc32(entry, before)
    return b'["%08x", %b]\n' % (check, entry), check


def _last(digest: Any) -> bytes:
    """The last line of a part: the SHA-256 of those before."""
    return f"{digest.hexdigest()}\n".encode()
