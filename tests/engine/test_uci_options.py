"""Options of UCI that tournament managers set: threads, the table, and time counted in nodes."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import pytest

from nnuelab.engine.uci import Uci
from tests.engine.dialogue import COMMAND, converse


@pytest.fixture(scope="module")
def engine(net: Path) -> Iterator[chess.engine.SimpleEngine]:
    command = [*COMMAND, "uci", "--net", str(net)]
    with chess.engine.SimpleEngine.popen_uci(command, timeout=120) as engine:
        yield engine


def test_one_thread_is_offered_and_taken(engine: chess.engine.SimpleEngine, net: Path) -> None:
    threads = engine.options["Threads"]
    assert (threads.type, threads.default, threads.min, threads.max) == ("spin", 1, 1, 1)
    engine.configure({"Threads": 1})
    assert engine.play(chess.Board(), chess.engine.Limit(nodes=100)).move
    refused, *answers = converse(net, "setoption name Threads value 4", "go nodes 50")
    assert refused == "info string error: Threads 4 is outside 1..1"
    assert answers[-1].startswith("bestmove")


def test_hash_is_kept_between_searches_until_it_is_cleared(
    engine: chess.engine.SimpleEngine,
) -> None:
    board, limit = chess.Board(), chess.engine.Limit(depth=7)

    def nodes() -> int:
        return engine.analyse(board, limit, game="hash")["nodes"]

    cold, warm = nodes(), nodes()
    assert cold > 2 * warm
    engine.configure({"Clear Hash": None})
    assert nodes() > 2 * warm


def timed_game(
    engine: chess.engine.SimpleEngine, game: object, clocks: random.Random
) -> list[tuple[chess.Move, int]]:
    """Moves and nodes of both sides, who are told 3 s at first, and then what comes to mind."""
    board, played, left = chess.Board(), [], [3.0, 3.0]
    for _ in range(20):
        limit = chess.engine.Limit(
            white_clock=left[0], black_clock=left[1], white_inc=0.05, black_inc=0.05
        )
        result = engine.play(board, limit, game=game, info=chess.engine.INFO_ALL)
        assert result.move is not None
        played.append((result.move, result.info["nodes"]))
        board.push(result.move)
        if board.ply() > 1:
            left = [clocks.uniform(0.1, 3) for _ in left]
    return played


def test_with_nodestime_a_timed_game_is_the_same_again(engine: chess.engine.SimpleEngine) -> None:
    rate = 5
    engine.configure({"nodestime": rate})
    first, again = (timed_game(engine, seed, random.Random(seed)) for seed in (1, 2))
    assert first == again
    for side in (first[::2], first[1::2]):
        assert sum(nodes for _, nodes in side) <= rate * (3000 + 10 * 50)
        assert all(nodes > rate * 20 for _, nodes in side)
    engine.configure({"nodestime": 2 * rate})
    more = timed_game(engine, 3, random.Random(3))
    assert sum(nodes for _, nodes in more) > 1.4 * sum(nodes for _, nodes in first)
    engine.configure({"nodestime": 0})


def test_with_nodestime_a_time_for_a_move_is_so_many_nodes(
    engine: chess.engine.SimpleEngine,
) -> None:
    engine.configure({"nodestime": 100, "Move Overhead": 10})
    for _ in range(2):
        result = engine.play(
            chess.Board(), chess.engine.Limit(time=0.05), info=chess.engine.INFO_ALL
        )
        assert result.info["nodes"] == 40 * 100
    engine.configure({"nodestime": 0})


def test_with_nodestime_a_clock_that_has_run_out_leaves_a_move(net: Path) -> None:
    go = "go wtime 1 btime 1"
    answers = converse(net, "setoption name nodestime value 1", go, go, "go movetime 1", go)
    assert len([text for text in answers if text.startswith("bestmove")]) == 4
    assert not [text for text in answers if "error" in text or text == "bestmove (none)"]


def test_with_nodestime_pondering_ends_at_the_answer_to_it(net: Path) -> None:
    output = io.StringIO()
    gui = Uci(net, output)
    for line in ("setoption name nodestime value 1", "go ponder wtime 1000 btime 1000"):
        gui.obey(line.split())
    gui.obey(["isready"])
    time.sleep(0.2)
    assert "bestmove" not in output.getvalue()
    gui.run(["ponderhit"])
    assert "bestmove" in output.getvalue()
