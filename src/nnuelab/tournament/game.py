"""One game between two players: moves, time, draws by rule, adjudication, and what goes wrong."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.position import BLACK, POSITION, WHITE, insufficient_material
from nnuelab.tournament.adjudication import BLACK_WINS, DRAW, WHITE_WINS, Adjudicator, Rules
from nnuelab.tournament.limits import Clock, Limit, Turn

MATE_SCORE = 32_000  # centipawns, for adjudication: beyond every evaluation
NAMES = {WHITE: "White", BLACK: "Black"}
WINS = {WHITE: WHITE_WINS, BLACK: BLACK_WINS}


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

    Attributes
    ----------
    fen : str
        Of the opening.
    moves : list of int
    stack, keys : POSITION [ply], uint64 [ply]
        Filled up to the position that is to be played from, ``len(moves)``.
    """

    def __init__(self, fen: str, max_plies: int) -> None:
        self.fen = fen
        self.moves: list[int] = []
        self.stack = np.zeros(max_plies + 1, POSITION)
        self.keys = np.zeros(max_plies + 1, np.uint64)
        self.stack[0] = notation.from_fen(fen)
        self.keys[0] = self.stack[0]["key"]

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
    """

    moves: list[Move]
    result: str
    reason: str
    termination: str = "normal"
    fault: Fault | None = None
    stalls: tuple[int, int] = (0, 0)


def play(white: Seat, black: Seat, fen: str, rules: Rules) -> Game:
    """Plays a game from ``fen``.

    Both players start with cleared tables, so under limits of nodes or depth the game depends on
    them, the opening and the limits alone. A player that fails, plays an illegal move or comes late
    has lost.
    """
    seats = (white, black)
    clocks = (Clock(white.limit), Clock(black.limit))
    line = Line(fen, rules.max_plies)
    adjudicator = Adjudicator(rules)
    legal = np.empty(MAX_MOVES, np.int64)
    said: list[tuple[Answer, float | None, float | None]] = []
    stalls = [0, 0]

    def finished(
        result: str, reason: str, termination: str = "normal", fault: Fault | None = None
    ) -> Game:
        moves = [
            Move(
                notation.move_to_san(line.stack[i], move),
                *(answer.score_cp, answer.mate, answer.depth, answer.nodes),
                *times,
            )
            for i, (move, (answer, *times)) in enumerate(zip(line.moves, said, strict=True))
        ]
        return Game(moves, result, reason, termination, fault, (stalls[WHITE], stalls[BLACK]))

    def lost(loser: int, fault: Fault, how: str) -> Game:
        return finished(WINS[1 - loser], f"{NAMES[loser]} {how}", TERMINATION[fault], fault)

    for turn, seat in enumerate(seats):
        try:
            seat.player.new_game()
        except Failure as failure:
            return lost(turn, failure.fault, str(failure))
    while True:
        position = line.position
        n = legal_moves(position, legal)
        if end := _end_on_board(line, n):
            return finished(*end)
        if len(line.moves) == rules.max_plies:
            return finished(DRAW, "maximum length", "adjudication")
        turn = int(position["turn"])
        clock, other = clocks[turn], clocks[1 - turn]
        began = time.perf_counter()
        try:
            answer = seats[turn].player.search(
                line, Turn(clock.limit, clock.left, other.left, other.limit.increment)
            )
        except Failure as failure:
            return lost(turn, failure.fault, str(failure))
        taken, stalled = (time.perf_counter() - began) * 1e3, None
        if answer.move not in legal[:n].tolist():
            return lost(turn, Fault.ILLEGAL, f"plays {_uci(answer.move)}, an illegal move")
        if clock.overstepped(taken):
            if clock.overstepped(taken - answer.idle):
                late = f"loses on time: {taken:.0f} ms, with {clock.left:.0f} left"
                if answer.idle >= 1:
                    late += f", {answer.idle:.0f} without a processor"
                return lost(turn, Fault.TIME, late)
            stalled = answer.idle
            stalls[turn] += 1
        clock.charge(taken - (stalled or 0.0))
        line.push(answer.move)
        said.append((answer, taken if clock.limit.is_time else None, stalled))
        verdict = adjudicator.verdict(_score(answer, turn), int(position["fullmove"]))
        # A mate on the board goes before any agreement.
        if verdict and legal_moves(line.position, legal):
            return finished(*verdict, "adjudication")


def _uci(move: int) -> str:
    return notation.move_to_uci(move)


def _score(answer: Answer, turn: int) -> int | None:
    """From White's view."""
    score = answer.score_cp
    if answer.mate is not None:
        score = MATE_SCORE if answer.mate > 0 else -MATE_SCORE
    return score if turn == WHITE or score is None else -score


def _end_on_board(line: Line, legal: int) -> tuple[str, str] | None:
    """Result and reason when the rules of chess end the game here."""
    position = line.position
    if legal == 0:
        if not position["checkers"]:
            return DRAW, "stalemate"
        loser = int(position["turn"])
        return WINS[1 - loser], f"{NAMES[1 - loser]} mates"
    halfmove, ply = int(position["halfmove"]), len(line.moves)
    if halfmove >= 100:
        return DRAW, "fifty moves"
    reversible = line.keys[max(ply - halfmove, 0) : ply]
    if np.count_nonzero(reversible == position["key"]) >= 2:
        return DRAW, "threefold repetition"
    if insufficient_material(position):
        return DRAW, "insufficient material"
    return None
