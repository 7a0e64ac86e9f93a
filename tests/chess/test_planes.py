"""Moves as text find their piece, and the board for reading games stays that of python-chess."""

from __future__ import annotations

import random

import chess
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nnuelab.chess import movetext, notation, planes
from nnuelab.data import records
from nnuelab.data.pgn_kernels import pack_board
from nnuelab.data.records import RECORD

TRICKY = (
    chess.STARTING_FEN,
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",  # castling, pins
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",  # en passant that uncovers a check
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",  # promotions
    "4k3/8/8/8/1Q1Q1Q2/8/1Q1K1Q2/8 w - - 0 1",  # disambiguation by file and rank
    "1n5k/P1P5/8/8/8/8/p1p5/1N5K w - - 0 1",
)


def board_of(fen: str) -> np.void:
    board = np.zeros(1, planes.BOARD)[0]
    planes.set_board(board, notation.from_fen(fen))
    return board


def read(text: str, board: np.void) -> int | str:
    """The move in UCI, or what is wrong with it."""
    padded = np.frombuffer(text.encode() + b" 2. e4" + bytes(movetext.PADDING), np.uint8)
    role, origins, target, kind, place = movetext.read_move(padded, 0)
    move = planes.find(board, role, np.uint64(origins), target, kind)
    if role == movetext.NO_MOVE:
        return "none"
    if move < 0:
        return "ambiguous" if move == planes.AMBIGUOUS else "illegal"
    assert text.rstrip("+#") in (text[:place], text[: place - 1])
    return notation.move_to_uci(int(move))


@st.composite
def boards(draw: st.DrawFn) -> chess.Board:
    """A position some plies into a random game from one of several starts."""
    generator = random.Random(draw(st.integers(0, 2**32)))
    board = chess.Board(draw(st.sampled_from(TRICKY)))
    for _ in range(draw(st.integers(0, 60))):
        moves = list(board.legal_moves)
        if not moves or board.is_game_over():
            break
        board.push(generator.choice(moves))
    return board


@given(boards())
def test_every_legal_move_is_found_under_all_its_names(board: chess.Board) -> None:
    ours = board_of(board.fen())
    for move in board.legal_moves:
        san_text, long = board.san(move), board.lan(move)
        names = {san_text, san_text.rstrip("+#"), long, board.uci(move)}
        names |= {san_text.replace("=", ""), san_text.replace("O", "0"), san_text.replace("x", "")}
        for name in names:
            assert read(name, ours) == move.uci(), (board.fen(), name)


@example(chess.Board(TRICKY[1]), "c3b1=B")  # a knight does not promote
@given(boards(), st.from_regex(r"[NBRQK]?[a-h]?[1-8]?x?[a-h][1-8](=[NBRQ])?", fullmatch=True))
def test_any_word_means_what_it_means_to_python_chess(board: chess.Board, word: str) -> None:
    try:
        expected = board.parse_san(word).uci()
    except chess.AmbiguousMoveError:
        expected = "ambiguous"
    except ValueError:
        expected = "illegal"
    if "=" in word and (word[0] in "NBRQK" or word[word.index("=") - 1] not in "18"):
        return  # "Nf3=" offers a draw: what follows such a move is left to the caller
    if expected in ("e1g1", "e1c1", "e8g8", "e8c8") and word[-2:] != expected[2:]:
        return  # python-chess castles where the king goes to its rook, as in Chess960; PGN doesn't
    assert read(word, board_of(board.fen())) == expected, board.fen()


@pytest.mark.parametrize("word", ["N", "Nf", "e9", "i4", "O", "O-", "0-1", "x", "Kk", "=Q", "e.p."])
def test_what_is_no_move_is_none(word: str) -> None:
    assert read(word, board_of(chess.STARTING_FEN)) == "none"


@given(boards(), st.integers(0, 2**32))
def test_the_board_after_moves_is_that_of_python_chess(board: chess.Board, seed: int) -> None:
    generator = random.Random(seed)
    ours = board_of(board.fen())
    for _ in range(30):
        moves = list(board.legal_moves)
        if not moves:
            break
        move = generator.choice(moves)
        planes.play(ours, notation.parse_uci(notation.from_fen(board.fen()), move.uci()))
        board.push(move)
        record = np.zeros(1, RECORD)
        pack_board(ours, record[0])
        record["ply"] = ours["ply"]
        assert records.to_fen(record[0]) == board.fen(en_passant="legal")
        assert planes.in_check(ours) == board.is_check()
