"""Records hold positions: nothing is lost on the way into 40 bytes and back."""

from __future__ import annotations

import random
from pathlib import Path

import chess
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab import data
from nnuelab.chess import notation
from nnuelab.chess.position import POSITION
from nnuelab.data import records
from nnuelab.data.dataset import write_index, writing
from nnuelab.data.records import RECORD, unpack
from nnuelab.errors import UserError
from tests.naive.data import packed_board


@st.composite
def boards(draw: st.DrawFn) -> chess.Board:
    """A position of a random game; 0 to 200 plies."""
    generator = random.Random(draw(st.integers(0, 2**32)))
    board = chess.Board()
    for _ in range(draw(st.integers(0, 200))):
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(generator.choice(moves))
    return board


@settings(max_examples=200, deadline=None)
@given(boards())
def test_a_record_gives_back_the_fen_it_was_made_of(board: chess.Board) -> None:
    fen = board.fen(en_passant="legal")
    assert records.to_fen(records.from_fen(fen)) == fen


@settings(max_examples=100, deadline=None)
@given(boards())
def test_packed_board_is_that_of_the_plain_twin(board: chess.Board) -> None:
    record = records.from_fen(board.fen())
    packed = tuple(int(record[name]) for name in ("occupied", "pieces_low", "pieces_high"))
    assert packed == packed_board(board)


@settings(max_examples=100, deadline=None)
@given(boards())
def test_unpacked_position_is_complete(board: chess.Board) -> None:
    expected = notation.from_fen(board.fen(en_passant="legal"))
    position = np.zeros(1, POSITION)[0]
    position["board"][:] = 3  # what an earlier position has left there
    unpack(records.from_fen(board.fen()), position)
    for name in POSITION.names:
        assert np.array_equal(position[name], expected[name]), name


def test_half_move_clock_beyond_a_byte_saturates() -> None:
    record = records.from_fen("4k3/8/8/8/8/8/8/4K2R w K - 300 200")
    assert record["halfmove"] == 255


@pytest.mark.parametrize(("moves", "score"), [(1, 31_999), (-2, -31_998)])
def test_a_nearer_mate_is_a_larger_score(moves: int, score: int) -> None:
    assert records.mate_score(moves) == score


def test_dataset_opens_in_pandas_and_as_fens(tmp_path) -> None:
    path = tmp_path / "set.npy"
    fens = [chess.STARTING_FEN, "4k3/8/8/8/8/8/8/4K2R w K - 3 20"]
    with writing(path) as writer:
        for fen in fens:
            writer.append(np.array([records.from_fen(fen)], RECORD))
    assert pd.DataFrame(np.load(path))["ply"].tolist() == [0, 38]
    assert data.open(path).to_pandas()["fen"].tolist() == fens


@pytest.mark.parametrize("most", [1, 2, 7, 11, 100])
def test_positions_evenly_spaced_are_those_of_the_file(tmp_path, most: int) -> None:
    paths = [tmp_path / f"{i}.npy" for i in range(3)]
    for path, plies in zip(paths, ([0, 1, 2], [], range(3, 11)), strict=True):
        with writing(path) as writer:
            writer.append(np.array([(0,) * 8 + (ply, 0, 0, 0) for ply in plies], RECORD))
    for path in (paths[2], write_index(tmp_path / "both.shards", paths).path):
        found = data.open(path)
        wanted = np.linspace(0, len(found) - 1, min(len(found), most)).astype(int)
        assert np.array_equal(found.spaced(most), found.records[wanted])


def test_a_writer_that_fails_leaves_nothing(tmp_path) -> None:
    with pytest.raises(RuntimeError), writing(tmp_path / "set.npy") as writer:  # noqa: PT012
        writer.append(np.zeros(3, RECORD))
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_a_dataset_that_is_none_is_refused(tmp_path) -> None:
    path = tmp_path / "set.npy"
    with pytest.raises(UserError, match="no dataset"):
        data.open(path)
    np.save(path, np.arange(3))
    with pytest.raises(UserError, match="not of this version"):
        data.open(path)
    with writing(path) as writer:
        writer.append(np.zeros(100, RECORD))
    path.write_bytes(path.read_bytes()[:2000])
    with pytest.raises(UserError, match="cut off"):
        data.open(path)


def test_a_dataset_of_any_damaged_header_is_refused_or_read(tmp_path: Path) -> None:
    """A bit of it turned: numpy's parser of Python raises more than one kind of error."""
    path = tmp_path / "positions.npy"
    np.save(path, np.zeros(3, RECORD))
    content = path.read_bytes()
    refused = 0
    for bit in range(8 * 128):
        damaged = bytearray(content)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        try:
            data.open(path)
        except UserError:
            refused += 1
    assert refused > 500
