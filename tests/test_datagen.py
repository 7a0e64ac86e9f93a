"""Generated games: what they are depends on engine, parameters and seed, and on nothing else."""

from __future__ import annotations

import gzip
import io
import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import chess
import chess.pgn
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.errors import UserError
from nnuelab.selfplay import openings
from nnuelab.selfplay.book import book
from nnuelab.selfplay.datagen import Adjudication, Parameters, datagen, over
from nnuelab.selfplay.uci import UciEngine
from tests.test_data_labels import fake_engine

PARAMETERS = Parameters("nodes 10", random_plies=6, max_opening_score=50, seed=3)
SHORT = replace(PARAMETERS, adjudication=Adjudication(max_plies=10))


def games(path: Path) -> list[chess.pgn.Game]:
    text = io.StringIO(zstandard.decompress(path.read_bytes()).decode("ascii"))
    found = []
    while (game := chess.pgn.read_game(text)) is not None:
        found.append(game)
    return found


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve games by the fake engine, one worker."""
    folder = tmp_path_factory.mktemp("datagen")
    output = folder / "games.pgn.zst"
    datagen(output, fake_engine(folder, 0), 12, PARAMETERS, workers=1)
    return output


def test_evaluation_of_a_move_is_that_of_the_position_after_it(played: Path, tmp_path) -> None:
    with UciEngine(fake_engine(tmp_path, 0), "nodes 10") as engine:
        for game in games(played)[:3]:
            evaluated = [node for node in game.mainline() if node.eval() is not None]
            assert evaluated[0].ply() in (6, 7)  # the last move of the opening
            for node in evaluated:
                board = node.board()
                moves = [move.uci() for move in board.move_stack]
                expected = engine.search(moves, board.turn)
                assert node.eval() == expected.score
                assert node.next() is None or node.next().move == expected.move


def test_games_are_legal_distinct_and_end_as_their_tags_say(played: Path) -> None:
    found = games(played)
    assert len(found) == 12
    assert len({str(game.mainline_moves()) for game in found}) == 12
    for game in found:
        assert not game.errors
        board = game.end().board()
        if game.headers["Termination"] == "normal":
            assert over(board) == game.headers["Result"]
        else:
            assert game.headers["Termination"] == "adjudication"
            assert not over(board)
    record = json.loads(played.with_name(played.name + ".json").read_text())
    assert record["games"] == sum(record["results"].values()) == 12
    assert record["engine"] == "Fake 1.0"


def test_a_killed_run_continues_with_any_number_of_workers(played: Path, tmp_path) -> None:
    output = tmp_path / "games.pgn.zst"
    command = [
        *(sys.executable, "-m", "nnuelab.cli", "datagen", "--output", str(output)),
        *("--games", "12", "--nodes", "10", "--random-plies", "6", "--max-opening-score", "50"),
        *("--seed", "3", "--workers", "2", "--engine", fake_engine(tmp_path, 0.002)),
    ]
    journal = tmp_path / "games.pgn.zst.partial"
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    while process.poll() is None:
        if journal.exists() and journal.read_bytes().count(b"\n") > 3:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert journal.exists()
    assert not output.exists()
    with journal.open("ab") as file:
        file.write(b'{"number": 99, "open')  # half a line
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert output.read_bytes() == played.read_bytes()
    assert not journal.exists()


def test_a_run_of_other_parameters_or_other_code_gives_way(tmp_path, capsys, monkeypatch) -> None:
    output, engine = tmp_path / "games.pgn.zst", fake_engine(tmp_path, 0)
    datagen(output, engine, 2, SHORT, workers=1)
    expected = output.read_bytes()
    journal = tmp_path / "games.pgn.zst.partial"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for other, code in ((replace(SHORT, seed=4), None), (SHORT, "other")):
        with monkeypatch.context() as patch:
            patch.setattr("nnuelab.selfplay.datagen._finish", killed)
            if code:
                patch.setattr("nnuelab.artifacts.code_hash", lambda _, code=code: code)
            with pytest.raises(KeyboardInterrupt):
                datagen(output, engine, 1, other, workers=1)
        assert journal.exists()
        capsys.readouterr()
        datagen(output, engine, 2, SHORT, workers=1)
        assert "starting anew" in capsys.readouterr().err
        assert output.read_bytes() == expected
        assert not journal.exists()


def test_openings_that_run_out_are_one_line(tmp_path, monkeypatch) -> None:
    """There are 21 positions after no or one ply."""
    engine, output = fake_engine(tmp_path, 0), tmp_path / "output"
    monkeypatch.setattr("nnuelab.selfplay.datagen.MAX_REPEATED", 4)
    few = replace(SHORT, random_plies=0, max_opening_score=60)
    with pytest.raises(UserError, match="4 openings in a row have been played before, after"):
        datagen(output, engine, 22, few, workers=1)
    monkeypatch.setattr(openings, "MAX_REJECTED", 100)
    with pytest.raises(UserError, match="100 candidates in a row are no new openings, after 21 of"):
        book(output, engine, 22, "nodes 10", 0, 60, seed=5, workers=1)
    with (
        UciEngine(engine, "nodes 10") as player,
        pytest.raises(UserError, match="none of 100 positions after 6 or 7 random plies is within"),
    ):
        openings.opening(player, 1, 1, 6, -1)
    assert not output.exists()


@pytest.mark.parametrize(
    ("fault", "words"), [("dies", "ended by itself"), ("silent", "without a score")]
)
def test_a_broken_engine_is_one_line(tmp_path, fault: str, words: str) -> None:
    output = tmp_path / "games.pgn.zst"
    with pytest.raises(UserError, match=words):
        datagen(output, fake_engine(tmp_path, 0, fault), 1, PARAMETERS, workers=1)
    assert not output.exists()


@given(st.integers(0, 2**32), st.integers(1, 10**6), st.integers(0, 12))
def test_an_opening_is_a_function_of_its_numbers(seed: int, number: int, plies: int) -> None:
    board = openings.candidate(seed, number, 0, plies)
    assert board.move_stack == openings.candidate(seed, number, 0, plies).move_stack
    assert len(board.move_stack) in (plies, plies + 1) or board.is_game_over()


def test_a_book_has_each_position_once_and_is_the_same_again(tmp_path) -> None:
    engine = fake_engine(tmp_path, 0)
    for name, workers in (("one.epd.gz", 1), ("two.epd.gz", 2)):
        book(tmp_path / name, engine, 60, "nodes 10", 2, 30, seed=5, workers=workers)
    data = (tmp_path / "one.epd.gz").read_bytes()
    assert data == (tmp_path / "two.epd.gz").read_bytes()
    epds = gzip.decompress(data).decode().splitlines()
    assert len(epds) == len(set(epds)) == 60
    for epd in epds:
        assert openings.usable(chess.Board(epd + " 0 1"))


RULES = Adjudication()


@pytest.mark.parametrize(
    ("scores", "move", "plies", "result"),
    [
        ([1000] * 4, 20, 40, "1-0"),
        ([-1000, -openings.DECISIVE, -2000, -1001], 20, 40, "0-1"),
        ([999, 1000, 1000, 1000], 20, 40, None),
        ([1000] * 3, 20, 40, None),
        ([1000, 1000, -1000, 1000], 20, 40, None),
        ([10, -10] * 8, 40, 80, "1/2-1/2"),
        ([10, -10] * 8, 39, 80, None),
        ([11] + [0] * 15, 60, 120, None),
        ([0] * 15, 60, 120, None),
        ([300], 150, 300, "1/2-1/2"),
    ],
)
def test_adjudication_waits_for_all_of_its_conditions(scores, move, plies, result) -> None:
    assert RULES.result(scores, move, plies) == result


@given(st.lists(st.integers(-3000, 3000)), st.integers(1, 200), st.integers(0, 299))
def test_adjudication_is_fair_to_both_colours(scores: list[int], move: int, plies: int) -> None:
    mirrored = {"1-0": "0-1", "0-1": "1-0", "1/2-1/2": "1/2-1/2", None: None}
    ours = RULES.result(scores, move, plies)
    assert RULES.result([-score for score in scores], move, plies) == mirrored[ours]


@pytest.mark.parametrize(
    ("moves", "result"),
    [
        ("f2f3 e7e5 g2g4 d8h4", "0-1"),
        ("g1f3 g8f6 f3g1 f6g8 g1f3 g8f6 f3g1 f6g8", "1/2-1/2"),
        ("e2e4", ""),
    ],
)
def test_a_game_ends_by_the_rules_of_chess(moves: str, result: str) -> None:
    board = chess.Board()
    for move in moves.split():
        board.push_uci(move)
    assert over(board) == result
