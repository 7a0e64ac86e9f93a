"""Games by other tournament managers: what they are asked, and what is read of their games.

The managers themselves can't be had everywhere; `fake_manager` takes no word that isn't in the
manual of its kind, and plays with real engine processes.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import chess.pgn
import pytest

from nnuelab.errors import UserError
from nnuelab.settings.games import Rules
from nnuelab.tournament import manager, schedule
from nnuelab.tournament.external import EngineEntrant
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.manager import Manager, Side
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.openings import Book
from nnuelab.tournament.runner import tournament
from nnuelab.tournament.schedule import Settings
from nnuelab.tournament.words import Format, Runner

TESTS = Path(__file__).parents[1]
BOOK = TESTS.parent / "resources/embedded/openings.epd.gz"
RUNNERS = (Runner.FASTCHESS, Runner.CUTECHESS)
SETTINGS = Settings(4, seed=3, rules=Rules(max_plies=30))


@pytest.fixture(params=RUNNERS)
def runner(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Runner:
    """A manager that is installed."""
    folder = tmp_path / "programs"
    folder.mkdir()
    script = folder / request.param
    script.write_text(f"#!{sys.executable}\n{(TESTS / 'programs/fake_manager.py').read_text()}")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return Runner(request.param)


def fake(*words: str, nodes: int = 5) -> EngineEntrant:
    engine = str(TESTS / "programs/fake_engine.py")
    return EngineEntrant((sys.executable, engine, "0", *words), Limit(nodes=nodes), {"Hash": 2})


def test_the_command_lines_are_those_of_the_manuals(runner: Runner) -> None:
    sides = (
        Side("A", ("/a/engine", "-x", "y"), {"Hash": 16, "OwnBook": False}, Limit(nodes=9)),
        Side("B c", ("/b",), {}, Limit(clock=100, increment=20, margin=7.5)),
    )
    rules = Rules(draw_move=30, draw_plies=9, draw_score=8, resign_plies=0, max_plies=301)
    words = Manager(runner, rules, 3).command(sides, 7, Path("/o.epd"), Path("/o.pgn"))
    fast = runner is Runner.FASTCHESS
    place = f"dir={Path.cwd()}"
    assert words[1:] == [
        *("-engine", "name=A", "proto=uci", place, "cmd=/a/engine"),
        *(["args=-x y", "nodes=9"] if fast else ["arg=-x", "arg=y", "tc=inf", "nodes=9"]),
        *("option.Hash=16", "option.OwnBook=false"),
        *("-engine", "name=B c", "proto=uci", place, "cmd=/b", "tc=0.1+0.02", "timemargin=8"),
        *("-rounds", "7", "-games", "2", "-repeat", "-recover", "-concurrency", "3"),
        *("-openings", "file=/o.epd", "format=epd", "order=sequential"),
        *("-pgnout", *(["file=/o.pgn", "nodes=true"] if fast else ["/o.pgn"])),
        *("-maxmoves", "151", "-draw", "movenumber=30", "movecount=5", "score=8"),
    ]


@pytest.mark.parametrize(
    ("limit", "fast", "cute"),
    [
        (Limit(depth=4), ["plies=4"], ["tc=inf", "depth=4"]),
        (Limit(movetime=50), ["st=0.05", "timemargin=20"], ["st=0.05", "timemargin=20"]),
    ],
)
def test_limits(runner: Runner, limit: Limit, fast: list[str], cute: list[str]) -> None:
    side = Side("A", ("/a",), {}, limit)
    words = Manager(runner, Rules(), 1).command((side, side), 1, Path("/o"), Path("/p"))
    expected = fast if runner is Runner.FASTCHESS else cute
    assert words[words.index("cmd=/a") + 1 :][: len(expected)] == expected
    assert "twosided=true" in words


def test_a_tournament_has_the_openings_of_our_own_runner(runner: Runner, tmp_path: Path) -> None:
    players = {"a": fake(), "b": fake(nodes=6), "ours": NetEntrant(None, Limit(nodes=20))}
    output = tmp_path / "o.pgn"
    summary = tournament(players, BOOK, output, SETTINGS, processes=1, runner=runner)
    expected = {
        (sides, manager._position(pair.fen))
        for pair in schedule.schedule(list(players), Book(BOOK), SETTINGS)
        for sides in ((pair.first, pair.second), (pair.second, pair.first))
    }
    found = []
    with output.open() as file:
        while (game := chess.pgn.read_game(file)) is not None:
            tags = game.headers
            found.append(((tags["White"], tags["Black"]), manager._position(tags["FEN"])))
            assert tags["Round"].endswith(".1" if tags["White"] < tags["Black"] else ".2")
            assert game.next() is not None
            assert not game.errors
    assert sorted(found) == sorted(expected)
    assert len(found) == 12
    assert len(read_results([output])) == 12
    record = json.loads((tmp_path / "o.pgn.json").read_text())
    assert record["summary"] == summary.told()
    assert "runner" in record["inputs"]
    assert [row["games"] for row in summary.told()["players"].values()] == [8, 8, 8]
    assert not (Path.cwd() / "config.json").exists(), "what fastchess leaves behind"


def test_what_it_left_out_is_told_and_played_by_the_next_run(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manager, "BATCH", 1)
    players, output = {"a": fake(), "b": fake(nodes=6)}, tmp_path / "o.pgn"
    settings = Settings(6, Format.MATCH, rules=Rules(max_plies=30))
    asked = []
    run = Manager._run

    def counted(self: Manager, command: list[str], log: Path) -> int:
        asked.append(command)
        if len(asked) == 2:
            monkeypatch.setenv("MANAGER_GAMES", "1")
        return run(self, command, log)

    monkeypatch.setattr(Manager, "_run", counted)
    with pytest.raises(UserError, match=r"left out games of a against b \(1 of 2.*something hap"):
        tournament(players, BOOK, output, settings, processes=1, runner=runner)
    assert not output.exists()
    assert len(asked) == 2
    monkeypatch.delenv("MANAGER_GAMES")
    tournament(players, BOOK, output, settings, processes=1, runner=runner)
    assert len(asked) == 4, "the first pair was played again"
    assert len(read_results([output])) == 6
    assert not list(tmp_path.glob("*.partial*"))


@pytest.mark.parametrize(
    ("said", "column"),
    [("time forfeit", "time_loss"), ("illegal move", "illegal_move"), ("abandoned", "crash")],
)
@pytest.mark.parametrize("runner", [Runner.FASTCHESS], indirect=True)
def test_faults(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, column: str
) -> None:
    monkeypatch.setenv("MANAGER_FAULT", said)
    players = {"a": fake(), "b": fake(nodes=6)}
    settings = Settings(2, Format.MATCH, rules=Rules(max_plies=30))
    told = tournament(
        players, BOOK, tmp_path / "o.pgn", settings, processes=1, runner=runner
    ).told()
    assert told["players"]["a"][column] == 1
    assert told["players"]["b"][column] == 0


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="fastchess is not on PATH; install it"):
        Manager(Runner.FASTCHESS, Rules(), 1)
    (tmp_path / "fastchess").write_text("#!/bin/sh\n")
    (tmp_path / "fastchess").chmod(0o755)
    spaced = Side("A", ("/a", "b c"), {}, Limit(nodes=1))
    with pytest.raises(UserError, match=r"player A: fastchess takes no argument with spaces"):
        Manager(Runner.FASTCHESS, Rules(), 1).command((spaced, spaced), 1, tmp_path, tmp_path)
    limited = EngineEntrant(fake().command, Limit(nodes=1), memory_mb=9)
    with pytest.raises(UserError, match="memory_mb is for the project's own runner"):
        list(Manager(Runner.FASTCHESS, Rules(), 1).play([], {"A": limited}))
