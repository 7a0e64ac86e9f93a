"""The whole command with the real engine and nets with random weights."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import chess.pgn
import numpy as np
import pytest

from nnuelab import features
from nnuelab.nnue.netfile import Net, write_net, write_nn
from nnuelab.tournament import ratings
from nnuelab.tournament.external import EngineEntrant
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.runner import Table
from nnuelab.tournament.schedule import Pair, Settings


def random_net(feature_set: str, seed: int) -> Net:
    """Mostly noise, so that games are short on sense but full of different scores."""
    rng = np.random.default_rng(seed)
    n, m, o = features.parse(feature_set).size, 16, 4
    return Net(
        feature_set=features.parse(feature_set).name,
        w1=rng.integers(-60, 60, (n, m), np.int16),
        b1=rng.integers(-20, 60, m, np.int16),
        w2=rng.integers(-60, 60, (o, 2 * m), np.int8),
        b2=rng.integers(-2000, 4000, o, np.int32),
        w3=rng.integers(-100, 100, o, np.int16),
        b3=np.zeros(1, np.int32),
    )


@pytest.fixture(scope="module")
def call(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """A command line with nets of both formats, short of the output."""
    folder = tmp_path_factory.mktemp("nets")
    write_net(folder / "all.nnue", random_net("ALL", 1))
    write_nn(folder / "hv.nn", random_net("H+V", 2))
    book = folder / "book.epd"
    board, lines = chess.Board(), []
    for move in board.legal_moves:
        board.push(move)
        lines.append(board.epd())
        board.pop()
    book.write_text("\n".join(lines))
    nets = [f"ALL#1={folder / 'all.nnue'}", f"H+V#1={folder / 'hv.nn'}", "--book", str(book)]
    options = ["--games-per-pairing", "8", "--nodes", "60", "--max-plies", "60", "--hash", "1"]
    return [sys.executable, "-m", "nnuelab.cli", "tournament", *nets, *options]


def test_nets_of_both_formats_play_the_same_games_with_any_number_of_workers(
    call: list[str], tmp_path: Path
) -> None:
    texts = []
    for workers in (1, 2):
        output = tmp_path / f"{workers}.pgn"
        command = [*call, "--output", str(output), "--workers", str(workers)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert done.stdout == ""
        assert "8 games" in done.stderr
        texts.append(output.read_text())
    assert texts[0] == texts[1]
    stream, games = io.StringIO(texts[0]), 0
    while game := chess.pgn.read_game(stream):
        assert game.errors == []
        games += 1
    assert games == 8
    sets = ratings.feature_sets({"nodes": tmp_path / "1.pgn"})["nodes"]
    assert set(sets) == {"ALL", "H+V"}


def test_corrupt_net_is_one_line_and_leaves_nothing(call: list[str], tmp_path: Path) -> None:
    bad = tmp_path / "bad.nnue"
    bad.write_bytes(b"NNUELAB\0 and then nothing")
    command = [*call, f"bad={bad}", "--output", str(tmp_path / "o.pgn")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("nnuelab: error: ")
    assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.glob("o.pgn*")) == []


def test_the_engine_plays_the_same_in_this_process_and_by_uci(tmp_path: Path) -> None:
    uci = EngineEntrant((sys.executable, "-m", "nnuelab.cli", "uci"), Limit(nodes=400))
    players = {"here": NetEntrant(None, Limit(nodes=400)), "there": uci}
    table = Table(players, Settings(2))
    opening = "r1bqkbnr/pppp1ppp/2n5/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R w KQkq - 2 3"
    try:
        texts = table(Pair(0, "here", "there", opening))["games"]
    finally:
        table.close()
    games = [chess.pgn.read_game(io.StringIO(text)) for text in texts]
    said = [[(node.move, node.comment) for node in game.mainline()] for game in games if game]
    assert len(said[0]) > 20
    assert said[0] == said[1]


def test_another_engine_plays_the_same_games_with_the_same_nets(
    call: list[str], tmp_path: Path
) -> None:
    """Where it is this one: with its own processes, and nets by its option."""
    texts = []
    program = tmp_path / "my engine"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nnuelab.cli uci "$@"\n')
    program.chmod(0o755)
    judge = ["--engine", str(program), "--net-option", "evalfile", "--engine-option", "Hash=1"]
    for name, more in (("own", []), ("other", judge)):
        output = tmp_path / f"{name}.pgn"
        command = [*call, *more, "--output", str(output), "--workers", "1"]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        texts.append(output.read_text())
    assert texts[0] == texts[1]
    told = json.loads((tmp_path / "other.pgn.json").read_text())
    (net,) = (word.partition("=")[2] for word in call if word.startswith("H+V#1="))
    assert told["parameters"]["players"]["H+V#1"]["options"] == {"Hash": "1", "evalfile": net}
    assert f"{net} H+V#1" in told["inputs"]


def test_what_another_engine_can_t_play_is_told(call: list[str], tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m nnuelab.cli uci\n')
    program.chmod(0o755)
    output = ["--output", str(tmp_path / "games.pgn")]
    for more, said in (
        (["--engine", "./none"], "no engine ./none"),
        (["--engine", str(program), "--net-option", "Nets"], "has no option 'Nets'"),
        (["--engine", str(program), "C={net: none.nnue}"], "player C: there is no net none.nnue"),
        (["--engine", str(program), "C={net: default, ordering: a}"], "unknown setting ordering"),
    ):
        done = subprocess.run([*call, *more, *output], capture_output=True, text=True)
        assert done.returncode == 1
        assert said in done.stderr
        assert len(done.stderr.splitlines()) == 1
