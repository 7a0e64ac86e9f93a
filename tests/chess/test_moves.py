"""The chess core against python-chess and published perft counts."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from pathlib import Path

import chess
import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.chess import attacks, checks, moves, notation, perft
from nnuelab.chess.position import EMPTY, compute_key, insufficient_material
from nnuelab.chess.san import replay, sans
from nnuelab.jit import jit
from tests.naive import chess as naive

# Captures on every piece, castling through attacked squares, promotions, en passant with pins.
SEEDS = [
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/1P4P1/8/8/8/8/1p4p1/R3K2R w KQkq - 0 1",
    "rnbqkb1r/1p1p1ppp/8/pPpPpP2/8/6n1/P1P1P1PP/RNBQKBNR w KQkq a6 0 9",
]


def random_game(seed: int, fen: str, plies: int = 60) -> list[tuple[chess.Board, chess.Move]]:
    """Positions of a random game, each with the move that was played in it."""
    choose = random.Random(seed)
    board = chess.Board(fen)
    played = []
    while len(played) < plies and (legal := list(board.legal_moves)):
        played.append((board.copy(stack=False), choose.choice(legal)))
        board.push(played[-1][1])
    return played


def assert_same_as_python_chess(board: chess.Board) -> np.void:
    """Legal moves, captures, SAN and FEN of one position."""
    position = notation.from_fen(board.fen())
    assert notation.to_fen(position) == board.fen()
    ours = {notation.move_to_uci(move): move for move in notation.moves_of(position)}
    assert sorted(ours) == sorted(move.uci() for move in board.legal_moves)
    out = np.empty(moves.MAX_MOVES, np.int64)
    n_noisy = moves.captures(position, out, 0)
    noisy = out[:n_noisy].tolist()
    quiet = out[n_noisy : moves.quiet_moves(position, out, n_noisy)].tolist()
    expected = {
        move.uci()
        for move in board.legal_moves
        if (board.is_capture(move) and move.promotion in (None, chess.QUEEN))
        or move.promotion == chess.QUEEN
    }
    assert {notation.move_to_uci(move) for move in noisy} == expected
    assert len(noisy) == len(expected)
    assert sorted(noisy + quiet) == sorted(ours.values())
    assert bool(position["checkers"]) == board.is_check()
    assert bool(insufficient_material(position)) == board.is_insufficient_material()
    return position


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.sampled_from(SEEDS))
def test_every_position_of_random_games_equals_python_chess(seed: int, fen: str) -> None:
    position = notation.from_fen(fen)
    for board, move in random_game(seed, fen):
        # All that is carried along from move to move equals what is derived from scratch.
        assert position.tobytes() == assert_same_as_python_chess(board).tobytes()
        assert int(position["key"]) == int(compute_key(position)) == naive.key(position)
        ours = notation.parse_uci(position, move.uci())
        assert sans(replay(position, [ours]), [ours]) == [board.san(move)]
        position = notation.after(position, ours)


@numba.njit
def _surely_legal(position, found):  # type: ignore[no-untyped-def]
    for code in range(len(found)):
        found[code] = moves.is_surely_legal(position, code)


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.sampled_from(SEEDS))
def test_of_any_bits_the_legal_moves_are_known_without_a_list(seed: int, fen: str) -> None:
    found = np.zeros(1 << 15, np.bool_)
    for board, _ in random_game(seed, fen)[::7]:
        position = notation.from_fen(board.fen())
        _surely_legal(position, found)
        left_out = (moves.CASTLING, moves.EN_PASSANT)
        legal = [m for m in notation.moves_of(position) if moves.kind(m) not in left_out]
        assert np.flatnonzero(found).tolist() == sorted(legal)


@jit
def _is_check(position, move):  # type: ignore[no-untyped-def]
    found = checks.checks_record()
    checks.find_checks(position, found)
    return checks.is_check(position, found, move)


@settings(max_examples=40)
@given(st.integers(0, 1 << 32), st.sampled_from(SEEDS))
def test_which_moves_give_check_is_known_before_they_are_made(seed: int, fen: str) -> None:
    for board, _ in random_game(seed, fen)[::3]:
        position = notation.from_fen(board.fen())
        expected = {m.uci() for m in board.legal_moves if board.gives_check(m)}
        for ways in (checks.gives_check, _is_check):
            found = {
                notation.move_to_uci(m) for m in notation.moves_of(position) if ways(position, m)
            }
            assert found == expected


def test_null_move_only_passes_the_turn() -> None:
    for fen in SEEDS:
        board = chess.Board(fen)
        old = notation.from_fen(fen)
        new = np.empty(1, old.dtype)[0]
        moves.make_null(old, new)
        board.push(chess.Move.null())
        assert notation.to_fen(new) == board.fen()
        assert int(new["key"]) == naive.key(new)


LINES = {attacks.BISHOP_LINES: attacks.bishop, attacks.ROOK_LINES: attacks.rook}


@pytest.mark.parametrize("lines", LINES)
def test_slider_attacks_equal_the_walk_for_every_occupancy(lines: int) -> None:
    assert naive.slider_mismatches(LINES[lines], lines) == 0


def test_slider_attacks_of_a_cpu_that_cannot_gather_bits() -> None:
    ask = (
        "from tests.chess.test_moves import LINES, naive;"
        "print([naive.slider_mismatches(ours, lines) for lines, ours in LINES.items()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", ask],
        env=os.environ | {"NNUELAB_SIMD": "portable"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "[0, 0]\n"


def test_perft_standard_suite(shared: Path) -> None:
    checked = 0
    for line in (shared / "data" / "epd" / "perft_standard.epd").read_text().splitlines():
        fen, *counts = line.split(";")
        for count in counts:
            depth, nodes = count.strip()[1:].split()
            if int(nodes) <= 5_000_000:
                assert perft.perft(notation.from_fen(fen), int(depth)) == int(nodes), fen
                checked += 1
    assert checked > 700


@pytest.mark.slow
def test_perft_standard_suite_to_its_full_depth(shared: Path) -> None:
    for line in (shared / "data" / "epd" / "perft_standard.epd").read_text().splitlines():
        fen, *counts = line.split(";")
        for count in counts:
            depth, nodes = count.strip()[1:].split()
            assert perft.perft(notation.from_fen(fen), int(depth)) == int(nodes), fen


def chess960_castling(fen: str) -> bool:
    """True when a castling right belongs to a king or rook that isn't at home."""
    board = chess.Board(fen, chess960=True)
    return board.castling_rights != chess.Board(fen).clean_castling_rights()


