"""Limits and clocks, who is late and who was stalled, and the project's engine on a clock."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import Any

import chess
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.chess import notation
from nnuelab.data.uci import UciEngine
from nnuelab.errors import UserError
from nnuelab.settings.games import Rules
from nnuelab.tournament import external
from nnuelab.tournament.game import Answer, Fault, Game, Line, Seat
from nnuelab.tournament.limits import MARGIN, Clock, Limit, Turn
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.pgn import to_pgn
from nnuelab.tournament.play import play
from nnuelab.tournament.runner import Table
from nnuelab.tournament.schedule import Pair, Settings

SHORT = Rules(max_plies=8, draw_plies=0, resign_plies=0)


@dataclass
class Sleeper:
    """Plays the first legal move after ``pauses`` [move] ms, of which the machine took ``idle``."""

    pauses: list[float]
    idle: float = 0.0

    def __post_init__(self) -> None:
        self.turns: list[Turn] = []

    def new_game(self) -> None:
        self.turns.clear()

    def search(self, line: Line, turn: Turn) -> Answer:
        pause = self.pauses[len(self.turns) % len(self.pauses)]
        self.turns.append(turn)
        time.sleep(pause / 1e3)
        return Answer(notation.moves_of(line.position)[0], 5, None, 1, 1, self.idle)

    def close(self) -> None:
        pass


def game(white: Sleeper, black: Sleeper, limit: Limit, rules: Rules = SHORT) -> Game:
    return play(Seat(white, limit), Seat(black, limit), notation.STARTING_FEN, rules)


def test_the_late_one_loses_and_the_game_tells_by_how_much() -> None:
    found = game(Sleeper([0]), Sleeper([0, 450]), Limit(movetime=200, margin=100))
    assert (found.result, found.fault, found.termination) == ("1-0", Fault.TIME, "time forfeit")
    assert re.fullmatch(r"Black loses on time: (4[5-9]|[5-9]\d)\d ms, with 200 left", found.reason)
    assert len(found.moves) == 3  # the late move isn't played


def test_within_the_margin_is_in_time() -> None:
    found = game(Sleeper([45]), Sleeper([0]), Limit(movetime=40, margin=1000))
    assert found.fault is None
    assert all(45 <= move.taken < 1000 for move in found.moves[::2] if move.taken)


def test_what_the_machine_took_is_no_loss_and_is_told() -> None:
    limit = Limit(movetime=100, margin=100)
    found = game(Sleeper([300], idle=290), Sleeper([0]), limit)
    assert (found.fault, found.stalls) == (None, (4, 0))
    assert [move.stalled for move in found.moves] == [290, None] * 4
    text = to_pgn(found, "A", "B", notation.STARTING_FEN, "1.1", (limit, limit))
    assert "the machine stalled for 0.290s" in text
    assert '[TimeControl "0.1/move"]' in text
    # A little less, and it would have been late all the same.
    found = game(Sleeper([300], idle=90), Sleeper([0]), limit)
    assert found.fault is Fault.TIME
    assert found.reason.endswith(" ms, with 100 left, 90 without a processor")


def test_the_clock_runs_down_and_gets_the_increment() -> None:
    white, black = Sleeper([200, 0]), Sleeper([0])
    game(white, black, Limit(clock=2000, increment=100))
    lefts = [turn.left for turn in white.turns]
    assert lefts[0] == 2000
    assert 1500 < lefts[1] <= 1900  # 200 taken, 100 got
    assert lefts[1] - 300 < lefts[2] <= lefts[1] + 100
    assert black.turns[0].opponent_left == lefts[1]
    assert white.turns[1].opponent_left == black.turns[1].left
    assert {turn.opponent_increment for turn in white.turns} == {100}


@given(
    st.floats(1, 1000), st.floats(0, 100), st.lists(st.floats(0, 400), max_size=12), st.floats(0, 9)
)
def test_clock_equals_the_sum_of_its_moves(
    start: float, increment: float, taken: list[float], margin: float
) -> None:
    clock = Clock(Limit(clock=start, increment=increment, margin=margin))
    left = start
    for move in taken:
        assert clock.left == pytest.approx(left)
        assert clock.overstepped(move) == (move - clock.left > margin)
        clock.charge(move)
        left = (0.0 if move > left else left - move) + increment


def test_time_is_no_matter_under_nodes() -> None:
    found = game(Sleeper([30]), Sleeper([0]), Limit(nodes=1))
    assert found.fault is None
    assert {move.taken for move in found.moves} == {None}
    assert " {+0.05/1, n=1}" in to_pgn(found, "A", "B", notation.STARTING_FEN, "1.1")


@pytest.mark.parametrize(
    ("settings", "limit", "text"),
    [
        ({"nodes": 7}, Limit(nodes=7), "7 nodes"),
        ({"depth": 7, "nodes": None}, Limit(depth=7), "depth 7"),
        ({"movetime": 100}, Limit(movetime=100, margin=MARGIN), "0.1/move"),
        ({"clock": "100+20", "margin": 5}, Limit(clock=100, increment=20, margin=5), "0.1+0.02"),
        ({"clock": "60000"}, Limit(clock=60000), "60+0"),
        ({"clock": 1500}, Limit(clock=1500), "1.5+0"),
    ],
)
def test_limits_are_read(settings: dict[str, Any], limit: Limit, text: str) -> None:
    assert Limit.read(settings) == limit
    assert str(limit) == text


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "one limit is needed, nodes, depth, movetime or clock; there is none"),
        ({"nodes": 5, "clock": "1+1"}, "there are nodes and clock"),
        ({"nodes": 0}, "nodes 0: it must be a whole number"),
        ({"depth": 1.5}, "depth 1.5"),
        ({"nodes": True}, "nodes True"),
        ({"movetime": -3}, "movetime -3"),
        ({"movetime": float("nan")}, "movetime nan"),
        ({"clock": "1:00"}, "TIME\\+INCREMENT"),
        ({"clock": "0+1"}, "clock 0"),
        ({"nodes": 5, "margin": 5}, "a margin needs a time limit"),
        ({"movetime": 5, "margin": -1}, "margin -1"),
    ],
)
def test_wrong_limits_are_told(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        Limit.read(settings)


# --- the project's engine


def timed(limit: Limit, left: float, moves: int = 6) -> list[tuple[float, Answer]]:
    """ms and answers of the shipped net's searches, move by move."""
    player = NetEntrant(None, limit).start()
    line, found = Line(chess.STARTING_FEN, 400), []
    for _ in range(moves):
        began = time.perf_counter()
        answer = player.search(line, Turn(limit, left, left, limit.increment))
        found.append(((time.perf_counter() - began) * 1e3, answer))
        line.push(answer.move)
    return found


