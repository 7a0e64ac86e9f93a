"""The report of a sample says what its positions are like."""

from __future__ import annotations

import json

import chess
import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab import data
from nnuelab.cli.__main__ import application
from nnuelab.data.description import FEWEST, ROLES, describe
from nnuelab.data.records import NO_SCORE, to_fen
from nnuelab.report import sample as sample_report
from tests.naive import data as naive
from tests.naive.attacks import legal_targets


@pytest.fixture(scope="module")
def files(shared, tmp_path_factory):
    """Sample, report and figure of real games."""
    folder = tmp_path_factory.mktemp("sample")
    output, report, plot = (folder / name for name in ("s.npy", "r.json", "f.svg"))
    games = shared / "data/games/fixture_evals_200.pgn"
    words = ["sample", games, "--output", output, "--report", report, "--plot", plot]
    CliRunner().invoke(application(), [*map(str, words), "--max-positions", "2000"])
    return output, report, plot


def counts_of(values: list[int], step: int, first: int = 0) -> list[int]:
    return np.bincount((np.array(values) - first) // step).tolist()


def test_the_report_describes_the_positions(files) -> None:
    output, report, _ = files
    told = json.loads(report.read_text())
    records = data.open(output).records
    boards = [chess.Board(to_fen(record)) for record in records]
    assert told["positions"] == told["described"] == told["counts"]["sampled"] == len(boards)
    assert told["ply"]["counts"] == counts_of([board.ply() for board in boards], 10)
    assert told["material"]["counts"] == counts_of([naive.material(board) for board in boards], 2)
    for turn, side in ((chess.WHITE, "white"), (chess.BLACK, "black")):
        legal = [board.legal_moves.count() for board in boards if board.turn == turn]
        assert told["legal_moves"][side]["counts"] == counts_of(legal, 1)
        by_turn = told["legal_moves_by_turn"][side]
        assert by_turn == naive.legal_moves_by_turn(boards, turn, FEWEST)
        assert len(by_turn["turn"]) > 10
    scores = records["score"][records["score"] != NO_SCORE]
    assert told["without_score"] == len(records) - len(scores)
    assert told["score"]["counts"] == counts_of(np.clip(scores, -3000, 2999), 100, -3000)
    results = np.where(records["flags"] & 1, -records["result"], records["result"])
    assert told["result"]["1-0"] == (results == 1).sum()
    assert told["result"]["0-1"] == (results == -1).sum()
    assert sum(told["ratings"]["counts"]) == 2 * len(set(records["game"].tolist()))


def test_mobility_is_that_of_the_slow_twin(files) -> None:
    records = np.array(data.open(files[0]).records[:150])
    told = describe(records, len(records))["mobility"]
    boards = [chess.Board(to_fen(record)) for record in records]
    for side in ("own", "enemy"):
        for role, letter in enumerate(ROLES):
            squares = [
                len(
                    {s for r, s in legal_targets(board, board.turn == (side == "own")) if r == role}
                )
                for board in boards
            ]
            assert told[side][letter]["counts"] == counts_of(squares, 1), (side, letter)


def test_the_figure_is_the_same_each_time(files, tmp_path) -> None:
    _, report, plot = files
    told = json.loads(report.read_text())
    again = tmp_path / "again.svg"
    sample_report.plot(again, told)
    assert again.read_bytes() == plot.read_bytes()
    assert again.read_text().count("<path") > 50
