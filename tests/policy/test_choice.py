"""The walk against its literal twin, draws against their probabilities, and the seed's numbers."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.chess.moves import MAX_MOVES, NO_MOVE, legal_moves
from nnuelab.policy import choice
from nnuelab.policy.policyfile import SQUARES
from tests.naive import policy as naive
from tests.policy.policies import MOVE_1_FROM, MOVE_1_TO, SECOND_FROM, SECOND_TO, table
from tests.positions import random_fens

ENDED = {
    "mate": "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3",
    "stalemate": "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
}


def walked(fen: str, values: np.ndarray) -> naive.Walked:
    found = np.zeros(1, choice.WALK)[0]
    choice.walk(notation.from_fen(fen), values, found)
    move = int(found["move"])
    uci = None if move == NO_MOVE else chess.Move.from_uci(notation.move_to_uci(move))
    ranks, tries = (int(found["from_rank"]), int(found["to_rank"])), int(found["tries"])
    return uci, *ranks, tries, int(found["checks"])


def test_the_walk_is_its_literal_twin_with_random_and_with_tied_values() -> None:
    rng = np.random.default_rng(3)
    for number, fen in enumerate(random_fens(5, 2000)):
        values = rng.normal(size=2 * SQUARES).astype(np.float32)
        if number % 2:
            values = np.round(values * 2) / 2
        board = chess.Board(fen)
        assert walked(fen, values) == naive.walk(board, values)


def test_the_walk_of_pairs_is_its_literal_twin() -> None:
    rng = np.random.default_rng(4)
    for number, fen in enumerate(random_fens(6, 300)):
        values = rng.normal(size=SQUARES * SQUARES).astype(np.float32)
        if number % 2:
            values = np.round(values * 2) / 2
        board = chess.Board(fen)
        assert walked(fen, values) == naive.walk_pairs(board, values)


@pytest.mark.parametrize("fen", ENDED.values(), ids=ENDED)
@pytest.mark.parametrize("n", [2 * SQUARES, SQUARES * SQUARES])
def test_without_a_legal_move_every_pair_is_tried(fen: str, n: int) -> None:
    values = np.random.default_rng(1).normal(size=n).astype(np.float32)
    move, from_rank, to_rank, tries, checks = walked(fen, values)
    board = chess.Board(fen)
    own = chess.popcount(board.occupied_co[board.turn])
    assert (move, from_rank, to_rank, tries) == (None, 0, 0, 4096)
    assert checks == own * (SQUARES - own)


def test_no_walk_takes_more_tries_than_there_are_pairs() -> None:
    rng = np.random.default_rng(8)
    for fen in random_fens(9, 200):
        _, _, _, tries, checks = walked(fen, rng.normal(size=128).astype(np.float32))
        assert 1 <= checks <= tries <= 4096


@pytest.mark.parametrize(
    ("start", "goal", "expected"),
    [(MOVE_1_FROM, MOVE_1_TO, ("a2a3", 1, 11, 9)), (SECOND_FROM, SECOND_TO, ("b1c3", 1, 12, 6))],
)
def test_the_seed_s_numbers_give_its_moves_and_its_counters(
    start: str, goal: str, expected: tuple[str, int, int, int]
) -> None:
    """The second table's heading has c3 among the squares to go from, but b1 before it, and its
    remark "b1 to a3 or e3" is no knight's move: the walk gives b1c3."""
    values = np.concatenate([table(start), table(goal)])
    move, from_rank, to_rank, _, checks = walked(chess.STARTING_FEN, values)
    if expected[0] == "b1c3":  # its best two of the squares to go from are b1 and a1
        assert list(np.argsort(-values[:SQUARES], kind="stable")[:2]) == [chess.B1, chess.A1]
    assert (str(move), from_rank, to_rank, checks) == expected


def test_the_walk_promotes_to_queens_alone() -> None:
    fen = "8/P6k/8/8/8/8/8/K7 w - - 0 1"
    values = np.zeros(2 * SQUARES, np.float32)
    values[chess.A7] = values[SQUARES + chess.A8] = 1
    assert str(walked(fen, values)[0]) == "a7a8q"
    moves = np.empty(MAX_MOVES, np.int64)
    n = choice.without_underpromotions(moves, legal_moves(notation.from_fen(fen), moves))
    names = [notation.move_to_uci(move) for move in moves[:n].tolist()]
    board = chess.Board(fen)
    assert sorted(names) == sorted(
        move.uci() for move in board.legal_moves if move.promotion in (None, chess.QUEEN)
    )


def test_draws_follow_the_probabilities_and_their_state_alone() -> None:
    logits = np.array([0.0, 1.0, -1.0, 1.0], np.float32)

    def drawn(temperature: float, top_p: float, n: int = 20_000) -> np.ndarray:
        state = np.array([7], np.uint64)
        found = [choice.draw(logits, 4, temperature, top_p, state) for _ in range(n)]
        assert found[0] == choice.draw(logits, 4, temperature, top_p, np.array([7], np.uint64))
        return np.bincount(found, minlength=4) / n

    assert drawn(0.0, 1.0, 10).tolist() == [0, 1, 0, 0]
    for temperature in (0.5, 1.0, 3.0):
        expected = np.exp(logits / temperature)
        assert np.abs(drawn(temperature, 1.0) - expected / expected.sum()).max() < 0.015
    # The two likeliest have 0.79 together: the others are never drawn.
    assert np.abs(drawn(1.0, 0.7) - [0, 0.5, 0, 0.5]).max() < 0.015
    assert drawn(1.0, 1e-9, 100).tolist() == [0, 1, 0, 0]