def test_the_engine_keeps_to_its_time_where_the_machine_lets_it() -> None:
    for taken, answer in timed(Limit(movetime=60), 60):
        assert taken - answer.idle < 60 + MARGIN
        assert taken > 50
        assert answer.nodes is not None
        assert answer.nodes > 1000
    for taken, answer in timed(Limit(clock=500, increment=10), 40):
        assert taken - answer.idle < 40


def test_the_engine_searches_to_its_nodes_and_depth() -> None:
    assert {answer.nodes for _, answer in timed(Limit(nodes=500), 0)} == {500}
    assert {answer.depth for _, answer in timed(Limit(depth=4), 0)} == {4}


def test_no_collection_of_garbage_falls_into_a_game() -> None:
    entrants = {"a": NetEntrant(None, Limit(nodes=10)), "b": NetEntrant(None, Limit(depth=1))}
    for _ in range(2):  # what goes on between the moves is compiled in the very first game
        Table(entrants, Settings(2, rules=SHORT))(Pair(0, "a", "b", chess.STARTING_FEN))
    try:
        # All that was imported; a collection looks at the rest alone.
        assert gc.get_freeze_count() > 10 * len(gc.get_objects())
    finally:
        gc.unfreeze()


STALLED = """
from tests.tournament.test_time import timed
from nnuelab.tournament.limits import Limit
timed(Limit(depth=1), 0, 1)
print("ready", flush=True)
(taken, answer), = timed(Limit(movetime=3000), 3000, 1)
print(taken, answer.idle)
"""


def test_a_machine_that_stands_still_is_told_from_an_engine_that_is_slow() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", STALLED], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGSTOP)
    time.sleep(4)
    process.send_signal(signal.SIGCONT)
    taken, idle = map(float, process.communicate()[0].split())
    assert taken > 3500  # stopped beyond its time
    assert idle > taken - 3000


# Four threads that take turns on one core; hashing lets go of Python's lock.
THREADS = """
import hashlib, os, sys
from concurrent.futures import ThreadPoolExecutor
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
block = bytes(1 << 20)
def work(_):
    for _ in range(30):
        hashlib.sha256(block).digest()
pool = ThreadPoolExecutor(4)
for line in sys.stdin:
    word = line.split()[0]
    if word == "go":
        list(pool.map(work, range(4)))
    said = {"uci": "uciok", "isready": "readyok", "go": "bestmove e2e4"}.get(word)
    if said:
        print(said, flush=True)
"""


def test_threads_that_wait_for_each_other_are_no_stall(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[float, float]] = []
    measure = external._processor

    def measured(pid: int | None) -> tuple[float, float]:
        seen.append(measure(pid))
        return seen[-1]

    monkeypatch.setattr(external, "_processor", measured)
    limit = Limit(movetime=60_000)
    player = external.UciPlayer(UciEngine([sys.executable, "-c", THREADS]))
    try:
        player.new_game()
        began = time.perf_counter()
        answer = player.search(Line(chess.STARTING_FEN, 9), Turn(limit, 60_000, 60_000, 0))
        taken = (time.perf_counter() - began) * 1e3
    finally:
        player.close()
    (ran, waited), (ran_then, waited_then) = seen
    assert waited_then - waited > answer.idle
    assert 0 <= answer.idle <= taken - (ran_then - ran)


def test_limits_differ_by_player() -> None:
    white = Sleeper([0])
    limit = Limit(movetime=500)
    seats = Seat(white, limit), Seat(Sleeper([0]), replace(limit, movetime=100))
    text = to_pgn(
        play(*seats, notation.STARTING_FEN, SHORT),
        *("A", "B", notation.STARTING_FEN, "1.1"),
        (seats[0].limit, seats[1].limit),
    )
    assert '[WhiteTimeControl "0.5/move"]\n[BlackTimeControl "0.1/move"]' in text
