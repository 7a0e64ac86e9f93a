"""Mistakes of engines are found and shrunk."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from nnuelab.chess import notation
from nnuelab.cli import check_engine as _check_engine  # noqa: F401 (the command)
from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.export import folder, numbering
from nnuelab.export.check_engine import Check, Reading, check, command_of, lines_of
from nnuelab.features import parse
from nnuelab.features.check import Game, random_games
from nnuelab.nnue.netfile import Net, write_net
from nnuelab.progress import Progress
from tests.nnue_nets import random_net

ENGINE = Path(__file__).parents[1] / "programs" / "eval_engine.py"
MISTAKES = {
    "a row that a piece leaves": (
        "!--*counted",
        "0",
    ),
    "a mirrored board": ("keys[own_king(from, view)] == keys[own_king(to, view)]", "true"),
    "a piece of which nothing comes": (
        "if (row < 0) continue;",
        "if (row < 0 || (comes && place / 64 == 6)) continue;",
    ),
}


@pytest.fixture
def exported(tmp_path: Path) -> tuple[Path, Path]:
    """The folder of an exported net and the net."""
    net = tmp_path / "net.nnue"
    write_net(net, random_net("KB(4)+H+V", l1=16))
    folder.write(tmp_path / "c", random_net("KB(4)+H+V", l1=16), "c", 1)
    return tmp_path / "c", net


def call(*words: object) -> Result:
    return CliRunner().invoke(app, ["check-engine", *map(str, words)])


def library(path: Path) -> Path:
    if shutil.which("gcc") is None or shutil.which("make") is None:
        pytest.skip("gcc and make are needed to compile exported code")
    subprocess.run(["make", "-s", "-C", str(path), "libnnue.so", "CC=gcc"], check=True)
    return path / "libnnue.so"


def test_the_first_wrong_row_is_named(exported: tuple[Path, Path]) -> None:
    source, right = exported[0] / "nnue_tables.h", "{0,12,24,36,48,60,72,84,0,12,"
    assert right in source.read_text()  # of H: pawns on rank 1, which there are none of, and rank 2
    source.write_text(source.read_text().replace(right, "{0,12,24,36,48,60,72,84,12,12,"))
    mistake = check(library(exported[0]), exported[1], Reading(), random_games(20, 0)).mistake
    assert mistake is not None
    assert "the engine lacks row 3072 for" in mistake.fault
    assert "(own pawn on file a)" in mistake.fault


def test_an_exported_library_is_right(exported: tuple[Path, Path]) -> None:
    right, mistake = check(library(exported[0]), exported[1], Reading(), random_games(5, 0))[:2]
    assert (right, mistake) == (sum(len(g.positions) for g in random_games(5, 0)), None)


def test_a_library_of_ones_own_needs_no_weights(exported: tuple[Path, Path]) -> None:
    """Here an exported one, without its weights: its rows come from tables."""
    (exported[0] / "nnue.bin").unlink()
    shared = library(exported[0])
    right, mistake = check(shared, parse("KB(4)+H+V"), Reading(), random_games(3, 0))[:2]
    assert (right, mistake) == (sum(len(g.positions) for g in random_games(3, 0)), None)
    with pytest.raises(UserError, match=r"there is no .*nnue\.bin; nnuelab export writes it"):
        check(shared, exported[1], Reading(), random_games(3, 0))


@pytest.mark.parametrize("what", MISTAKES)
def test_a_planted_mistake_is_shrunk(what: str, exported: tuple[Path, Path]) -> None:
    old, new = MISTAKES[what]
    source = exported[0] / "nnue.c"
    assert old in source.read_text()
    source.write_text(source.read_text().replace(old, new))
    mistake = check(library(exported[0]), exported[1], Reading(), random_games(20, 0)).mistake
    assert mistake is not None
    assert len(mistake.moves) <= 1  # each of them shows behind one move
    board = chess.Board(mistake.fen)
    for move in mistake.moves:
        board.push_uci(move)
    assert board.fen(en_passant="legal") == mistake.position


def constant_net(centipawns: int, features: str = "ALL") -> Net:
    net = random_net(features, l1=8)
    bias = np.array([centipawns << net.out_shift], np.int32)
    return replace(net, w3=np.zeros_like(net.w3), b3=bias)


@pytest.mark.parametrize(
    ("fault", "expected"), [("dies", "died"), ("hangs", "no answer within 0.5 s")]
)
def test_an_engine_that_fails_is_told_with_its_line(
    fault: str, expected: str, tmp_path: Path
) -> None:
    write_net(tmp_path / "net.nnue", constant_net(0))
    command = [sys.executable, str(ENGINE), "+0.00", fault]
    checked = Check(command, tmp_path / "net.nnue", Reading(pawns=True, patience=0.5))
    with checked.engine:
        lines = lines_of(random_games(1, 0), nulls=False)
        mistake = checked.first_mistake(max(lines, key=lambda line: len(line.moves)))
    assert mistake is not None
    assert expected in mistake.fault
    assert len(mistake.moves) == 3


def test_pawns_of_white_are_read(tmp_path: Path) -> None:
    write_net(tmp_path / "net.nnue", constant_net(125))
    reading = Reading(pawns=True, white=True)
    checked = Check([sys.executable, str(ENGINE), "+1.25", ""], tmp_path / "net.nnue", reading)
    with checked.engine:
        mistake = checked.first_mistake(random_games(1, 0)[0])
    assert mistake is not None
    assert " b " in mistake.position  # White's first position was right
    assert mistake.moves == []
    fault = "the engine says -125 centipawns, should be 125 centipawns for the side to move"
    assert mistake.fault == fault


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        ("stm: 4 other: 4", None),
        ("stm: 4 4 other: 4", "the engine has row 4 more than once for White (own king on e1)"),
        ("stm: 4", "has not two lists"),
        ("stm: 4 other: 4 stm: 4", "has not two lists"),
        ("stm: 3 4 other: 4", "the engine has row 3 for White (own king on d1); 1 are wrong"),
        ("STM : 4, other:", "the engine lacks row 4 for Black (own king on e1); 1 are wrong"),
        (
            "stm: 4 99 other:",
            "the engine has row 99 for White (no feature of the set); 1 are wrong",
        ),
        (f"stm: 4 {'9' * 5000} other: 4", "(no feature of the set); 2 are wrong"),
        ("nothing", "has not two lists"),
    ],
)
def test_features_are_compared(told: str, fault: str | None, tmp_path: Path) -> None:
    write_net(tmp_path / "net.nnue", constant_net(0, "KING"))
    reading = Reading(pawns=True, ask="features")
    command = [sys.executable, str(ENGINE), "0.00", "", told]
    position = notation.from_fen("4k3/8/8/8/8/8/P7/4K3 w - - 0 1")
    checked = Check(command, tmp_path / "net.nnue", reading)
    with checked.engine:
        mistake = checked.first_mistake(Game([position], []))
    assert (fault is None) == (mistake is None)
    assert mistake is None or fault in mistake.fault


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("", None),
        ("castling", "the engine lacks row"),
        ("tables", "(own pawn on e2"),
        (
            "strays",
            "the engine has row 99999 of its own for White (no feature of the set); 1 are wrong",
        ),
    ],
)
def test_rows_are_compared_whatever_their_numbers(fault: str, told: str | None) -> None:
    """Those of HalfKAv2_hm as engines number them, counted by python-chess."""
    features = parse("HALFKAV2_HM")
    reading = Reading(ask="rows", rows="rows(.*)", own_numbers=True)
    program = ENGINE.with_name("rows_engine.py")
    lines = list(lines_of(random_games(30, 0), nulls=False))
    checked = Check([sys.executable, str(program), fault], features, reading)
    with checked.engine, Progress(None, "positions", "check") as progress:
        checked.learn_numbers(lines, progress)
        mistakes = filter(None, map(checked.first_mistake, lines))
        mistake = next(mistakes, None)
    assert (told is None) == (mistake is None)
    assert mistake is None or told in mistake.fault
    if fault == "castling":
        assert mistake.moves[0] in ("e1g1", "e1c1", "e8g8", "e8c8")
        assert "rook" in mistake.fault


rows = st.lists(st.integers(0, 12), unique=True)


@given(st.lists(rows, max_size=20), st.permutations(range(13)), st.randoms())
def test_numbers_of_any_order_are_found(lists, order, random) -> None:
    theirs = [[100 + order[row] for row in line] for line in lists]
    for line in theirs:
        random.shuffle(line)
    numbers = numbering.found(theirs, lists)
    assert [{numbers[row] for row in line} for line in theirs] == list(map(set, lists))


def build(path: Path, *words: object) -> Path:
    """An engine of tests as a program of its own."""
    path.write_text("#!/bin/sh\nexec " + shlex.join(map(str, [sys.executable, *words])) + "\n")
    path.chmod(0o755)
    return path


def test_builds_are_checked_in_turn(tmp_path: Path) -> None:
    names = ("right", "castling")
    rows_engine = ENGINE.with_name("rows_engine.py")
    right, castling = (build(tmp_path / name, rows_engine, name) for name in names)
    sick = build(tmp_path / "sick", "-c", "import os; os.abort()")
    asked = "--features", "HALFKAV2_HM", "--ask", "rows", "--rows", "rows(.*)", "--own-numbers"
    done = call(castling, sick, right, *asked, "--games", 8)
    assert done.exit_code == 1
    assert "right: " in done.stdout
    assert "positions, all right; " in done.stdout
    assert "of 22,528 features were active" in done.stdout
    assert "castling, after" in done.stderr
    assert "doesn't start as a UCI engine" in done.stderr


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (None, None),
        ("sticky", "; {other} says depth "),
        ("silent", "it tells no nodes"),
        ("hangs", "{other}, after 1 searches alike, in position fen "),
        ("dies", "{other}, after 0 searches alike, in position fen "),
    ],
)
def test_searches_of_builds_are_compared(
    fault: str | None, told: str | None, tmp_path: Path
) -> None:
    right, other = (
        build(tmp_path / name, ENGINE.with_name("fake_engine.py"), 0, *given)
        for name, given in (("right", []), ("other", [fault] if fault else []))
    )
    pgn = tmp_path / "games.pgn"
    games = ["8/8/8/4k3/8/8/4K3/8 w - - 0 1", "8/8/8/4k3/8/8/4K3/7R w - - 0 1"]
    pgn.write_text("".join(f'[SetUp "1"]\n[FEN "{fen}"]\n\n1. Ke3 *\n\n' for fen in games))
    done = call(right, other, "--depth", 3, "--games", 0, "--pgn", pgn, "--patience", 0.5)
    assert done.exit_code == (told is not None)
    if told is None:
        assert done.stdout == "2 searches, alike in all 2 engines\n"
    else:
        assert told.format(other=other) in done.stderr
        assert "go depth 3: " in done.stderr


def test_searches_need_two_engines_and_games(tmp_path: Path) -> None:
    assert "--depth compares two or more UCI engines" in call(ENGINE, "--depth", 4).stderr
    right = build(tmp_path / "right", ENGINE.with_name("fake_engine.py"), 0)
    assert "no game to check" in call(right, right, "--depth", 4, "--games", 0).stderr
    assert "give --net, --features" in call(right, right, "--depth", 4, "--ask", "rows").stderr
    done = call(right, right, "--depth", 4, "--games", 3)
    assert done.stdout == "3 searches, alike in all 2 engines\n"


def test_an_engine_that_fails_while_its_rows_are_learnt_is_told_at_once(tmp_path: Path) -> None:
    command = [sys.executable, str(ENGINE), "0.00", "dies", "stm: 4 other: 4"]
    checked = Check(command, parse("KING"), Reading(ask="features", own_numbers=True))
    with checked.engine, Progress(None, "positions", "check") as progress:
        mistake = checked.learn_numbers(lines_of(random_games(9, 0), nulls=False), progress)
    assert mistake is not None
    assert "died" in mistake.fault


def test_a_check_needs_a_net_or_a_set(tmp_path: Path) -> None:
    write_net(tmp_path / "net.nnue", constant_net(0))
    assert "give --net, --features, or both" in call(ENGINE).stderr
    done = call(ENGINE, "--net", tmp_path / "net.nnue", "--features", "H+V")
    assert done.exit_code == 1
    assert "net.nnue is a net of ALL, not of H+V" in done.stderr


def test_lines_have_no_null_moves() -> None:
    games = random_games(10, 0)
    lines = list(lines_of(games, nulls=False))
    assert len(lines) > len(games)
    assert all(0 not in line.moves for line in lines)
    assert all(len(line.positions) == len(line.moves) + 1 for line in lines)
    assert sum(len(line.positions) for line in lines) == sum(len(g.positions) for g in games)


def test_an_engine_in_this_folder_needs_no_dot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(ENGINE, tmp_path / "mine")
    (tmp_path / "mine").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert command_of(Path("./mine")) == [str(tmp_path / "mine")]
