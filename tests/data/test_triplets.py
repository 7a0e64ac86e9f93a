"""Triplets: Q and R against python-chess, the draw of R, the filter against numpy."""

from __future__ import annotations

from collections import Counter

import chess
import numpy as np
import pytest

from nnuelab.data.records import RECORD, from_fen, to_fen
from nnuelab.data.triplets import LAST_PLY, least_moves, legal_counts, make_triplets
from nnuelab.data.triplets import usable as usable_of
from tests.nnue_data import pack_move


def record_of(board: chess.Board, move: chess.Move | None) -> np.void:
    record = from_fen(board.fen(en_passant="legal"))
    record["move"] = 0 if move is None else pack_move(board, move)
    record["result"] = 1
    return record


def usable(records: np.ndarray, quantile: float = 0.0) -> np.ndarray:
    """Found in three parts."""
    parts = np.array_split(records, 3)
    least = least_moves(parts, quantile)
    return np.concatenate([usable_of(part, least) for part in parts])


@pytest.fixture(scope="module")
def games() -> tuple[np.ndarray, list[tuple[chess.Board, chess.Move]]]:
    """Every position of random games, with its move."""
    found = []
    for seed in range(20):
        rng, board = np.random.default_rng(seed), chess.Board()
        while board.ply() < 150 and not board.is_game_over():
            moves = list(board.legal_moves)
            move = moves[rng.integers(len(moves))]
            found.append((board.copy(stack=False), move))
            board.push(move)
    return np.array([record_of(*pair) for pair in found], RECORD), found


def after(board: chess.Board, move: chess.Move) -> str:
    """Board, side, castling and en passant."""
    board = board.copy(stack=False)
    board.push(move)
    return " ".join(board.fen(en_passant="legal").split()[:5])


def test_counts_are_those_of_python_chess(games: tuple) -> None:
    records, pairs = games
    assert legal_counts(records).tolist() == [board.legal_moves.count() for board, _ in pairs]
    unknown = records[:2].copy()
    unknown["move"] = [0, 0 | 63 << 6]  # none, and one that isn't legal
    assert legal_counts(unknown).tolist() == [0, 0]
    assert not usable(unknown).any()


def test_q_and_r_are_after_the_move_and_after_another(games: tuple) -> None:
    records, pairs = games
    places = np.flatnonzero(usable(records))
    assert len(places) < len(records)  # there are positions with a single move
    made = make_triplets(records[places], 1, 0)
    for (p, q, r), place in zip(made.reshape(-1, 3), places, strict=True):
        board, move = pairs[place]
        assert p == records[place]
        assert to_fen(q).rsplit(" ", 1)[0] == after(board, move)
        others = {after(board, other) for other in board.legal_moves if other != move}
        assert to_fen(r).rsplit(" ", 1)[0] in others
        assert q["ply"] == r["ply"] == p["ply"] + 1
        assert q["result"] == r["result"] == -1


def test_r_depends_on_seed_epoch_and_position_alone(games: tuple) -> None:
    records, _ = games
    places = np.flatnonzero(usable(records))
    whole = make_triplets(records[places], 1, 2).reshape(-1, 3)
    part = make_triplets(records[places[5:9]], 1, 2).reshape(-1, 3)
    assert (part == whole[5:9]).all()
    for seed, epoch in ((1, 3), (2, 2)):
        other = make_triplets(records[places], seed, epoch).reshape(-1, 3)
        assert (other[:, 1] == whole[:, 1]).all()
        assert (other[:, 2] != whole[:, 2]).mean() > 0.5


def test_r_is_uniform_over_the_other_moves() -> None:
    board = chess.Board()
    move = chess.Move.from_uci("e2e4")
    n = 19_000
    records = np.array([record_of(board, move)] * n, RECORD)
    records["game"] = np.arange(n)
    made = make_triplets(records, 7, 0)
    drawn = Counter(to_fen(r) for r in made[2::3])
    assert len(drawn) == 19
    # chi-squared with 18 degrees of freedom: 42.3 is passed once in a thousand
    assert sum((count - 1000) ** 2 / 1000 for count in drawn.values()) < 42.3


@pytest.mark.parametrize("quantile", [0.25, 0.5, 0.75])
def test_the_filter_is_a_quantile_of_each_colour_and_move_number(
    games: tuple, quantile: float
) -> None:
    records, _pairs = games
    counts = legal_counts(records)
    kept = usable(records, quantile)
    for ply in np.unique(records["ply"]):
        of_ply = records["ply"] == ply
        least = np.quantile(counts[of_ply], quantile, method="inverted_cdf")
        assert (kept[of_ply] == (counts[of_ply] >= max(least, 2))).all()
    assert kept.sum() < usable(records).sum()


def test_the_latest_positions_are_filtered_together(games: tuple) -> None:
    records = games[0].copy()
    records["ply"] = np.where(np.arange(len(records)) % 2, LAST_PLY + 5, 60_000)
    least = np.quantile(legal_counts(records), 0.5, method="inverted_cdf")
    assert (usable(records, 0.5) == (legal_counts(records) >= least)).all()


def test_a_single_legal_move_is_no_triplet() -> None:
    board = chess.Board("7k/8/8/8/8/8/1q6/K7 w - - 0 1")
    only = list(board.legal_moves)
    assert len(only) == 1
    records = np.array([record_of(board, only[0])], RECORD)
    assert legal_counts(records).tolist() == [1]
    assert not usable(records).any()
    with pytest.raises(ValueError, match="position 0 has no legal move besides"):
        make_triplets(records, 1, 0)