def test_perft_tricky_suite_and_its_chess960_positions_refused(shared: Path) -> None:
    text = (shared / "data" / "epd" / "perft_tricky.perft").read_text()
    refused = []
    for block in re.split(r"(?m)^id ", text)[1:]:
        name = block.split()[0]
        (fen,) = re.findall(r"(?m)^epd (.*)$", block)
        counts = re.findall(r"(?m)^perft (\d+) (\d+)", block)
        if chess960_castling(fen):
            with pytest.raises(notation.FenError, match="Chess960"):
                notation.from_fen(fen)
            refused.append(name)
            continue
        for depth, nodes in counts:
            assert perft.perft(notation.from_fen(fen), int(depth)) == int(nodes), name
    assert len(refused) == 6, refused


@pytest.mark.parametrize(
    ("fen", "reason"),
    [
        ("8/8/8/8/8/8/8/8 w - - 0 1", "White has 0 kings"),
        ("4k3/8/8/8/8/8/8/4KK2 w - - 0 1", "White has 2 kings"),
        ("4k3/8/8/8/8/8/8/4K2P w - - 0 1", "pawn stands on"),
        ("4k3/8/8/8/8/8/8/4K3 x - - 0 1", "neither w nor b"),
        ("4k3/8/8/8/8/8/8/4K3 w K - 0 1", "home squares"),
        ("4k3/8/8/8/8/8/8/4K2R w H - 0 1", "Chess960"),
        ("4k3/8/8/8/8/8/8/4K2R w Kz - 0 1", "not a castling right"),
        ("4k3/8/8/8/8/8/4R3/4K3 w - - 0 1", "in check"),
        ("4k3/8/8/8/8/8/8/4K3 w - e4 0 1", "not on rank 6"),
        ("4k3/8/8/8/8/8/8/4K3 w - e9 0 1", "not a square"),
        ("4k3/8/8/8/8/8/4K3 w - - 0 1", "7 ranks"),
        ("4k3/8/8/8/8/8/8/4K4 w - - 0 1", "rank 1 has 9 squares"),
        ("4k3/8/8/8/8/8/8/4X3 w - - 0 1", "'X' is not a piece"),
        ("4k3/8/8/8/8/8/8/4K3 w - - x 1", "half-move clock"),
        ("4k3/8/8/8/8/8/8/4K3", "fields"),
        ("", "0 fields"),
        ("nnnnnnnn/nnnnnnnn/n7/4k3/8/8/NNNNNNNN/NNNNKNNN w - - 0 1", "more than 32 pieces"),
    ],
)
def test_a_broken_fen_is_refused_with_its_reason(fen: str, reason: str) -> None:
    with pytest.raises(notation.FenError, match=re.escape(reason)) as error:
        notation.from_fen(fen)
    assert repr(fen) in str(error.value)
    assert "\n" not in str(error.value)


def test_a_position_with_more_moves_than_a_list_holds_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notation, "MAX_MOVES", 19)
    with pytest.raises(notation.FenError, match="more than 19 legal moves"):
        notation.from_fen(chess.STARTING_FEN)


@settings(max_examples=300)
@given(st.text(alphabet="/KQRBNPkqrbnp12345678 wb-ahe36", max_size=60))
def test_any_text_is_either_a_position_or_a_fen_error(text: str) -> None:
    try:
        position = notation.from_fen(text)
    except notation.FenError:
        return
    assert notation.to_fen(notation.from_fen(notation.to_fen(position))) == notation.to_fen(
        position
    )


def test_unreachable_positions_are_accepted() -> None:
    for fen in (
        "rnbqkbnr/bbbbbbbb/8/8/8/8/BBBBBBBB/RNBQKBNR w KQkq - 0 1",
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPnPP/RNBQKBNR w KQkq - 0 1",
    ):
        assert notation.to_fen(notation.from_fen(fen)) == fen


@pytest.mark.parametrize("text", ["", "e5e6", "Ke9", "O-O", "Zf3", "e4=Q", "Nd2"])
def test_a_move_that_does_not_exist_is_refused(text: str) -> None:
    position = notation.from_fen(chess.STARTING_FEN)
    with pytest.raises(ValueError, match="not a legal move"):
        notation.parse_uci(position, text)


def test_empty_squares_and_bitboards_agree() -> None:
    position = notation.from_fen(chess.STARTING_FEN)
    assert (position["board"] == EMPTY).sum() == 32
    assert int(position["colors"][0] | position["colors"][1]).bit_count() == 32


def test_a_counter_of_thousands_of_digits_is_a_broken_fen() -> None:
    for counters in (f"{'9' * 5000} 1", f"0 {'9' * 5000}"):
        with pytest.raises(notation.FenError, match="5000 digits"):
            notation.from_fen(f"4k3/8/8/8/8/8/8/4K3 w - - {counters}")
