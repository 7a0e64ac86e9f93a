"""Sets of today's engines: their published numbers of features, and what is left out of them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations, product

import chess
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.errors import UserError
from nnuelab.features import check, parse
from nnuelab.features.algebra import Block
from nnuelab.features.groups import groups

# As the engines' own sources state them; rows that never were a piece's are subtracted.
PUBLISHED = {
    "CHESS768": 768,
    "HALFKP": 41024 - 64,  # Stockfish's half_kp.h: 641 for each king, of which one is none
    "HALFKA": 49216 - 64,  # nnue-pytorch's halfka.py, likewise
    "HALFKAV2": 45056,  # Stockfish's half_ka_v2.h: 64 * 704
    "HALFKAV2_HM": 22528,  # Stockfish's half_ka_v2_hm.h: 32 * 704
    "CHESSBUCKETSMIRRORED(16)": 16 * 768,  # bullet's chess_buckets.rs
    "HRK(HV)": 12 * 15 * 15,  # nnue-pytorch's HalfRelativeKA
    "HALFRELATIVEKP": 10 * 15 * 15,  # Stockfish's half_relative_kp.h
}
THREATS = {11: 66864, 12: 60144, 16: 59808}  # Stockfish's full_threats.h, of SFNNv11, 12 and 16
PAWN_PAIRS = 4560  # SFNNv16's pp_3wide.h, all pairs of 96 pawns; active ones are within three files


@pytest.mark.parametrize("name", PUBLISHED)
def test_sizes_are_the_published_ones(name: str) -> None:
    assert parse(name).size == PUBLISHED[name]


def test_mirrored_planes_without_those_that_are_never_active() -> None:
    """Counted on a board of python-chess: kings on 32 squares, and all others where they may be."""
    possible = 0
    for king in (square for square in chess.SQUARES if chess.square_file(square) < 4):
        others = [square for square in chess.SQUARES if square != king]
        pawns = sum(0 < chess.square_rank(square) < 7 for square in others)
        kings = 64 - len(chess.SquareSet(chess.BB_KING_ATTACKS[king]))  # its own among them
        possible += 2 * pawns + 8 * len(others) + kings
    found = parse("POSSIBLE(HALFKAV2_HM)")
    assert found.size == possible < PUBLISHED["HALFKAV2_HM"]
    assert not len(found.dead)


def victims(version: int, attacker: int) -> list[int]:
    pieces = [chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK]
    if attacker == chess.PAWN:
        return [chess.PAWN, chess.KNIGHT, chess.ROOK][version == 16 :]
    if attacker == chess.KING:
        return pieces if version == 11 else []
    return [*pieces, chess.QUEEN] if attacker in (chess.KNIGHT, chess.QUEEN) else pieces


def all_threats(version: int) -> Iterator[tuple[chess.Piece, int, chess.Piece, int]]:
    """What the engine has rows for: attacks on an empty board, on whatever it wants there."""
    for role, color, square in product(chess.PIECE_TYPES, chess.COLORS, chess.SQUARES):
        if role == chess.PAWN and chess.square_rank(square) in (0, 7):
            continue
        board = chess.Board(None)
        board.set_piece_at(square, chess.Piece(role, color))
        for target in board.attacks(square):
            for victim, side in product(victims(version, role), chess.COLORS):
                yield chess.Piece(role, color), square, chess.Piece(victim, side), target


def known(piece: chess.Piece, square: int, victim: chess.Piece, target: int) -> frozenset | tuple:
    """What tells a threat from others; mutual ones are one."""
    mutual = piece.piece_type == victim.piece_type and (
        piece.piece_type != chess.PAWN or piece.color != victim.color
    )
    one, other = (piece.symbol(), square), (victim.symbol(), target)
    return frozenset([one, other]) if mutual else (one, other)


@pytest.mark.parametrize("version", THREATS)
def test_threats_are_those_of_the_engine_without_rows_that_are_never_active(version: int) -> None:
    rows = list(all_threats(version))
    assert len(rows) == THREATS[version]
    possible = {
        known(*row)
        for row in rows
        if row[2].piece_type != chess.PAWN or chess.square_rank(row[3]) not in (0, 7)
    }
    assert parse(f"FULL_THREATS({version})").size == len(possible)


def boards() -> Iterator[chess.Board]:
    rng = random.Random(3)
    for _ in range(15):
        board = chess.Board()
        for _ in range(rng.randrange(10, 80)):
            if board.is_game_over():
                break
            board.push(rng.choice(list(board.legal_moves)))
        board.castling_rights = chess.BB_EMPTY
        board.ep_square = None
        if board.is_valid():
            yield board


def active(name: str, board: chess.Board, perspective: int) -> list[int]:
    return check.extracted(parse(name), notation.from_fen(board.fen()), perspective)


@pytest.mark.parametrize("version", THREATS)
def test_threats_of_a_position_are_there_once_each(version: int) -> None:
    for board in boards():
        threats = {
            known(piece, square, victim, target)
            for square, piece in board.piece_map().items()
            for target in board.attacks(square)
            if (victim := board.piece_at(target)) is not None
            and victim.piece_type in victims(version, piece.piece_type)
        }
        for perspective in range(2):
            assert len(active(f"FULL_THREATS({version})", board, perspective)) == len(threats)


@pytest.mark.parametrize("name", ["FULL_THREATS(12)", "PP_3WIDE", "HM(SC+H)"])
def test_a_mirrored_board_has_the_same_features(name: str) -> None:
    for board in boards():
        mirrored = board.transform(chess.flip_horizontal)
        for perspective in range(2):
            assert active(name, board, perspective) == active(name, mirrored, perspective)


def test_pawn_pairs_are_those_of_files_side_by_side() -> None:
    pawns = list(product(chess.COLORS, range(8, 56)))
    pairs = list(combinations(pawns, 2))
    assert len(pairs) == PAWN_PAIRS
    near = [
        pair
        for pair in pairs
        if pair[0][1] != pair[1][1]
        and abs(chess.square_file(pair[0][1]) - chess.square_file(pair[1][1])) <= 1
    ]
    assert parse("PP_3WIDE").size == len(near)


def test_selections_belong_to_the_groups_of_what_they_are_selected_from() -> None:
    whole, part = parse("TH"), parse("FULL_THREATS(12)")
    block = part.blocks[0]
    assert isinstance(block, Block)
    ((_, features),) = block.copies()
    for name, members in groups(part, "role").items():
        there = groups(whole, "role")[name] & (features >= 0)
        np.testing.assert_array_equal(np.flatnonzero(members), np.sort(features[there]))


@pytest.mark.parametrize("name", ["HM(D1)", "HM(KB(4))", "HM(PH)", "HM(TOPK(2,pairs.csv))"])
def test_what_has_no_mirror_image_is_refused(name: str, tmp_path, monkeypatch) -> None:
    (tmp_path / "pairs.csv").write_text("first,second,views\nKe1,ke8,2\nPe2,ke8,1\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r"can't be mirrored; blocks about pieces on squares"):
        parse(name)
