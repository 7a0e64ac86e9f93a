"""A lean UCI client for very short searches.

python-chess's client costs as much time as Stockfish needs for 500 nodes (its asyncio loop and
the parsing of every info line); this one reads the last score and the move only, which makes
games at 1,000 nodes per move 1.6 times as fast. Labelling uses python-chess.
"""

from __future__ import annotations

import os
import select
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import chess
from chess.engine import Cp, Mate, PovScore

from nnuelab.data.engines import PATIENCE, find_engine
from nnuelab.errors import UserError


class Found(NamedTuple):
    """What a search says: the move, and the score of the position it started from."""

    move: chess.Move
    score: PovScore


class UciEngine:
    """A UCI engine as a subprocess; a context manager.

    Parameters
    ----------
    path : str or Path
        The engine's program, looked for by `find_engine`.
    limit : str
        What follows ``go`` in every search: ``nodes 1000`` or ``depth 8``.
    hash_mb : int
        Transposition table; small, because it is cleared before every game.
    """

    def __init__(self, path: str | Path, limit: str, hash_mb: int = 4) -> None:
        self.path, self.limit = find_engine(path), limit
        self._process = subprocess.Popen(
            [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._pending = b""
        self.name = Path(self.path).name
        self._send("uci")
        options = set()
        while (line := self._line()) != "uciok":
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            elif line.startswith("option name "):
                options.add(line.removeprefix("option name ").split(" type ")[0])
        for option, value in (("Threads", 1), ("Hash", hash_mb)):
            if option in options:
                self._send(f"setoption name {option} value {value}")
        self.new_game()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the engine's process."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()

    def new_game(self) -> None:
        """Forgets everything: what follows depends on nothing that was searched before."""
        self._send("ucinewgame\nisready")
        while self._line() != "readyok":
            pass

    def search(self, moves: Sequence[str], turn: chess.Color) -> Found:
        """Searches the position after ``moves`` (UCI) from the start; ``turn`` is to move then."""
        self._send(f"position startpos moves {' '.join(moves)}\ngo {self.limit}")
        score: str | None = None
        while not (line := self._line()).startswith("bestmove"):
            # Bounds come from unfinished aspiration windows; the last exact score is meant.
            if " score " in line and "bound " not in line:
                score = line
        move = line.split()[1]
        if score is None:
            raise UserError(f"the engine {self.name} gave a move without a score ({line!r})")
        kind, value = score.split(" score ", 1)[1].split()[:2]
        found = Mate(int(value)) if kind == "mate" else Cp(int(value))
        return Found(chess.Move.from_uci(move), PovScore(found, turn))

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def _line(self) -> str:
        assert self._process.stdout is not None
        handle = self._process.stdout.fileno()
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self._pending:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([handle], [], [], left)[0]:
                raise UserError(f"the engine {self.path} hasn't answered for {PATIENCE:.0f} s")
            read = os.read(handle, 1 << 16)
            if not read:
                raise self._died()
            self._pending += read
        line, self._pending = self._pending.split(b"\n", 1)
        return line.decode(errors="replace").rstrip("\r")

    def _died(self) -> UserError:
        return UserError(
            f"the engine {self.path} ended by itself; start it by hand and type `uci`: "
            "it has to be a UCI engine for this machine"
        )
