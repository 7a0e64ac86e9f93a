"""Thousands of games against python-chess; a file of its own, to run beside the other tests."""

from __future__ import annotations

from pathlib import Path

import chess
import chess.pgn
import pytest
import zstandard

from nnuelab.chess import notation
from nnuelab.chess.checks import gives_check
from nnuelab.chess.san import replay, sans
from tests.conftest import ROOT

REAL = ROOT.parent / "shared" / "data" / "games" / "lichess_carlsen_evals.pgn.zst"
EMBEDDED = ROOT / "resources" / "embedded" / "games.pgn.zst"


class Follower(chess.pgn.BaseVisitor[int]):
    """Plays a game on our board, too, and compares the two at every position."""

    def begin_game(self) -> None:
        self._plies = 0

    def visit_board(self, board: chess.Board) -> None:
        if not board.move_stack:
            self._position = notation.from_fen(board.fen())
        assert notation.to_fen(self._position) == board.fen()
        self._legal = {notation.move_to_uci(m): m for m in notation.moves_of(self._position)}
        assert set(self._legal) == {move.uci() for move in board.legal_moves}

    def visit_move(self, board: chess.Board, move: chess.Move) -> None:
        ours = self._legal[move.uci()]
        assert sans(replay(self._position, [ours]), [ours]) == [board.san(move)]
        assert gives_check(self._position, ours) == board.gives_check(move)
        self._position = notation.after(self._position, ours)
        self._plies += 1

    def begin_variation(self) -> chess.pgn.SkipType:
        return chess.pgn.SKIP

    def handle_error(self, error: Exception) -> None:
        raise error

    def result(self) -> int:
        return self._plies


def follow(archive: Path, games: int) -> list[int]:
    """The half-moves of each of the first games."""
    with zstandard.open(archive, "rt", encoding="utf-8") as file:
        plies = []
        while len(plies) < games and (n := chess.pgn.read_game(file, Visitor=Follower)) is not None:
            plies.append(n)
    return plies


@pytest.mark.parametrize("games", [500, pytest.param(2500, marks=pytest.mark.slow)])
def test_games_have_the_same_moves_and_fen_at_every_ply(games: int) -> None:
    """Real games where the folder of test data is; otherwise those that come with the project."""
    plies = follow(REAL if REAL.exists() else EMBEDDED, games)
    assert len(plies) == games
    assert sum(plies) > 60 * games
