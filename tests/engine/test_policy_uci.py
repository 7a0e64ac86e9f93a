"""A policy as a GUI sees it."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import pytest

from nnuelab.engine.policy_uci import PolicyUci
from nnuelab.policy.policyfile import write_policy
from tests.policy.policies import random_policy

COMMAND = [sys.executable, "-m", "nnuelab.cli", "uci", "--policy"]


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies") / "a.policy"
    write_policy(path, random_policy("fromto"))
    return path


@pytest.fixture(scope="module")
def engine(policy: Path) -> Iterator[chess.engine.SimpleEngine]:
    with chess.engine.SimpleEngine.popen_uci([*COMMAND, str(policy)], timeout=120) as engine:
        yield engine


def converse(policy: Path, *lines: str) -> list[str]:
    output = io.StringIO()
    PolicyUci(policy, output).run(lines)
    return output.getvalue().splitlines()


def test_a_game_is_played_through(engine: chess.engine.SimpleEngine) -> None:
    engine.configure({"Threads": 1})
    board = chess.Board()
    while not board.is_game_over(claim_draw=True) and board.ply() < 40:
        result = engine.play(board, chess.engine.Limit(nodes=1))
        assert result.move in board.legal_moves
        board.push(result.move)
    assert board.ply() > 10


def test_multipv_ranks_moves_with_probability_and_wdl(engine: chess.engine.SimpleEngine) -> None:
    board = chess.Board()
    found = engine.analyse(board, chess.engine.Limit(nodes=1), multipv=30)
    assert len(found) == 20
    probabilities = [float(info["string"].split()[1]) for info in found]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) == pytest.approx(1, abs=1e-4)
    for info in found:
        assert info["pv"][0] in board.legal_moves
        assert info["wdl"].relative.total() == 1000
        assert info["score"].relative.score() is not None


def test_answers_need_neither_torch_nor_a_load(policy: Path) -> None:
    program = (
        "import io, sys; from pathlib import Path; from nnuelab.engine.policy_uci import PolicyUci;"
        f"out = io.StringIO(); talk = PolicyUci(Path({str(policy)!r}), out); talk.run(['uci']);"
        "assert not {'numba', 'torch', 'pandas'} & set(sys.modules), 'uci';"
        "talk.run(['isready', 'go nodes 1']); assert 'bestmove' in out.getvalue();"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_options_are_obeyed(policy: Path) -> None:
    def best(*options: str) -> list[str]:
        lines = [f"setoption name {option}" for option in options]
        told = converse(policy, *lines, "go nodes 1", "position startpos moves e2e4", "go nodes 1")
        assert not [line for line in told if "error" in line]
        return [line for line in told if line.startswith("bestmove")]

    plain = best()
    assert best("Temperature value 0", "TopP value 1") == plain
    drawn = {tuple(best("Temperature value 5", f"Seed value {seed}")) for seed in range(6)}
    assert len(drawn) > 1
    assert best("Temperature value 5", "TopP value 0.000001") == plain
    assert len(best("Walk value true")) == 2
    assert best("ValueHead value false", "Plies value 1")
    assert len(best("Plies value 1", "Underpromotions value true")) == 2


def test_what_can_t_be_done_is_told(policy: Path) -> None:
    told = converse(
        policy,
        "setoption name Temperature value hot",
        "setoption name TopP value 2",
        "setoption name Plies value 7",
        "setoption name Walk value maybe",
        "setoption name Hash value 1",
        "setoption name PolicyFile value /nowhere.policy",
        "eval",
        "position startpos moves e2e5",
        "go nodes 1 searchmoves a2a3 e1e8",
        "position fen 7k/5Q2/6K1/8/8/8/8/8 b - - 0 1",
        "go",
        "position fen 7k/6Q1/6K1/8/8/8/8/8 b - - 0 1",
        "go infinite",
        "stop",
    )
    errors = [line for line in told if line.startswith("info string error")]
    assert len(errors) == 9
    assert told[-4:] == [
        *("info depth 0 score cp 0", "bestmove (none)"),
        *("info depth 0 score mate 0", "bestmove (none)"),
    ]
    assert "bestmove a2a3" in told


def test_a_mate_is_told(policy: Path) -> None:
    lines = ["setoption name Plies value 1", "position fen 6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1", "go"]
    told = converse(policy, *lines)
    assert "score mate 1 wdl 1000 0 0" in told[-2]
    assert told[-1] == "bestmove a1a8"


def test_the_command_refuses_a_broken_policy_and_two_players(policy: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.policy"
    bad.write_bytes(b"nothing")
    done = subprocess.run([*COMMAND, str(bad)], capture_output=True, text=True, input="uci\n")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    both = [*COMMAND, str(policy), "--hce", "default"]
    done = subprocess.run(both, capture_output=True, text=True, input="uci\n")
    assert done.returncode == 2
