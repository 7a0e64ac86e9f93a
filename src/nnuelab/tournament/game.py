"""One game between two players: moves, draws by rule, adjudication."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES, legal_moves, make
from nnuelab.chess.position import BLACK, POSITION, WHITE, insufficient_material
from nnuelab.tournament.adjudication import BLACK_WINS, DRAW, WHITE_WINS, Adjudicator, Rules

MATE_SCORE = 32_000  # centipawns, for adjudication: beyond every evaluation


class Answer(Protocol):
    """What a player says of a position, from its own view (`engine.search.Result` is one)."""

    @property
    def move(self) -> int: ...
    @property
    def score_cp(self) -> int: ...
    @property
    def mate(self) -> int | None: ...
    @property
    def depth(self) -> int: ...


class Player(Protocol):
    """Plays by calls in this process (`engine.search.Engine` is one)."""

    def new_game(self) -> None:
        """Forgets everything: the next game must not depend on the ones before."""

    def search(self, position: np.void, history_keys: Any, *, nodes: int) -> Answer:
        """The move for ``position``; ``history_keys`` [ply] are those of the positions before."""


Factory = Callable[[Path, int], Player]
"""Makes a player from its file and the size of its hash table in MB."""


@dataclass(frozen=True)
class Move:
    """A move as it is written: SAN, and what its player thought of it from its own view."""

    san: str
    score_cp: int
    mate: int | None
    depth: int


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
    adjudicated : bool
        False when the rules of chess ended it.
    """

    moves: list[Move]
    result: str
    reason: str
    adjudicated: bool


def play(white: Player, black: Player, fen: str, nodes: int, rules: Rules) -> Game:
    """Plays a game from ``fen`` with ``nodes`` per move.

    Both players start with cleared tables, so the game depends on them, the opening and the limit
    alone.

    Raises
    ------
    RuntimeError
        When a player answers with an illegal move.
    """
    for player in (white, black):
        player.new_game()
    stack = np.zeros(rules.max_plies + 1, POSITION)
    stack[0] = notation.from_fen(fen)
    keys = np.zeros(rules.max_plies + 1, np.uint64)
    legal = np.empty(MAX_MOVES, np.int64)
    adjudicator = Adjudicator(rules)
    played: list[int] = []
    answers: list[Answer] = []
    adjudicated = False
    while True:
        ply = len(played)
        position = stack[ply]
        keys[ply] = position["key"]
        n = legal_moves(position, legal)
        if end := _end_on_board(position, keys, ply, n):
            break
        if ply == rules.max_plies:
            end, adjudicated = (DRAW, "maximum length"), True
            break
        turn = int(position["turn"])
        player = white if turn == WHITE else black
        answer = player.search(position, keys[:ply], nodes=nodes)
        if answer.move not in legal[:n].tolist():
            raise RuntimeError(
                f"illegal move {notation.move_to_uci(answer.move)} in {notation.to_fen(position)}"
            )
        make(position, stack[ply + 1], answer.move)
        played.append(answer.move)
        answers.append(answer)
        score = answer.score_cp
        if answer.mate is not None:
            score = MATE_SCORE if answer.mate > 0 else -MATE_SCORE
        verdict = adjudicator.verdict(score if turn == WHITE else -score, int(position["fullmove"]))
        # A mate on the board goes before any agreement.
        if verdict and legal_moves(stack[ply + 1], legal):
            end, adjudicated = verdict, True
            break
    moves = [
        Move(notation.move_to_san(stack[i], move), answer.score_cp, answer.mate, answer.depth)
        for i, (move, answer) in enumerate(zip(played, answers, strict=True))
    ]
    return Game(moves, *end, adjudicated)


def _end_on_board(
    position: np.void, keys: np.ndarray, ply: int, legal: int
) -> tuple[str, str] | None:
    """Result and reason when the rules of chess end the game here."""
    if legal == 0:
        if not position["checkers"]:
            return DRAW, "stalemate"
        if position["turn"] == BLACK:
            return WHITE_WINS, "White mates"
        return BLACK_WINS, "Black mates"
    halfmove = int(position["halfmove"])
    if halfmove >= 100:
        return DRAW, "fifty moves"
    reversible = keys[max(ply - halfmove, 0) : ply]
    if np.count_nonzero(reversible == keys[ply]) >= 2:
        return DRAW, "threefold repetition"
    if insufficient_material(position):
        return DRAW, "insufficient material"
    return None
