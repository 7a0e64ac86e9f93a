"""What a game is made of: players and what they say, the position so far, the finished game."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import make
from nnuelab.chess.position import POSITION
from nnuelab.tournament.limits import Limit, Turn


class Fault(StrEnum):
    """Why a player has lost apart from the board."""

    ILLEGAL = "illegal move"
    CRASH = "crash"
    HANG = "hang"
    TIME = "time loss"


TERMINATION = {  # words of the PGN standard
    Fault.ILLEGAL: "rules infraction",
    Fault.CRASH: "abandoned",
    Fault.HANG: "abandoned",
    Fault.TIME: "time forfeit",
}


class Failure(Exception):
    """A player can't go on with its game, which it loses; it is ready for the next one."""

    def __init__(self, fault: Fault, reason: str) -> None:
        super().__init__(reason)
        self.fault = fault


@dataclass(frozen=True)
class Answer:
    """What a player says of a position, from its own view.

    Attributes
    ----------
    move : int
        In the layout of ``chess.moves``.
    score_cp : int or None
        Centipawns; None when the player says nothing of it.
    mate : int or None
        Moves to mate, negative when the player is mated.
    depth, nodes : int or None
    idle : float
        ms in which it would have thought, but the machine gave it no processor.
    """

    move: int
    score_cp: int | None
    mate: int | None
    depth: int | None
    nodes: int | None
    idle: float = 0.0


class Line:
    """The game so far: the opening, the moves, and each position's record and key.

    Parameters
    ----------
    fen : str
    max_plies : int
        That may still be played.
    moves : sequence of int
        Played before; they count for repetitions.

    Attributes
    ----------
    moves : list of int
        From ``fen`` on.
    first : int
        How many of them were played before.
    stack, keys : POSITION [ply], uint64 [ply]
        Filled up to the position that is to be played from, ``len(moves)``.
    """

    def __init__(self, fen: str, max_plies: int, moves: Sequence[int] = ()) -> None:
        self.fen = fen
        self.moves: list[int] = []
        self.first = len(moves)
        self.stack = np.zeros(self.first + max_plies + 1, POSITION)
        self.keys = np.zeros(len(self.stack), np.uint64)
        self.stack[0] = notation.from_fen(fen)
        self.keys[0] = self.stack[0]["key"]
        for move in moves:
            self.push(move)

    @property
    def position(self) -> np.void:
        """The position that is to be played from."""
        return self.stack[len(self.moves)]

    @property
    def history(self) -> np.ndarray:
        """Keys of the positions before it, oldest first."""
        return self.keys[: len(self.moves)]

    def push(self, move: int) -> None:
        """Plays a legal move."""
        ply = len(self.moves)
        make(self.stack[ply], self.stack[ply + 1], move)
        self.keys[ply + 1] = self.stack[ply + 1]["key"]
        self.moves.append(move)


class Player(Protocol):
    """Plays by calls, whatever stands behind them.

    Both methods raise `Failure` when the player can't go on.
    """

    def new_game(self) -> None:
        """Forgets everything: the next game must not depend on the ones before."""

    def search(self, line: Line, turn: Turn) -> Answer:
        """The move to play after ``line``."""

    def close(self) -> None:
        """Ends whatever runs outside of this process."""


@dataclass(frozen=True)
class Seat:
    """A player with its limit."""

    player: Player
    limit: Limit


@dataclass(frozen=True)
class Move:
    """A move as it is written: SAN, and what its player thought of it from its own view.

    ``taken`` is None where the limit is none of time; ``stalled`` is set where the machine, not the
    player, made the move late. Both are ms.
    """

    san: str
    score_cp: int | None
    mate: int | None
    depth: int | None
    nodes: int | None
    taken: float | None = None
    stalled: float | None = None


@dataclass(frozen=True)
class Game:
    """A finished game.

    Attributes
    ----------
    moves : list of Move
    result : str
        ``1-0``, ``0-1`` or ``1/2-1/2``.
    reason : str
        What ended it, in words.
    termination : str
        PGN's word for that: ``normal`` when the rules of chess ended it.
    fault : Fault or None
        Of the loser, when the game didn't end on the board or by agreement.
    stalls : tuple of int
        Moves of White and of Black that the machine made late.
    thinking : float or None
        CPU seconds of the searches, where both players are nets without a clock.
    """

    moves: list[Move]
    result: str
    reason: str
    termination: str = "normal"
    fault: Fault | None = None
    stalls: tuple[int, int] = (0, 0)
    thinking: float | None = None
