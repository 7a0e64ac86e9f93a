"""Labels by position and labeller on disk, so that no position is searched twice."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

from nnuelab import artifacts
from nnuelab.errors import UserError

POSITION_BYTES = 27  # of a record: board, side, rights, en passant and half-move clock
FLUSHED = 0.2  # seconds of work that a kill may cost
PATIENCE = 60.0  # seconds to wait for another process

_TABLES = """
create table if not exists labellers (id integer primary key, identity text unique);
create table if not exists labels (
    labeller integer, position blob, score integer, move integer,
    primary key (labeller, position)
) without rowid;
"""


class Cache:
    """A table of labels in one file; use as a context manager.

    Several processes may share a cache. Threads of one process may call `put`.

    Parameters
    ----------
    path : Path
    identity : mapping
        JSON: all that a label depends on besides the position. Labels of other identities stay in
        the file and are ignored.
    exclusive : bool
        Refuse a file that another process has.

    Attributes
    ----------
    hits : int
        Labels that `get` has found.

    Raises
    ------
    UserError
        When the file can't be used.
    """

    def __init__(self, path: Path, identity: Mapping[str, Any], *, exclusive: bool = False) -> None:
        self.path, self.hits = path, 0
        self._identity, self._exclusive = json.dumps(identity, sort_keys=True), exclusive
        self._lock = threading.Lock()
        self._new: dict[bytes, tuple[int, int]] = {}  # not yet written
        self._flushed = time.monotonic()

    def __enter__(self) -> Self:
        artifacts.make_parent(self.path)
        try:
            self._handle = open(self.path, "ab")
        except OSError as error:
            raise UserError(f"can't write {self.path}: {error.strerror}") from error
        if self._exclusive:
            artifacts.lock(self._handle, self.path)
        try:
            self._database = sqlite3.connect(
                self.path.absolute(), PATIENCE, isolation_level=None, check_same_thread=False
            )
            # A kill loses nothing that was written; a power cut at most the last of it.
            self._database.execute("pragma journal_mode = wal")
            self._database.execute("pragma synchronous = normal")
            self._database.executescript(_TABLES)
            self._database.execute(
                "insert or ignore into labellers (identity) values (?)", [self._identity]
            )
            (self._labeller,) = self._database.execute(
                "select id from labellers where identity = ?", [self._identity]
            ).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:  # names in a damaged file are no text
            self._handle.close()
            raise UserError(
                f"can't use {self.path} ({error}); delete it, it is only a cache"
            ) from error
        return self

    @staticmethod
    def keys(records: np.ndarray) -> list[bytes]:
        """What identifies the positions of records: board and clock, not game and ply."""
        size = records.dtype.itemsize
        content = np.ascontiguousarray(records).view(np.uint8).reshape(-1, size)
        return [row.tobytes() for row in content[:, :POSITION_BYTES]]

    def get(self, keys: Iterable[bytes]) -> dict[bytes, tuple[int, int]]:
        """Score and move of the positions that are known."""
        query = "select score, move from labels where labeller = ? and position = ?"
        found = {}
        with self._lock, _one_line(self.path):
            for key in keys:
                row = self._new.get(key)
                row = row or self._database.execute(query, (self._labeller, key)).fetchone()
                if row is not None:
                    found[key] = row
        self.hits += len(found)
        return found

    def put(self, key: bytes, found: tuple[int, int]) -> None:
        """Stores a label; a kill loses at most those of the last FLUSHED seconds."""
        with self._lock:
            self._new[key] = int(found[0]), int(found[1])
            due = time.monotonic() - self._flushed >= FLUSHED
        if due:
            self.flush()

    def flush(self) -> None:
        """Writes the stored labels to disk."""
        with self._lock, _one_line(self.path):
            rows = [(self._labeller, key, *found) for key, found in self._new.items()]
            if rows:
                self._database.execute("begin immediate")
                self._database.executemany(
                    "insert or replace into labels values (?, ?, ?, ?)", rows
                )
                self._database.execute("commit")
            self._new.clear()
            self._flushed = time.monotonic()

    def remove(self) -> None:
        """Deletes the file: its work is done."""
        self._database.close()
        for end in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + end).unlink(missing_ok=True)

    def __exit__(self, *error: object) -> None:
        self._database.close()
        self._handle.close()


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Errors of sqlite as a UserError."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise UserError(
            f"can't write {path} ({error}); make room and run the same command again to resume"
        ) from error
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise UserError(f"can't use {path} ({error}); delete it, it is only a cache") from error
