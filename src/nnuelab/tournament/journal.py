"""Finished opening pairs on disk, one JSON line each: what a killed tournament continues from."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from nnuelab.errors import UserError


class Journal:
    """An append-only file whose first line says which tournament it belongs to.

    Use as a context manager. What is there of the same tournament is kept (a last line that a kill
    cut off is dropped); a journal of another one (other nets, settings or code) is replaced, and
    `replaced` says so. Only places of lines are held in memory, not the games.

    Parameters
    ----------
    path : Path
    tournament : mapping
        JSON; equal exactly when the games would be.
    """

    def __init__(self, path: Path, tournament: Mapping[str, Any]) -> None:
        self.path = path
        self.replaced = False
        self._head = (json.dumps(tournament, sort_keys=True) + "\n").encode()
        self._places: dict[int, int] = {}

    def __enter__(self) -> Self:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = open(self.path, "a+b")
        self._end = self._scan()
        self._file.truncate(self._end)
        if self._end == 0:
            self._append(self._head)
        return self

    def _scan(self) -> int:
        """Finds the finished pairs; returns the length of the journal's sound part."""
        self._file.seek(0)
        head = self._file.readline()
        if head != self._head:
            self.replaced = bool(head)
            return 0
        end = len(head)
        for line in self._file:
            try:
                if not line.endswith(b"\n"):
                    break
                self._places[json.loads(line)["pair"]] = end
            except (ValueError, KeyError, TypeError):
                break
            end += len(line)
        return end

    def _append(self, line: bytes) -> None:
        try:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise UserError(
                f"can't write {self.path}: {error.strerror}; make room and run the same command "
                "again to continue"
            ) from error
        self._end += len(line)

    @property
    def finished(self) -> set[int]:
        """Numbers of the pairs that are done."""
        return set(self._places)

    def add(self, pair: int, games: list[str]) -> None:
        """Keeps the games of a pair: when this returns, they are on the disk."""
        place = self._end
        self._append((json.dumps({"pair": pair, "games": games}) + "\n").encode())
        self._places[pair] = place

    def games(self, pair: int) -> list[str]:
        """The games of a finished pair."""
        self._file.seek(self._places[pair])
        return json.loads(self._file.readline())["games"]

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self._file.close()
