"""A player without a net, for tests of what surrounds the engine; importable by spawned workers."""

from __future__ import annotations

import os
import time
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, legal_moves
from nnuelab.errors import UserError
from nnuelab.tournament.game import Answer, Line
from nnuelab.tournament.limits import Limit, Turn


@dataclass(frozen=True)
class RandomEntrant:
    net: Path
    limit: Limit = Limit(nodes=10)  # noqa: RUF009 (frozen, too)

    def start(self) -> RandomPlayer:
        return RandomPlayer(self.net)

    def files(self) -> dict[str, Path]:
        return {"net": self.net}

    def settings(self) -> dict[str, Any]:
        return {"net": str(self.net), "limit": str(self.limit)}


class RandomPlayer:
    """Plays random legal moves; its file's first word says how else it behaves.

    The random numbers go on from move to move and start again with `new_game`, like the tables of
    an engine that remembers: games that are not separated differ.
    """

    def __init__(self, net: Path) -> None:
        text = net.read_text()
        self.kind = text.split()[0] if text.strip() else ""
        if self.kind == "broken":
            raise UserError(f"{net} is no net")
        self.seed = zlib.crc32(text.encode())
        self.searches = 0
        self.random = np.random.default_rng(self.seed)

    def new_game(self) -> None:
        self.random = np.random.default_rng(self.seed)
        if log := os.environ.get("FAKE_PLAYER_LOG"):
            with open(log, "a") as file:
                file.write("new game\n")
            time.sleep(0.01)  # so that a test can kill it in the middle

    def close(self) -> None:
        pass

    def search(self, line: Line, turn: Turn) -> Answer:
        position = line.position
        self.searches += 1
        if self.searches > 40 and self.kind == "crash":
            os._exit(7)
        if self.searches > 40 and self.kind == "raise":
            raise ZeroDivisionError("on purpose")
        moves = np.empty(MAX_MOVES, np.int64)
        n = legal_moves(position, moves)
        move = 1 if self.kind == "illegal" else int(moves[self.random.integers(n)])
        # Scores that run into every rule now and then.
        spread = self.random.choice([3, 30, 4000])
        score = int(self.random.integers(-spread, spread + 1))
        if self.kind == "level":
            score = int(self.random.integers(-10, 11))
        if self.kind == "sure":
            score = 1000 if position["turn"] == 0 else -1000
        mate = None if self.random.integers(50) else int(self.random.choice([-3, 2]))
        mate = None if self.kind in ("level", "sure") else mate
        return Answer(move, score, mate, 1 + len(line.history) % 9, nodes=10)
