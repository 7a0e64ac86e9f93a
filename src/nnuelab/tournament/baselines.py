"""Players to measure others by: ``random`` plays any legal move; ``material`` looks one ply ahead.

``material`` mates where it can. Else it takes the move after which it has most material, a draw by
rule counting as level, and draws among equal ones. Both follow their seed: the same game, the same
moves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.outcome import repetitions
from nnuelab.chess.position import insufficient_material
from nnuelab.data.draws import STEP, splitmix64
from nnuelab.errors import UserError, nearest
from nnuelab.jit import at, jit, popcount
from nnuelab.tournament.game import Answer, Line
from nnuelab.tournament.limits import Limit, Turn
from nnuelab.tournament.players import Defaults
from nnuelab.tournament.words import BASELINES

SETTINGS = ("seed",)
SEEDS = 1 << 64
VALUES = np.array([1, 3, 3, 5, 9])  # pawns, by role
_MATE = 1000  # more than all material
_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN = VALUES.tolist()


@jit
def balance(position, color):
    """Material of a colour less that of the other one, in pawns."""
    total = 0
    own, other = position.colors[at(color)], position.colors[at(1 - color)]
    for role, value in enumerate((_PAWN, _KNIGHT, _BISHOP, _ROOK, _QUEEN)):
        pieces = position.roles[role]
        total += value * (np.int64(popcount(pieces & own)) - np.int64(popcount(pieces & other)))
    return total


@jit
def _best(line, keys, moves, n):
    """Puts the moves after which there is most material first; returns how many they are."""
    scratch = np.empty(MAX_MOVES, np.int64)
    best, kept = -_MATE, 0
    color = np.int64(line[0].turn)
    for i in range(n):
        make(line[0], line[1], moves[at(i)])
        child = line[1]
        if legal_moves(child, scratch) == 0:
            score = _MATE if child.checkers != 0 else 0
        else:
            before = repetitions(keys, np.int64(keys.size), child)
            drawn = before >= 2 or child.halfmove >= 100 or insufficient_material(child)
            score = 0 if drawn else balance(child, color)
        if score > best:
            best, kept = score, 0
        if score == best:
            moves[at(kept)] = moves[at(i)]
            kept += 1
    return kept


@jit
def _drawn(state, n):
    """A number below n."""
    return np.int64((splitmix64(state) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32))


class BaselinePlayer:
    """One of BASELINES in this process."""

    def __init__(self, name: str, seed: int) -> None:
        self._looks_ahead, self._seed = name == "material", seed

    def new_game(self) -> None:
        """There is nothing to forget: what is drawn depends on the seed and the game alone."""

    def search(self, line: Line, turn: Turn) -> Answer:
        """Its move, whatever the limit."""
        ply = len(line.moves)
        moves = np.empty(MAX_MOVES, np.int64)
        n = int(legal_moves(line.position, moves))
        if self._looks_ahead:
            stack = np.zeros(2, line.stack.dtype)
            stack[0] = line.position
            n = int(_best(stack, line.keys[: ply + 1], moves, n))
        word = self._seed + int(line.position["key"]) + (ply + 1) * int(STEP)
        return Answer(int(moves[_drawn(np.uint64(word % SEEDS), n)]), None, None, None, None)

    def close(self) -> None:
        """Nothing runs outside of this process."""


@dataclass(frozen=True)
class BaselineEntrant:
    """A player to measure others by."""

    name: str
    limit: Limit
    seed: int = 1

    def start(self) -> BaselinePlayer:
        """A player."""
        return BaselinePlayer(self.name, self.seed)

    def files(self) -> dict[str, Any]:
        """It is made of none."""
        return {}

    def settings(self) -> dict[str, Any]:
        """Name, seed and limit."""
        return {"baseline": self.name, "seed": self.seed, **self.limit.told()}

    def as_engine(self) -> tuple[tuple[str, ...], dict[str, Any]]:
        """There is none."""
        raise UserError(f"the baseline {self.name} plays with --runner own alone")


def entrant(settings: Mapping[str, Any], limit: Limit, defaults: Defaults) -> BaselineEntrant:
    """One of BASELINES; UserError for others."""
    name = str(settings["baseline"])
    if name not in BASELINES:
        known = " and ".join(BASELINES)
        raise UserError(f"there is no baseline {name}{nearest(name, BASELINES)}; there are {known}")
    seed = settings.get("seed")
    seed = 1 if seed is None else seed
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < SEEDS:
        raise UserError(f"seed {seed!r} is not a whole number from 0 to {SEEDS - 1}")
    return BaselineEntrant(name, limit, seed)
