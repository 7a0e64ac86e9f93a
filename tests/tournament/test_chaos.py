"""Engines that crash, hang, come late or play nonsense: each costs one game and leaves nothing."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.pgn
import psutil
import pytest

from nnuelab.errors import UserError
from nnuelab.settings.games import Rules
from nnuelab.tournament.external import EngineEntrant
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.runner import Table
from nnuelab.tournament.schedule import Pair, Settings
from nnuelab.tournament.summary import Summary
from tests.fake_player import RandomEntrant

ENGINE = str(Path(__file__).parents[1] / "programs/chaos_engine.py")
NODES = Limit(nodes=100)
MOVETIME = Limit(movetime=300)
RULES = Rules(max_plies=12, draw_plies=0, resign_plies=0)


def chaos(
    folder: Path, fault: str, limit: Limit, patience: float = 2.0, memory_mb: int | None = None
) -> EngineEntrant:
    command = (sys.executable, ENGINE, str(folder / "misbehaved"), fault)
    return EngineEntrant(command, limit, patience=patience, memory_mb=memory_mb)


def table_of(folder: Path, engine: EngineEntrant) -> Table:
    (folder / "a.net").write_text("level")
    opponent = RandomEntrant(folder / "a.net", engine.limit)
    return Table({"chaos": engine, "random": opponent}, Settings(2, rules=RULES))


def play(table: Table, pairs: int = 2) -> tuple[Summary, list[chess.pgn.Game]]:
    summary, games = Summary(["chaos", "random"]), []
    for number in range(pairs):
        entry = table(Pair(number, "chaos", "random", chess.STARTING_FEN))
        summary.add(json.loads(json.dumps(entry["outcome"])))
        for text in entry["games"]:
            game = chess.pgn.read_game(io.StringIO(text))
            assert game is not None
            assert game.errors == []
            games.append(game)
    return summary, games


@pytest.fixture(autouse=True)
def _nothing_is_left_behind() -> Iterator[None]:
    before = set(psutil.Process().children(recursive=True))
    yield
    left = set(psutil.Process().children(recursive=True)) - before
    _, alive = psutil.wait_procs(left, timeout=5)
    assert [process.cmdline() for process in alive] == []


@pytest.mark.parametrize(
    ("fault", "limit", "kind", "termination", "reason"),
    [
        ("crash", NODES, "crash", "abandoned", "White crashes: exit status 3"),
        ("abort", NODES, "crash", "abandoned", "White crashes: exit status -6"),
        ("leaves", NODES, "crash", "abandoned", "White crashes: exit status 0"),
        ("close", NODES, "crash", "abandoned", "White crashes: exit status -9"),
        ("endless line", NODES, "crash", "abandoned", "White crashes: exit status -9"),
        ("hang", NODES, "hang", "abandoned", "White hangs: no answer within 2 s"),
        ("deaf", NODES, "hang", "abandoned", "White hangs: no answer within 2 s"),
        ("children", NODES, "hang", "abandoned", "White hangs: no answer within 2 s"),
        ("garbage", NODES, "hang", "abandoned", "White hangs: no answer within 2 s"),
        ("hang", MOVETIME, "time loss", "time forfeit", "White loses on time: no answer within"),
        ("late", MOVETIME, "time loss", "time forfeit", "White loses on time: "),
        ("busy", MOVETIME, "time loss", "time forfeit", "White loses on time: "),
        ("illegal", NODES, "illegal move", "rules infraction", "an illegal move: 'a1h8'"),
        ("words", NODES, "illegal move", "rules infraction", "an illegal move: 'castles'"),
        ("null move", NODES, "illegal move", "rules infraction", "White plays no move"),
        ("no move", NODES, "illegal move", "rules infraction", "White plays no move"),
    ],
)
def test_a_fault_costs_one_game(
    tmp_path: Path, fault: str, limit: Limit, kind: str, termination: str, reason: str
) -> None:
    table = table_of(tmp_path, chaos(tmp_path, fault, limit))
    try:
        summary, games = play(table)
    finally:
        table.close()
    assert summary.troubles == {"chaos": {kind: 1}, "random": {}}
    assert summary.progress().endswith("  1 lost by faults")
    first, *others = games
    assert first.headers["Result"] == "0-1"
    assert first.headers["Termination"] == termination
    assert reason in first.end().comment
    # The moves before stand; the move that was none does not.
    assert first.headers["PlyCount"] == str(len(list(first.mainline()))) in ("4", "5", "6")
    assert [game.headers["Termination"] for game in others] == ["adjudication"] * 3


def test_what_an_engine_has_started_in_a_group_of_its_own_ends_with_it(tmp_path: Path) -> None:
    table = table_of(tmp_path, chaos(tmp_path, "children of their own", NODES))
    try:
        summary, _ = play(table)
    finally:
        table.close()
    assert summary.troubles["chaos"] == {"hang": 1}
    left = [
        each
        for each in psutil.process_iter(["cmdline"])
        if "1000.25" in (each.info["cmdline"] or [])
    ]
    assert psutil.wait_procs(left, timeout=5)[1] == []


def test_memory_beyond_its_share_is_a_crash(tmp_path: Path) -> None:
    table = table_of(tmp_path, chaos(tmp_path, "memory", NODES, 60, memory_mb=300))
    try:
        summary, _ = play(table)
    finally:
        table.close()
    assert summary.troubles["chaos"] == {"crash": 1}


def test_an_engine_that_plays_well_has_no_troubles(tmp_path: Path) -> None:
    table = table_of(tmp_path, chaos(tmp_path, "well", Limit(clock=1000, increment=100)))
    try:
        summary, games = play(table, 1)
    finally:
        table.close()
    assert not any(summary.troubles.values())
    headers = games[0].headers
    assert headers["WhiteTimeControl" if "WhiteTimeControl" in headers else "TimeControl"]
    assert "+0.12/1 0.0" in str(games[0])


def test_an_engine_that_never_starts_again_stops_the_match(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "engine"
    program.write_text(f"#!{sys.executable}\n" + Path(ENGINE).read_text())
    program.chmod(0o755)
    entrant = EngineEntrant((str(program), str(tmp_path / "mark"), "vanish"), NODES)
    table = table_of(tmp_path, entrant)
    monkeypatch.setattr("nnuelab.data.uci.STARTS", 1)
    try:
        with pytest.raises(UserError, match="no longer starts"):
            play(table)
    finally:
        table.close()


@pytest.mark.parametrize(
    ("command", "options", "said"),
    [
        (("/bin/true",), {}, "doesn't start as a UCI engine"),
        ((sys.executable, ENGINE, "x", "well"), {"Hash": 100}, "'100' is not from 2 to 64"),
        ((sys.executable, ENGINE, "x", "well"), {"Skill": 1}, "has no option 'Skill'"),
    ],
)
def test_an_engine_that_can_not_play_is_refused_at_the_start(
    command: tuple[str, ...], options: dict[str, int], said: str
) -> None:
    with pytest.raises(UserError, match=said) as refused:
        EngineEntrant(command, NODES, options).start()
    assert "\n" not in str(refused.value)


PLAYERS = f"""
players:
  illegal: {{engine: {sys.executable}, args: [{ENGINE}, FOLDER/1, illegal]}}
  crash: {{engine: {sys.executable}, args: [{ENGINE}, FOLDER/2, crash]}}
  hang: {{engine: {sys.executable}, args: [{ENGINE}, FOLDER/3, children], patience: 1}}
  late: {{engine: {sys.executable}, args: [{ENGINE}, FOLDER/4, late], movetime: 300}}
