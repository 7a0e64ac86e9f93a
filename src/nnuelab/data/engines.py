"""UCI engines of the user's: how one is found, and how it gives scores to positions."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, NO_MOVE
from nnuelab.data.record_text import read_move, texts
from nnuelab.data.records import MATE, NO_SCORE, RECORD, mate_score
from nnuelab.data.searching import Unlabelled
from nnuelab.data.uci import UciError, UciProcess, move_of, score_of
from nnuelab.errors import UserError

HASH_MB = 4  # cleared before each position: more would only cost time
OPTIONS = {"Threads": "1", "Hash": str(HASH_MB)}
"""UCI options of an engine that is told no others."""
PATIENCE = 120.0  # seconds that an engine may take for one answer before it counts as hanging
STARTS = 3  # attempts to start it again


def find_engine(engine: str | Path) -> str:
    """The absolute path of an engine's program, given by path or by name.

    Raises
    ------
    UserError
        When there is no such program, or it can't be executed.
    """
    # Debian installs games outside of root's and of many services' PATH.
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"])
    found = shutil.which(str(engine), path=places)
    if found is None:
        raise UserError(
            f"no engine {engine!s}: it is neither a program on PATH nor an executable file; "
            "install it (Debian: apt install stockfish) or name another one"
        )
    return os.path.abspath(found)  # links stay: a program may go by the name it is called by


def started(path: str, options: Mapping[str, str], patience: float = PATIENCE) -> UciProcess:
    """A UCI engine that is ready, with one thread and a small hash table unless options say more.

    Raises
    ------
    UserError
        When it doesn't start.
    """
    try:
        return UciProcess(path, {**OPTIONS, **options}, patience)
    except UciError as error:
        raise UserError(
            f"{path} doesn't start as a UCI engine ({error}); start it by hand and type `uci`"
        ) from error


def engine_name(path: str) -> str:
    """What the engine calls itself, version included."""
    process = started(path, {})
    process.close()
    return process.name


class Analyst:
    """A UCI engine that gives scores and best moves to single positions: a `searching.Searcher`.

    Parameters
    ----------
    path : str
        Its program.
    limit : str
        What follows ``go``: ``depth 10``, ``nodes 5000``, ``movetime 100``.
    options : mapping
        UCI options; see `started`.
    patience : float
        Seconds for an answer.

    Raises
    ------
    UserError
        When it doesn't start, or hasn't such an option.
    """

    def __init__(
        self,
        path: str,
        limit: str,
        options: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._path, self._limit = path, limit
        self._options, self._patience = dict(options or {}), patience
        self._scratch = np.empty(MAX_MOVES, np.int64)
        self._closed = False
        self._process: UciProcess | None = started(path, self._options, patience)
        self._name = self._process.name
        there = self._process.options
        if missing := [name for name in self._options if name.lower() not in there]:
            self.close()
            raise UserError(f"{self._name} has no option {missing[0]!r}; ask it: type `uci`")

    def __call__(self, record: np.void) -> tuple[int, int]:
        """Score and best move of a position; an engine that dies or hangs gets a second chance.

        Parameters
        ----------
        record : RECORD record

        Returns
        -------
        score : int
            Centipawns for the side to move, mates by `mate_score`; NO_SCORE when the game is over.
        move : int
            In the layout of ``chess.moves``.

        Raises
        ------
        Unlabelled
            When it fails twice.
        """
        fen = texts(np.array([record], RECORD))[0][0].decode()
        # The number of the move is no part of a position: labels are kept by position.
        board = fen.rsplit(" ", 1)[0] + " 1"
        # With a warm hash table a label would depend on the positions before it.
        commands = f"ucinewgame\nisready\nposition fen {board}\ngo {self._limit}\n"
        for _ in range(2):
            try:
                if self._process is None:
                    self._process = self._start_again()
                return self._understood(self._process.ask(commands, "bestmove"), record)
            except UciError as error:
                reason = error
                self._end()
        raise Unlabelled(f"{self._name} failed twice on {fen!r}: {reason}")

    def _start_again(self) -> UciProcess:
        reason: Exception | None = None
        for attempt in range(STARTS):
            if self._closed:
                break
            time.sleep(attempt)  # what made it fail may pass
            try:
                return started(self._path, self._options, self._patience)
            except UserError as error:
                reason = error
        raise UserError(f"{reason}; the same command continues when it does") from reason

    def _understood(self, lines: list[str], record: np.void) -> tuple[int, int]:
        text = move_of(lines)
        if not text:
            return NO_SCORE, NO_MOVE
        content = np.frombuffer(text.encode(), np.uint8)
        move = int(read_move(record, content, self._scratch))
        if move == NO_MOVE:
            raise UciError(f"it answers {lines[-1][:60]!r}")
        score = score_of(lines)
        if score is None:
            raise UciError("it gives a move without a score")
        kind, value = score
        return (mate_score(value) if kind == "mate" else max(-MATE, min(MATE, value))), move

    def close(self) -> None:
        """Ends the engine for good; another thread may wait for its answer."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.close()
