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
from pathlib import Path
from typing import Self

from nnuelab.chess import notation
from nnuelab.data.engines import PATIENCE, find_engine
from nnuelab.errors import UserError
from nnuelab.tournament.game import Answer, Line
from nnuelab.tournament.limits import Turn


class UciEngine:
    """A UCI engine as a subprocess, a player under limits of nodes or depth; a context manager.

    It never fails as a player does: what is wrong with it is a UserError, since its games are not
    for winning.

    Parameters
    ----------
    path : str or Path
        The engine's program, looked for by `find_engine`.
    hash_mb : int
        Transposition table; small, because it is cleared before every game.
    """

    def __init__(self, path: str | Path, hash_mb: int = 4) -> None:
        self.path = find_engine(path)
        self._line: Line | None = None
        self._moves: list[str] = []
        self._process = subprocess.Popen(
            [self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._pending = b""
        self.name = Path(self.path).name
        self._send("uci")
        options = set()
        while (line := self._read()) != "uciok":
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
        while self._read() != "readyok":
            pass

    def search(self, line: Line, turn: Turn) -> Answer:
        """Asks the engine; UserError when it dies, hangs, or answers without score or move."""
        if self._line is not line:
            self._line, self._moves = line, []
        self._moves += map(notation.move_to_uci, line.moves[len(self._moves) :])
        kind = "depth" if turn.limit.nodes is None else "nodes"
        moves = " ".join(self._moves)
        self._send(f"position fen {line.fen} moves {moves}\ngo {kind} {getattr(turn.limit, kind)}")
        told: str | None = None
        while not (text := self._read()).startswith("bestmove"):
            # Bounds come from unfinished aspiration windows; the last exact score is meant.
            if " score " in text and "bound " not in text:
                told = text
        if told is None:
            raise UserError(f"the engine {self.name} gave a move without a score ({text!r})")
        try:
            move = notation.parse_uci(line.position, text.split()[1])
        except (ValueError, IndexError) as error:
            raise UserError(f"the engine {self.name}: {text!r}: {error}") from None
        words = told.split()
        score = words.index("score")
        value, is_mate = int(words[score + 2]), words[score + 1] == "mate"
        return Answer(
            move=move,
            score_cp=None if is_mate else value,
            mate=value if is_mate else None,
            depth=_number(words, "depth"),
            nodes=_number(words, "nodes"),
        )

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._died() from None

    def _read(self) -> str:
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


def _number(words: list[str], name: str) -> int | None:
    return int(words[words.index(name) + 1]) if name in words else None
