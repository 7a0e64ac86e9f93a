"""Puzzles: reading both schemas, the study's rule, intervals, kills, broken lines."""

from __future__ import annotations

import csv
import gzip
import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from typer.testing import CliRunner

from nnuelab.chess import notation
from nnuelab.cli import puzzles as _command  # noqa: F401
from nnuelab.cli import report as _more  # noqa: F401 (registers its commands)
from nnuelab.cli.app import app
from nnuelab.data.journal import Journal
from nnuelab.errors import UserError
from nnuelab.tournament import puzzle_scores as scores
from nnuelab.tournament.game import Answer, Failure, Fault, Line
from nnuelab.tournament.limits import Limit, Turn
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.puzzles import Answers, Puzzle, answers, read, solve

ROOT = Path(__file__).resolve().parents[2]
LIMIT = Limit(nodes=1)
TWO_MOVES = Puzzle(
    "m", "6k1/5ppp/5Q2/8/8/8/r6p/3RR2K b - - 0 1", ("a2a8", "d1d8", "a8d8", "e1e8"), 900
)
MATE_IN_1 = Puzzle("n", "7k/8/5K2/8/8/8/p7/6Q1 b - - 0 1", ("a2a1q", "g1a1"), 500)


@dataclass
class Scripted:
    """Plays what a function of the position says."""

    choose: Callable[[chess.Board], str]
    games: int = 0

    def new_game(self) -> None:
        self.games += 1

    def search(self, line: Line, turn: Turn) -> Answer:
        board = chess.Board(notation.to_fen(line.position))
        move = self.choose(board)
        return Answer(notation.parse_uci(line.position, move), 0, None, 1, 1)

    def close(self) -> None:
        pass


def mates(board: chess.Board) -> list[str]:
    found = []
    for move in board.legal_moves:
        board.push(move)
        if board.is_checkmate():
            found.append(move.uci())
        board.pop()
    return found


def naive_right(puzzle: Puzzle, choose: Callable[[chess.Board], str]) -> int:
    """Right answers by the rule, with python-chess."""
    board, right = chess.Board(puzzle.fen), 0
    for i, text in enumerate(puzzle.moves):
        if i % 2:
            said = choose(board)
            right += said == text or (text in mates(board) and said in mates(board))
        board.push_uci(text)
    return right


