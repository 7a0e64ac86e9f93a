"""When a game ends by agreement of the scores instead of on the board."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np

from nnuelab.chess import outcome
from nnuelab.chess.position import BLACK, WHITE
from nnuelab.engine import match
from nnuelab.settings.games import Rules

DRAW, WHITE_WINS, BLACK_WINS = "1/2-1/2", "1-0", "0-1"
NAMES = {WHITE: "White", BLACK: "Black"}
WINS = {WHITE: WHITE_WINS, BLACK: BLACK_WINS}
WHITE_HALF_POINTS = {WHITE_WINS: 2, DRAW: 1, BLACK_WINS: 0}
_ENDS = {
    outcome.STALEMATE: (DRAW, "stalemate"),
    outcome.FIFTY_MOVES: (DRAW, "fifty moves"),
    outcome.REPETITION: (DRAW, "threefold repetition"),
    outcome.MATERIAL: (DRAW, "insufficient material"),
    match.LENGTH: (DRAW, "maximum length"),
    match.LEVEL: (DRAW, "level scores"),
    match.WHITE_AHEAD: (WHITE_WINS, "decisive scores"),
    match.BLACK_AHEAD: (BLACK_WINS, "decisive scores"),
}


def record(rules: Rules) -> np.void:
    """Rules for compiled code: a RULES record of `engine.match`."""
    return np.array([astuple(rules)], match.RULES)[0]


def told(end: int, turn: int) -> tuple[str, str, str]:
    """Result, reason and PGN's word for it, of what `engine.match.play` says of a game's end.

    ``turn`` is the side to move in the last position.
    """
    if end == outcome.MATE:
        winner = 1 - turn
        return WINS[winner], f"{NAMES[winner]} mates", "normal"
    result, reason = _ENDS[end]
    return result, reason, "normal" if end <= outcome.MATERIAL else "adjudication"


class Adjudicator:
    """Follows the scores of one game."""

    def __init__(self, rules: Rules) -> None:
        self._rules = record(rules)
        self._agreement = np.zeros(2, np.int64)

    def verdict(self, score: int | None, move_number: int) -> int:
        """What ends the game after a move, as in `engine.match`; ONGOING when nothing does.

        Parameters
        ----------
        score : int or None
            Centipawns from White's view, as the player who moved saw it; None when it said nothing,
            which agrees to nothing.
        move_number : int
            The full-move number of that move.
        """
        if score is None:
            self._agreement[:] = 0
            return int(outcome.ONGOING)
        return int(match.adjudicate(self._rules, self._agreement, score, move_number))
