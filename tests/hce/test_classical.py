"""What the default evaluation says of positions whose value everybody knows."""

from __future__ import annotations

from itertools import pairwise

import chess
import pytest

from nnuelab.hce import evaluation
from nnuelab.hce.evaluation import Evaluation
from tests.naive import hce as naive


@pytest.fixture(scope="module")
def classical() -> Evaluation:
    return evaluation.read(evaluation.DEFAULT)


def without(square: str) -> chess.Board:
    """The starting position without a piece, and without castling."""
    board = chess.Board()
    board.remove_piece_at(chess.parse_square(square))
    board.castling_rights = chess.BB_EMPTY
    return board


@pytest.mark.parametrize("turn", [chess.WHITE, chess.BLACK])
def test_the_starting_position_is_worth_the_move(classical: Evaluation, turn: chess.Color) -> None:
    board = chess.Board()
    board.turn = turn
    middlegame, _ = classical.weights[classical.starts["tempo"]]
    assert naive.value(classical, board) == middlegame


@pytest.mark.parametrize(
    ("missing", "least", "most"),
    [
        ("d8", 700, 1300),  # queen
        ("a8", 350, 700),  # rook
        ("c8", 250, 500),  # bishop
        ("b8", 250, 500),  # knight
        ("a7", 30, 200),  # pawn
    ],
)
def test_a_piece_more_is_worth_it(
    classical: Evaluation, missing: str, least: int, most: int
) -> None:
    assert least < naive.value(classical, without(missing)) < most


def test_a_passed_pawn_gains_by_every_step_from_rank_3_on(classical: Evaluation) -> None:
    values = []
    for rank in range(2, 7):
        board = chess.Board("8/8/8/8/6k1/8/6K1/8 w - - 0 1")
        board.set_piece_at(chess.square(0, rank), chess.Piece(chess.PAWN, chess.WHITE))
        values.append(naive.value(classical, board))
    assert all(after > before for before, after in pairwise(values))
    assert values[-1] > values[0] + 100


def test_a_king_stands_better_behind_pawns(classical: Evaluation) -> None:
    behind = "rnbq1rk1/5ppp/8/8/8/8/5PPP/RNBQ1RK1 w - - 0 1"
    before = "rnbq1rk1/5ppp/8/8/8/5K2/5PPP/RNBQ1R2 w - - 0 1"
    assert (
        naive.value(classical, chess.Board(behind))
        > naive.value(classical, chess.Board(before)) + 50
    )