@pytest.mark.parametrize("kind", ["full", "short"])
def test_answers_are_judged_as_by_python_chess(shared: Path, kind: str) -> None:
    name = {"full": "fullschema_2500", "short": "fexd_24k"}[kind]
    puzzles = read(shared / f"data/puzzles/lichess_v2_puzzles_{name}.csv")
    rng = np.random.default_rng(5)
    checked = 0
    for puzzle in puzzles[:: len(puzzles) // 150]:
        # A mate where there is one, though seldom the expected one; otherwise anything.
        key = int(rng.integers(1 << 30))

        def choose(board: chess.Board, key: int = key) -> str:
            options = mates(board) or [move.uci() for move in board.legal_moves]
            return sorted(options)[(key + len(options)) % len(options)]

        found = solve(Scripted(choose), LIMIT, puzzle)
        assert found.asked == len(puzzle.moves) // 2
        assert found.right == naive_right(puzzle, choose)
        assert len(found.missed) == found.asked - found.right
        checked += found.right
    assert checked > 20


def test_files_of_both_schemas_are_whole(shared: Path) -> None:
    folder = shared / "data/puzzles"
    full = read(folder / "lichess_v2_puzzles_fullschema_2500.csv")
    assert len(full) == 2499
    assert full[0].themes == ("kingsideAttack", "mate", "mateIn1", "oneMove", "opening")
    short = read(folder / "lichess_v2_puzzles_fexd_24k.csv")
    assert len(short) == 24595
    assert (short[0].name, short[0].rating, short[0].themes) == ("08yJ9", 400, ())


def test_another_mate_is_right_only_where_the_expected_move_mates() -> None:
    fen = "k7/7p/1K6/8/8/8/8/5QR1 b - - 0 1"
    puzzle = Puzzle("x", fen, ("h7h6", "f1f8"), 1)
    assert solve(Scripted(lambda board: "g1g8"), LIMIT, puzzle).solved
    assert not solve(Scripted(lambda board: "f1a1"), LIMIT, puzzle).solved
    # Here the expected move is no mate, though there is one.
    other = Puzzle("y", fen, ("h7h6", "f1a1"), 1)
    assert not solve(Scripted(lambda board: "g1g8"), LIMIT, other).solved
    assert solve(Scripted(lambda board: "f1a1"), LIMIT, other).solved


def test_after_a_wrong_move_it_goes_on_with_the_expected_one() -> None:
    asked: list[str] = []

    def choose(board: chess.Board) -> str:
        asked.append(board.fen())
        return "f6g7" if len(asked) == 1 else "e1e8"

    puzzle = TWO_MOVES
    player = Scripted(choose)
    found = solve(player, LIMIT, puzzle)
    board = chess.Board(puzzle.fen)
    expected = []
    for i, move in enumerate(puzzle.moves):
        if i % 2:
            expected.append(board.fen())
        board.push_uci(move)
    assert [chess.Board(fen).board_fen() for fen in asked] == [
        chess.Board(fen).board_fen() for fen in expected
    ]
    assert player.games == 1
    assert found.asked == 2


def test_a_player_that_fails_has_no_right_move() -> None:
    class Broken(Scripted):
        def search(self, line: Line, turn: Turn) -> Answer:
            raise Failure(Fault.CRASH, "it is gone")

    found = solve(Broken(lambda board: ""), LIMIT, MATE_IN_1)
    assert found == Answers(1, 0, [(1, "g1a1", "it is gone")])


@pytest.mark.parametrize(("idle", "correct"), [(0.0, 0), (40.0, 1)])
def test_what_comes_too_late_is_no_answer(idle: float, correct: int) -> None:
    """But for the time that the machine took."""

    class Late(Scripted):
        def search(self, line: Line, turn: Turn) -> Answer:
            time.sleep(0.04)
            return replace(super().search(line, turn), idle=idle + 1000 * (idle > 0))

    found = solve(Late(lambda board: "g1a1"), Limit(movetime=1, margin=2), MATE_IN_1)
    assert found.right == correct
    assert [said.startswith("late: ") for *_, said in found.missed] == [True] * (1 - correct)


# --- reading

HEAD = "PuzzleId,FEN,Moves,Rating\n"
GOOD = "a,rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1,e2e4 e7e5,1200\n"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("b,nonsense,e2e4 e7e5,1200", "line 3 .*nonsense"),
        (GOOD.strip().replace("e7e5", "e7e4"), "line 3 .*'e7e4'"),
        (GOOD.strip().replace(" e7e5", ""), "line 3 .*1 moves"),
        (GOOD.strip().replace("1200", "high"), "line 3 .*rating 'high'"),
        (GOOD.strip().replace("1200", "nan"), "line 3 .*rating 'nan'"),
        (GOOD.strip().replace("1200", "1e999"), "line 3 .*rating '1e999'"),
        ("b,,,", "line 3 .no FEN, Moves, Rating"),
        ("b", "line 3 .no FEN"),
    ],
)
def test_broken_lines_are_counted_and_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str
) -> None:
    path = tmp_path / "p.csv"
    path.write_text(HEAD + GOOD + line + "\n\n" + GOOD)
    assert [puzzle.name for puzzle in read(path)] == ["a", "a"]
    told = capsys.readouterr().err
    assert "1 of 3 puzzles are left out" in told
    assert re.search(said, told)
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no column PuzzleId"),
        (HEAD, "has no puzzle"),
        ("FEN,Moves\nx,y\n", "no column PuzzleId, Rating"),
        (HEAD + "b,nonsense,e2e4 e7e5,1\n", "has no puzzle; line 2"),
        ("\x00\x01\n" * 9, "no column"),
    ],
)
def test_useless_files_are_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "p.csv"
    path.write_text(text)
    with pytest.raises(UserError, match=said) as caught:
        read(path)
    assert "\n" not in str(caught.value)


