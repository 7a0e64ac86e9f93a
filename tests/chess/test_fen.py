"""FEN and UCI by kernels: the same as `notation` says, which python-chess checks elsewhere."""

from __future__ import annotations

import random
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.chess import fen, notation
from nnuelab.chess.moves import MAX_MOVES
from nnuelab.chess.notation import FenError
from nnuelab.chess.position import POSITION

SCRATCH = np.empty(2 * MAX_MOVES, np.int64)


def read(text: str) -> np.void | None:
    found = np.zeros(1, POSITION)[0]
    found["board"][:] = 3  # what an earlier position has left there
    content = np.frombuffer(b"|" + text.encode() + b"| w - - 0 1", np.uint8)
    good = fen.read_fen(content, np.int64(1), np.int64(1 + len(text.encode())), found, SCRATCH)
    return found if good else None


def twin(text: str) -> np.void | None:
    try:
        return notation.from_fen(text)
    except FenError:
        return None


def written(position: np.void) -> str:
    out = np.zeros(fen.MAX_FEN + 3, np.uint8)
    return out[3 : fen.write_fen(position, out, np.int64(3))].tobytes().decode()


def moved(position: np.void, text: str) -> int:
    content = np.frombuffer(text.encode() or b"x", np.uint8)
    return int(fen.read_uci(position, content, np.int64(0), np.int64(len(text)), SCRATCH))


def boards(seed: int, plies: int) -> chess.Board:
    draw, board = random.Random(seed), chess.Board()
    for _ in range(plies):
        legal = list(board.legal_moves)
        if not legal:
            break
        board.push(draw.choice(legal))
    return board


@given(st.integers(0, 2**32), st.integers(0, 200))
def test_positions_of_games_and_their_moves(seed: int, plies: int) -> None:
    board = boards(seed, plies)
    for text in (board.fen(en_passant="fen"), board.fen(en_passant="legal"), board.epd()):
        found, expected = read(text), notation.from_fen(text)
        assert found is not None
        for name in POSITION.names:
            assert np.array_equal(found[name], expected[name]), name
        assert written(found) == notation.to_fen(expected)
        assert written(found).rsplit(" ", 2)[0] == board.epd()
    out = np.zeros(5, np.uint8)
    for move in notation.moves_of(found):
        uci = notation.move_to_uci(move)
        assert out[: fen.write_uci(np.int64(move), out, np.int64(0))].tobytes() == uci.encode()
        assert moved(found, uci) == move
    for pseudo in list(board.generate_pseudo_legal_moves())[:5]:
        assert (moved(found, pseudo.uci()) != 0) == board.is_legal(pseudo)


PARTS = st.sampled_from([*"12345678/PpKkRrQqNnBb wbKQkq-a3e6h8 0 10/8/8 kK", "é", "99999", "  "])


@given(st.integers(0, 2**32), st.data())
def test_what_is_broken_is_what_notation_refuses(seed: int, data: st.DataObject) -> None:
    text = list(boards(seed, data.draw(st.integers(0, 60))).fen(en_passant="fen"))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(text)))
        text[place : place + data.draw(st.integers(0, 2))] = [data.draw(PARTS)]
    found, expected = read("".join(text)), twin("".join(text))
    if found is not None:  # a spelling that no program writes may be left to the twin
        assert expected is not None
        for name in POSITION.names:
            assert np.array_equal(found[name], expected[name]), name


def test_broken_suites(shared: Path) -> None:
    for line in (shared / "data" / "epd" / "broken_positions.epd").read_text().splitlines():
        found = read(line.strip())
        if found is not None:
            assert np.array_equal(found, notation.from_fen(line.strip()))


@pytest.mark.parametrize(
    ("start", "text", "move"),
    [
        ("r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1", "e1h1", "e1g1"),
        ("r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1", "e8a8", "e8c8"),
        ("1n6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7b8Q", "a7b8q"),
        ("1n6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "a7a8", "0000"),
        ("1n6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "e1e2q", "0000"),
        ("1n6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "e1", "0000"),
        ("1n6/P3k3/8/8/8/8/8/4K3 w - - 0 1", "i9i8", "0000"),
    ],
)
def test_moves_of_other_spellings(start: str, text: str, move: str) -> None:
    assert notation.move_to_uci(moved(notation.from_fen(start), text)) == move