"""


def command_of(folder: Path, *more: str) -> list[str]:
    (folder / "players.yaml").write_text(PLAYERS.replace("FOLDER", str(folder)))
    openings = [f"rnbqkbnr/pppppppp/8/8/8/{8 * 'P'}/8/RNBQKBNR {c} KQkq -" for c in "wb"]
    (folder / "book.epd").write_text("\n".join(openings))
    command = [sys.executable, "-m", "nnuelab.cli", "tournament", "--players"]
    command += [str(folder / "players.yaml"), "--book", str(folder / "book.epd")]
    command += ["--output", str(folder / "games.pgn"), "--games-per-pairing", "4"]
    return [*command, "--max-plies", "14", *more]


def processes_of(folder: Path) -> list[psutil.Process]:
    """Those that play from this folder."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(folder) in word for word in process.info["cmdline"] or ()):
            found.append(process)
    return found


def test_a_tournament_of_broken_engines_ends_and_says_what_happened(tmp_path: Path) -> None:
    done = subprocess.run(command_of(tmp_path), capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "games.pgn.json").read_text())["summary"]
    troubles = ("illegal_move", "crash", "hang", "time_loss")
    counted = {name: [row[key] for key in troubles] for name, row in told["players"].items()}
    assert counted == {
        "illegal": [1, 0, 0, 0],
        "crash": [0, 1, 0, 0],
        "hang": [0, 0, 1, 0],
        "late": [0, 0, 0, 1],
    }
    assert {row["games"] for row in told["players"].values()} == {12}
    assert "time loss" in done.stderr
    assert "Unexpected engine output" not in done.stderr
    assert processes_of(tmp_path) == []


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_no_engine_outlives_a_tournament_that_is_killed(
    tmp_path: Path, how: signal.Signals
) -> None:
    command = [*command_of(tmp_path), "hang", "crash", "--patience", "60"]
    (tmp_path / "players.yaml").write_text(
        (tmp_path / "players.yaml").read_text().replace("patience: 1", "patience: 60")
    )
    process = subprocess.Popen(
        command,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        # A shell lets what it starts in the background ignore Ctrl-C, and so would its children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    while not (tmp_path / "3").exists():  # one of them hangs, with a child
        assert process.poll() is None
        time.sleep(0.02)
    time.sleep(0.3)
    family = psutil.Process(process.pid).children(recursive=True)
    assert any(child.name() == "sleep" for child in family)
    os.kill(process.pid, how)
    process.wait(20)
    _, alive = psutil.wait_procs(family, timeout=20)
    assert [child.cmdline() for child in alive] == []
