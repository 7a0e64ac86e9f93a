"""Eight bitboards, and how a game ends."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from nnuelab.chess import notation, outcome
from nnuelab.chess.moves import MAX_MOVES, legal_moves
from nnuelab.chess.notation import PIECES
from nnuelab.chess.position import EMPTY
from nnuelab.features import parse
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from nnuelab.policy import boards
from nnuelab.tournament.game import Line
from tests.positions import random_fens


def test_boards_masks_and_fens_are_the_same_and_the_features_of_yacge() -> None:
    feature_set = parse("YACGE")
    tables = compiled(feature_set)
    active = np.empty(feature_set.max_active, np.int32)
    for fen in random_fens(1, 10_000, range(1, 80)):
        position = notation.from_fen(fen)
        turn = int(position["turn"])
        masks = boards.masks(position)
        codes = boards.codes(masks, turn)
        pieces = {s: chess.Piece.from_symbol(PIECES[c]) for s, c in enumerate(codes) if c != EMPTY}
        board = chess.BaseBoard(None)
        board.set_piece_map(pieces)
        assert board.board_fen() == fen.split()[0]
        assert codes == position["board"].tolist()
        n = kernels.active(tables.record, position, turn, active)
        seen = [(mask, square) for mask in range(8) for square in chess.scan_forward(masks[mask])]
        # A colour of a square, own ones first; then a role of a square, from pawns on.
        expected = {
            2 * (square ^ 56 * turn) + mask
            if mask < 2
            else 128 + 6 * (square ^ 56 * turn) + 7 - mask
            for mask, square in seen
        }
        assert set(active[:n].tolist()) == expected


def test_the_start_position_is_as_the_seed_prints_it() -> None:
    masks = boards.masks(notation.from_fen(notation.STARTING_FEN))
    assert dict(zip(boards.NAMES, masks, strict=True)) == {
        "player": 0xFFFF,
        "opponent": 0xFFFF << 48,
        "kings": chess.BB_E1 | chess.BB_E8,
        "queens": chess.BB_D1 | chess.BB_D8,
        "rooks": chess.BB_CORNERS,
        "bishops": chess.BB_C1 | chess.BB_F1 | chess.BB_C8 | chess.BB_F8,
        "knights": chess.BB_B1 | chess.BB_G1 | chess.BB_B8 | chess.BB_G8,
        "pawns": chess.BB_RANK_2 | chess.BB_RANK_7,
    }


@pytest.mark.parametrize(
    ("fen", "moves", "end"),
    [
        (chess.STARTING_FEN, "f2f3 e7e5 g2g4 d8h4", outcome.MATE),
        ("7k/8/6K1/8/8/8/5Q2/8 w - - 0 1", "f2f7", outcome.STALEMATE),
        (chess.STARTING_FEN, "g1f3 g8f6 f3g1 f6g8 " * 2, outcome.REPETITION),
        ("7k/8/6K1/8/8/8/8/1R6 w - - 98 80", "b1b2 h8g8", outcome.FIFTY_MOVES),
        ("7k/8/6K1/8/8/8/8/1R6 w - - 99 80", "b1b8", outcome.MATE),
        ("7k/4q3/5K2/8/8/8/8/8 w - - 0 1", "f6e7", outcome.MATERIAL),
        (chess.STARTING_FEN, "e2e4", outcome.ONGOING),
    ],
)
def test_each_way_in_which_a_game_ends(fen: str, moves: str, end: int) -> None:
    line = Line(fen, 20)
    for uci in moves.split():
        line.push(notation.parse_uci(line.position, uci))
    n = legal_moves(line.position, np.empty(MAX_MOVES, np.int64))
    assert outcome.outcome(line.stack, line.keys, len(line.moves), n) == end