def test_files_without_a_head_and_compressed_ones_are_read(tmp_path: Path) -> None:
    path = tmp_path / "p.csv.gz"
    path.write_bytes(gzip.compress((GOOD.strip() + ",80,90,1000,short mate\n").encode()))
    (puzzle,) = read(path)
    assert (puzzle.rating, puzzle.themes) == (1200, ("short", "mate"))


# --- scores

RIGHT = st.lists(st.tuples(st.integers(1, 5), st.floats(0, 1)), min_size=1, max_size=60)


@given(RIGHT)
def test_intervals_hold_the_shares_and_are_those_of_wilson(drawn: list[tuple[int, float]]) -> None:
    found = [Answers(n, round(n * share), []) for n, share in drawn]
    group = scores.group_of("all", "", found)
    low, high = proportion_confint(group.solved, group.puzzles, method="wilson")
    assert group.solved_low == pytest.approx(low, abs=1e-12)
    assert group.solved_high == pytest.approx(high, abs=1e-12)
    assert group.accuracy == sum(a.right for a in found) / sum(a.asked for a in found)
    assert group.accuracy_low <= group.accuracy + 1e-12
    assert group.accuracy <= group.accuracy_high + 1e-12


def test_single_moves_are_counted_as_they_are() -> None:
    found = [Answers(1, int(i % 4 > 0), []) for i in range(200)]
    group = scores.group_of("all", "", found)
    assert group.accuracy_low == pytest.approx(group.solved_low, abs=1e-3)
    assert group.accuracy_high == pytest.approx(group.solved_high, abs=1e-3)


def test_moves_that_hang_together_are_worth_fewer() -> None:
    """All or nothing: five moves of a puzzle tell no more than one."""
    found = [Answers(5, 5 * int(i % 4 > 0), []) for i in range(200)]
    group = scores.group_of("all", "", found)
    assert group.accuracy_low == pytest.approx(group.solved_low, abs=1e-3)


def test_accuracy_intervals_cover_the_truth() -> None:
    rng = np.random.default_rng(3)
    hits = []
    for _ in range(300):
        skill = rng.beta(4, 1, 150)  # puzzles differ
        asked = rng.integers(1, 5, 150)
        found = [
            Answers(int(n), int(rng.binomial(n, p)), []) for n, p in zip(asked, skill, strict=True)
        ]
        group = scores.group_of("all", "", found)
        hits.append(group.accuracy_low < 0.8 < group.accuracy_high)
    assert 0.91 < np.mean(hits) < 0.98


def puzzles_of(ratings: np.ndarray) -> list[Puzzle]:
    return [Puzzle(str(i), "", ("a", "b"), int(rating)) for i, rating in enumerate(ratings)]


def test_solved_rating_is_found_again_as_often_as_it_says() -> None:
    rng, hits = np.random.default_rng(8), []
    for _ in range(100):
        ratings = rng.integers(600, 2600, 300)
        solved = rng.random(300) < 1 / (1 + 10 ** ((ratings - 1700) / 400))
        found = [Answers(1, int(s), []) for s in solved]
        rating = scores.solved_rating(puzzles_of(ratings), found)
        assert rating is not None
        hits.append(abs(rating[0] - 1700) < rating[1])
    assert 0.88 < np.mean(hits) < 1


def test_all_solved_has_no_rating() -> None:
    puzzles = puzzles_of(np.array([1000, 2000]))
    assert scores.solved_rating(puzzles, [Answers(1, 1, [])] * 2) is None
    assert scores.solved_rating(puzzles, [Answers(1, 0, [])] * 2) is None


