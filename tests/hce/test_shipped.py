"""The evaluations that come with the package."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nnuelab.artifacts import RESOURCES
from nnuelab.chess import notation
from nnuelab.features import batch, check
from nnuelab.features.tables import compiled
from nnuelab.hce import evaluation
from nnuelab.hce.evaluation import Evaluation
from tests.features.boards import of_games, strewn

FILES = [evaluation.DEFAULT, *sorted((RESOURCES / "evaluations").glob("*.yaml"))]


@pytest.fixture(scope="module")
def records() -> np.ndarray:
    """Placements of games, and of boards that no game has."""
    boards = [*of_games(400), *(strewn(seed, 2 + seed % 21) for seed in range(6000))]
    return check.pack([notation.from_fen(board.fen()) for board in boards])


def active(found: Evaluation, records: np.ndarray) -> np.ndarray:
    """How often each feature is active for either side, int64[features.size]."""
    tables, shape = compiled(found.features), (len(records), found.features.max_active)
    rows, counts = np.full((2, *shape), -1, np.int32), np.zeros((2, len(records)), np.int64)
    batch(tables, records, *rows, *counts)
    return np.bincount(rows[rows >= 0], minlength=found.features.size)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_weight_counts_in_some_position(path: Path, records: np.ndarray) -> None:
    found = evaluation.read(path)
    starts, weights = found.members
    of = np.repeat(np.arange(found.features.size), np.diff(starts))
    times = np.zeros(found.n_weights, np.int64)
    np.add.at(times, weights, active(found, records)[of])
    assert [label for label, n in zip(found.labels, times, strict=True) if n == 0] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_read_and_written_stays_the_same(path: Path, tmp_path: Path) -> None:
    found = evaluation.read(path)
    evaluation.write(tmp_path / path.name, found)
    again = evaluation.read(tmp_path / path.name)
    assert again.fingerprint() == found.fingerprint()
    assert np.array_equal(again.weights, found.weights)


def weight(found: Evaluation, label: str) -> list[int]:
    return found.weights[found.labels.index(label)].tolist()


def test_the_classical_evaluation_says_what_its_sources_say() -> None:
    """Numbers of the sources by their labels: a list that has slipped would train all the same."""
    found = evaluation.read(evaluation.DEFAULT)
    assert weight(found, "material[rook]") == [500, 500]
    assert weight(found, "piece_square[pawn, rank 7, file a/h]") == [50, 50]
    assert weight(found, "piece_square[pawn, rank 2, file d/e]") == [-20, -20]
    assert weight(found, "piece_square[knight, rank 1, file a/h]") == [-50, -50]
    assert weight(found, "piece_square[rook, rank 7, file a/h]") == [5, 5]
    assert weight(found, "king_square[b1]") == [30, -30]
    assert weight(found, "king_square[d5]") == [-50, 40]
    assert weight(found, "mobility[knight, 8 squares]") == [16, 16]
    assert weight(found, "mobility[queen, 0 squares]") == [-13, -26]
    assert weight(found, "passed[rank 7]") == [70, 140]
    assert weight(found, "rook_file[open]") == [20, 20]
    assert weight(found, "seventh[rook]") == [20, 40]
    assert weight(found, "shelter[the king's file, no pawn]") == [-36, 0]


def test_the_compact_evaluation_is_one_for_515_bits() -> None:
    """Four or five bits for each number."""
    found = evaluation.read(RESOURCES / "evaluations/compact.yaml")
    assert 46 <= found.n_weights <= 60
    assert 4 <= 515 / found.weights.size < 5.7
