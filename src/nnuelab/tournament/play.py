"""One game between two players: moves, time, draws by rule, adjudication, and what goes wrong."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES, legal_moves
from nnuelab.chess.outcome import ONGOING, outcome
from nnuelab.chess.position import WHITE
from nnuelab.chess.san import sans
from nnuelab.engine import clock, match
from nnuelab.engine.search import Engine, mate_in
from nnuelab.engine.state import MATE
from nnuelab.settings.games import Rules
from nnuelab.tournament.adjudication import (
    NAMES,
    WHITE_HALF_POINTS,
    WINS,
    Adjudicator,
    record,
    told,
)
from nnuelab.tournament.game import TERMINATION, Answer, Failure, Fault, Game, Line, Move, Seat
from nnuelab.tournament.limits import Clock, Turn

OVERHEAD = 1.0  # ms of a move's time that calls in this process take


class EnginePlayer:
    """This project's engine, in this process.

    Parameters
    ----------
    engine : engine.search.Engine, or what searches like one
    overhead : float
        ms of each move's time that are kept back.
    """

    def __init__(self, engine: Any, overhead: float = OVERHEAD) -> None:
        self.engine, self._overhead = engine, overhead

    def new_game(self) -> None:
        """Clears the tables."""
        self.engine.new_game()

    def search(self, line: Line, turn: Turn) -> Answer:
        """A search in this thread; what it waited for a processor is wall less processor time."""
        began, worked = time.perf_counter(), time.thread_time()
        found = self.engine.search(line.position, line.history, **self._limits(turn))
        # The system call comes first: at its end a thread is often put off the processor.
        worked = time.thread_time() - worked
        idle = time.perf_counter() - began - worked
        return Answer(
            *(found.move, found.score_cp, found.mate, found.depth, found.nodes),
            idle=max(idle * 1e3, 0.0),
        )

    def _limits(self, turn: Turn) -> dict[str, Any]:
        limit = turn.limit
        if limit.nodes is not None:
            return {"nodes": limit.nodes}
        if limit.depth is not None:
            return {"depth": limit.depth}
        if limit.movetime is not None:
            return {"budget": clock.fixed(limit.movetime, self._overhead)}
        return {"budget": clock.budget(turn.left, limit.increment, None, self._overhead)}

    def close(self) -> None:
        """Nothing runs outside of this process."""


def play(white: Seat, black: Seat, fen: str, rules: Rules, moves: Sequence[int] = ()) -> Game:
    """Plays a game from ``fen`` and the ``moves`` that were played there before.

    Both players start with cleared tables, so under limits of nodes or depth the game depends on
    them, the opening and the limits alone. A player that fails, plays an illegal move or comes late
    has lost.
    """
    line = Line(fen, rules.max_plies, moves)
    engines = [_engine_of(seat) for seat in (white, black)]
    if engines[0] is not None and engines[1] is not None:
        return _play_at_once((engines[0], engines[1]), (white, black), line, rules)
    return by_moves(white, black, line, rules)


def half_points(first: Seat, second: Seat, fen: str, rules: Rules) -> int:
    """Plays an opening twice, with colours swapped; what the first player wins, 0 to 4."""
    as_white = WHITE_HALF_POINTS[play(first, second, fen, rules).result]
    return as_white + 2 - WHITE_HALF_POINTS[play(second, first, fen, rules).result]


def _engine_of(seat: Seat) -> Engine | None:
    """The engine of a seat, when a game can be played without a look at a clock."""
    player = seat.player
    if seat.limit.is_time or not isinstance(player, EnginePlayer):
        return None
    return player.engine if isinstance(player.engine, Engine) else None


def _play_at_once(
    engines: tuple[Engine, Engine], seats: tuple[Seat, Seat], line: Line, rules: Rules
) -> Game:
    """What `by_moves` plays, in one call of compiled code."""
    for engine in dict.fromkeys(engines):
        engine.new_game()
    white, black = ((seat.limit.nodes, seat.limit.depth) for seat in seats)
    thoughts, end, thinking = match.play(
        engines, (white, black), record(rules), line.stack, line.keys, line.first
    )
    positions = line.stack[line.first : line.first + len(thoughts) + 1]
    said = []
    for _, score, depth, nodes in thoughts.tolist():
        mate = mate_in(score)
        said.append((None if mate is not None else score, mate, depth, nodes))
    ended = told(end, int(positions[-1]["turn"]))
    return Game(_written(positions, thoughts["move"], said), *ended, thinking=thinking)


def by_moves(white: Seat, black: Seat, line: Line, rules: Rules) -> Game:
    """Plays a game move by move; the players may be anything that answers."""
    seats = (white, black)
    clocks = (Clock(white.limit), Clock(black.limit))
    adjudicator = Adjudicator(rules)
    legal = np.empty(MAX_MOVES, np.int64)
    said: list[tuple[Answer, float | None, float | None]] = []
    stalls = [0, 0]

    def finished(result: str, reason: str, termination: str, fault: Fault | None = None) -> Game:
        moves = _written(
            line.stack[line.first : len(line.moves) + 1],
            line.moves[line.first :],
            [
                (answer.score_cp, answer.mate, answer.depth, answer.nodes, *times)
                for answer, *times in said
            ],
        )
        return Game(moves, result, reason, termination, fault, (stalls[0], stalls[1]))

    def lost(loser: int, fault: Fault, how: str) -> Game:
        return finished(WINS[1 - loser], f"{NAMES[loser]} {how}", TERMINATION[fault], fault)

    for turn, seat in enumerate(seats):
        try:
            seat.player.new_game()
        except Failure as failure:
            return lost(turn, failure.fault, str(failure))
    while True:
        position = line.position
        turn, ply = int(position["turn"]), len(line.moves)
        n = legal_moves(position, legal)
        end = int(outcome(line.stack, line.keys, ply, n))
        if end == ONGOING and ply - line.first == rules.max_plies:
            end = int(match.LENGTH)
        if end != ONGOING:
            return finished(*told(end, turn))
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
            illegal = notation.move_to_uci(answer.move)
            return lost(turn, Fault.ILLEGAL, f"plays {illegal}, an illegal move")
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
        end = adjudicator.verdict(_score(answer, turn), int(position["fullmove"]))
        # A mate on the board goes before any agreement.
        if end != ONGOING and legal_moves(line.position, legal):
            return finished(*told(end, 1 - turn))


def _written(
    positions: np.ndarray, moves: Sequence[int] | np.ndarray, said: Iterable[tuple]
) -> list[Move]:
    """Moves as they are written; ``said`` are the fields of `Move` behind the first."""
    return [Move(san, *what) for san, what in zip(sans(positions, moves), said, strict=True)]


def _score(answer: Answer, turn: int) -> int | None:
    """From White's view; of mates what is beyond every evaluation."""
    score = answer.score_cp
    if answer.mate is not None:
        score = MATE if answer.mate > 0 else -MATE
    return score if turn == WHITE or score is None else -score