def test_groups_are_bands_and_themes() -> None:
    puzzles = [
        Puzzle("a", "", ("x", "y"), 1199, ("mate", "short")),
        Puzzle("b", "", ("x", "y"), 1200, ("mate",)),
        Puzzle("c", "", ("x", "y"), 1399),
    ]
    found = [Answers(2, 2, []), Answers(2, 1, []), Answers(3, 0, [])]
    told = {
        (g.kind, g.group): (g.puzzles, g.solved, g.right, g.moves)
        for g in scores.groups(puzzles, found)
    }
    assert told == {
        ("all", ""): (3, 1, 3, 7),
        ("rating", "1000-1199"): (1, 1, 2, 2),
        ("rating", "1200-1399"): (2, 0, 1, 5),
        ("theme", "mate"): (2, 1, 3, 4),
        ("theme", "short"): (1, 1, 2, 2),
    }


# --- the engine, in processes


@pytest.fixture(scope="module")
def file(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("puzzles") / "p.csv"
    with open(shared / "data/puzzles/lichess_v2_puzzles_fullschema_2500.csv") as source:
        path.write_text("".join(next(source) for _ in range(61)))
    return path


def test_answers_are_the_same_for_any_number_of_workers_and_after_a_kill(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    puzzles, entrant = read(file), NetEntrant(None, Limit(nodes=60))
    alone = answers(puzzles, entrant, source=file, processes=1)
    journal = tmp_path / "p.partial"

    def die(*_: Any) -> None:
        if journal.read_bytes().count(b"\n") > 2:
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("nnuelab.tournament.puzzles.Progress.advance", lambda *a, **k: die())
        with pytest.raises(KeyboardInterrupt):
            answers(puzzles, entrant, source=file, partial_file=journal, processes=2)
    identity = json.loads(journal.read_bytes().splitlines()[0])
    with Journal(journal, identity) as there:
        kept = list(there)
        there.remove()
    assert 2 <= len(kept) < 4
    # What is there is believed: an answer that no player gave.
    number, chunk = kept[0]
    forged = [number, [{**each, "right": 0, "missed": []} for each in chunk]]
    with Journal(journal, identity) as there:
        for entry in (forged, *kept[1:]):
            there.append(entry)
    resumed = answers(puzzles, entrant, source=file, partial_file=journal, processes=2)
    assert not journal.exists()
    start = number * 16
    assert resumed[:start] + resumed[start + 16 :] == alone[:start] + alone[start + 16 :]
    assert {each.right for each in resumed[start : start + 16]} == {0}


def test_the_command_writes_json_csv_and_a_table(file: Path, tmp_path: Path) -> None:
    out, table = tmp_path / "p.json", tmp_path / "p.csv"
    done = subprocess.run(
        [sys.executable, "-m", "nnuelab.cli", "puzzles", str(file), "--nodes", "200",
         "--output", str(out), "--csv", str(table), "--count", "40"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    content = json.loads(out.read_text())
    assert content["puzzles"] == 40
    rows = list(csv.DictReader(table.open()))
    assert rows[0]["right"] == str(content["right"])
    assert len(content["missed"]) == content["moves"] - content["right"]
    assert f"{content['accuracy']:.1%}" in done.stdout
    for path in (out, table):
        record = json.loads(path.with_name(path.name + ".json").read_text())
        assert set(record["inputs"]) == {"puzzles", "net"}
    shown = CliRunner().invoke(app, ["inspect", str(out), "--json"], catch_exceptions=False)
    assert json.loads(shown.stdout)["kind"] == "puzzles"


def test_fixed_time_is_a_limit_like_others(file: Path) -> None:
    found = answers(read(file)[:8], NetEntrant(None, Limit(movetime=5)), source=file, processes=1)
    assert sum(each.right for each in found) > 4
