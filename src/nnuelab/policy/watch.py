"""A game that a policy plays against itself by the walk, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nnuelab.chess import outcome
from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.notation import STARTING_FEN, from_fen
from nnuelab.chess.position import POSITION, WHITE
from nnuelab.policy import boards
from nnuelab.policy.console import Played, Targets
from nnuelab.policy.games import points
from nnuelab.policy.mover import Mover, walked
from nnuelab.policy.policyfile import SQUARES

WON, OWN, SCALE = 100, 1, 100  # the seed's rewards, which it prints as hundredths
_ENDS: dict[int, tuple[str, str]] = {
    int(outcome.MATE): ("mate", "mate"),
    int(outcome.STALEMATE): ("stale", "stalemate"),
    int(outcome.FIFTY_MOVES): ("50x", "fifty moves"),
    int(outcome.REPETITION): ("3x", "threefold"),
    int(outcome.MATERIAL): ("dead", "insufficient material"),
}
_NO_MOVES = (outcome.MATE, outcome.STALEMATE)


@dataclass(frozen=True)
class Step:
    """A move of the game, or the walk that found none.

    Attributes
    ----------
    ply : int
    before, after : POSITION record
        ``after`` is None where there is no legal move.
    activations : float32 [128] or [4096]
    found : WALK record
    captured : int
        Points.
    """

    ply: int
    before: np.void
    after: np.void | None
    activations: np.ndarray
    found: np.void
    captured: int = 0

    @property
    def squares(self) -> tuple[int, int]:
        """Of the move."""
        move = int(self.found["move"])
        return move & 63, move >> 6 & 63


def play(mover: Mover, plies: int) -> Iterator[Step]:
    """The steps of a game of at most so many half-moves."""
    line, keys = np.zeros(plies + 1, POSITION), np.zeros(plies + 1, np.uint64)
    line[0] = from_fen(STARTING_FEN)
    keys[0] = line[0]["key"]
    scratch = np.empty(MAX_MOVES, np.int64)
    for ply in range(plies):
        before = line[ply]
        n = legal_moves(before, scratch)
        if outcome.outcome(line, keys, ply, n) not in (outcome.ONGOING, *_NO_MOVES):
            return
        values = mover.activations(before)
        found = walked(before, values)
        if n == 0:
            yield Step(ply, before, None, values, found)
            return
        move = int(found["move"])
        make(before, line[ply + 1], move)
        keys[ply + 1] = line[ply + 1]["key"]
        yield Step(ply, before, line[ply + 1], values, found, _captured(before, line[ply + 1]))


def _captured(before: np.void, after: np.void) -> int:
    other = 1 - int(before["turn"])
    return int(points(before, other) - points(after, other))


def played(steps: Sequence[Step], plies: int, engine_ms: int) -> Played:
    """What the summary tells of a game."""
    moves = [step for step in steps if step.after is not None]
    taken = [sum(step.captured for step in moves if step.ply % 2 == side) for side in (0, 1)]
    reason, winner = (f"{plies}x", "hundred" if plies == 100 else f"{plies} plies"), None
    last = steps[-1].after
    if last is None:
        last = steps[-1].before
    line = np.array([step.before for step in moves] + [last], POSITION)
    n = legal_moves(last, np.empty(MAX_MOVES, np.int64))
    end = int(outcome.outcome(line, line["key"].copy(), len(moves), n))
    if end != outcome.ONGOING:
        reason = _ENDS[end]
    if end == outcome.MATE:
        winner = 1 - int(last["turn"])
    walks = [
        (int(step.found["checks"]), int(step.found["from_rank"]), int(step.found["to_rank"]))
        for step in moves
        if int(step.before["turn"]) == WHITE
    ]
    return Played(reason, (taken[0], taken[1]), winner, walks, engine_ms)


def targets(step: Step, end: Played) -> Targets:
    """What the seed would teach of a move, in its scale.

    The squares of the move are worth what it captured; 100 where White has won, or has captured
    more and not lost. Other squares with an own piece are worth 1, so that none goes to zero.
    """
    reward = step.captured
    if end.winner == WHITE or (end.winner is None and end.points[0] > end.points[1]):
        reward = WON
    return rewarded(step.before, step.squares, reward)


def rewarded(before: np.void, move: tuple[int, int], reward: float) -> Targets:
    """The seed's two tables of a move with a reward."""
    own = boards.masks(before)[0]
    start = np.array([OWN * (own >> square & 1) for square in range(SQUARES)], float) / SCALE
    goal = np.zeros(SQUARES)
    start[move[0]] = goal[move[1]] = reward / SCALE
    return Targets(start, goal)
