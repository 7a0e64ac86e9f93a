"""When a game ends by agreement of the scores instead of on the board."""

from __future__ import annotations

from dataclasses import dataclass

DRAW, WHITE_WINS, BLACK_WINS = "1/2-1/2", "1-0", "0-1"


@dataclass(frozen=True)
class Rules:
    """Adjudication as in cutechess and fastchess; a count of 0 turns a rule off.

    Attributes
    ----------
    draw_move, draw_plies, draw_score : int
        A draw from move ``draw_move`` on, when the last ``draw_plies`` moves (of both sides) were
        all within ``draw_score`` centipawns of 0.
    resign_score, resign_plies : int
        A side has lost when the last ``resign_plies`` moves (of both sides) all saw it at least
        ``resign_score`` centipawns behind.
    max_plies : int
        A draw after so many half-moves from the opening.
    """

    draw_move: int = 40
    draw_plies: int = 16
    draw_score: int = 10
    resign_score: int = 1000
    resign_plies: int = 8
    max_plies: int = 400


class Adjudicator:
    """Follows the scores of one game."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self._level = 0  # moves in a row within draw_score
        self._lost = 0  # moves in a row with one side behind: > 0 Black is, < 0 White is

    def verdict(self, score: int | None, move_number: int) -> tuple[str, str] | None:
        """Result and reason after a move, None when the game goes on.

        Parameters
        ----------
        score : int or None
            Centipawns from White's view, as the player who moved saw it; None when it said nothing,
            which agrees to nothing.
        move_number : int
            The full-move number of that move.
        """
        rules = self.rules
        if score is None:
            self._level = self._lost = 0
            return None
        self._level = self._level + 1 if abs(score) <= rules.draw_score else 0
        if abs(score) < rules.resign_score:
            self._lost = 0
        elif score > 0:
            self._lost = max(self._lost, 0) + 1
        else:
            self._lost = min(self._lost, 0) - 1
        if rules.draw_plies and self._level >= rules.draw_plies and move_number >= rules.draw_move:
            return DRAW, "level scores"
        if rules.resign_plies and abs(self._lost) >= rules.resign_plies:
            return (WHITE_WINS if self._lost > 0 else BLACK_WINS), "decisive scores"
        return None
