"""The two yardsticks: nodes per second out of games, pinned cores, a clock that favours nobody."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from nnuelab.chess.notation import STARTING_FEN
from nnuelab.errors import UserError
from nnuelab.tournament import workers
from nnuelab.tournament.game import Game, Move
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.pgn import nodes_and_seconds, to_pgn
from nnuelab.tournament.runner import tournament
from nnuelab.tournament.schedule import Settings
from nnuelab.tournament.sprt import Tally
from nnuelab.tournament.words import Format

ROOT = Path(__file__).resolve().parents[1]
BOOK = ROOT / "resources/embedded/openings.epd.gz"
BLACK_TO_MOVE = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 1"


def test_nodes_and_seconds_are_those_of_each_player(tmp_path: Path) -> None:
    limit = Limit(movetime=10)
    moves = [
        Move("e4", 20, None, 5, 1000, 10.0),
        Move("e5", -20, None, 5, 3000, 20.0),
        Move("Nf3", None, 3, 5, 500, 5.0),
        Move("Nc6", None, None, None, 7777, 30.0, 20.0),  # the machine stood still
        Move("Bb5", 0, None, 5, None, 10.0),  # says nothing of its nodes
    ]
    white = to_pgn(
        Game(moves, "1-0", "a {odd} reason, n=5"),
        *('A "quoted"', "B", STARTING_FEN, "1.1"),
        (limit, limit),
    )
    moves = [Move("e5", 1, None, 3, 40, 1.0), Move("Nf3", 1, None, 3, 50, 1.0)]
    black = to_pgn(
        Game(moves, "1-0", "so"), "B", 'A "quoted"', BLACK_TO_MOVE, "1.2", (limit, limit)
    )
    path = tmp_path / "g.pgn"
    path.write_text(white + black)
    found = nodes_and_seconds(path)
    assert found == {
        'A "quoted"': (1000 + 500 + 40, pytest.approx(0.016)),
        "B": (3000 + 50, pytest.approx(0.021)),
    }


def test_a_start_without_a_turn_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "g.pgn"
    game = Game([Move("e5", 1, None, 3, 40, 1.0)], "1-0", "so")
    limits = (Limit(movetime=10), Limit(movetime=10))
    text = to_pgn(game, "A", "B", BLACK_TO_MOVE, "1.1", limits)
    path.write_text(text.replace(BLACK_TO_MOVE, BLACK_TO_MOVE.split()[0]))
    with pytest.raises(UserError, match=r"g\.pgn is damaged \(the start '\S*' says no turn"):
        nodes_and_seconds(path)


def test_games_at_fixed_nodes_have_no_speed(tmp_path: Path) -> None:
    game = Game([Move("e4", 20, None, 5, 1000)], "1-0", "so")
    path = tmp_path / "g.pgn"
    path.write_text(to_pgn(game, "A", "B", STARTING_FEN, "1.1"))
    assert nodes_and_seconds(path) == {}


def affinity(_task: int) -> list[int]:
    return sorted(os.sched_getaffinity(0))


def where() -> partial[list[int]]:
    return partial(affinity)


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="Linux only")
def test_each_pinned_worker_has_a_core_of_its_own() -> None:
    cores = sorted(os.sched_getaffinity(0))
    count = min(2, len(cores))
    found = list(workers.run(range(2 * count), where, count, pinned=True))
    assert sorted({core for (core,) in found}) == cores[:count]
    assert set(map(tuple, workers.run([1], where, 1))) == {tuple(cores)}


def calibrate(folder: Path, games: int) -> tuple[Tally, dict[str, tuple[int, float]]]:
    """The shipped net against itself at 10 ms a move."""
    output = folder / "calibration.pgn"
    entrant = NetEntrant(None, Limit(movetime=10))
    settings = Settings(games, Format.MATCH, seed=5)
    tournament({"first": entrant, "second": entrant}, BOOK, output, settings)
    results = read_results([output])
    points = [
        p if results.players[w] == "first" else 1 - p
        for w, p in zip(results.white, results.points, strict=True)
    ]
    return Tally.of_games(np.array(points), results.cluster), nodes_and_seconds(output)


@pytest.mark.parametrize(
    "games", [pytest.param(12, id="few"), pytest.param(400, id="400", marks=pytest.mark.slow)]
)
def test_the_same_net_is_as_strong_as_itself_at_fixed_time(tmp_path: Path, games: int) -> None:
    """Neither the order of the players nor the machine's other work favours one of them."""
    tally, speed = calibrate(tmp_path, games)
    mean, error = tally.mean_and_error()
    assert tally.games == games
    # 3.5 deviations, of which even a level result has some.
    assert abs(mean - 0.5) <= 3.5 * max(error, 0.25 / games**0.5)
    first, second = (speed[name][0] / speed[name][1] for name in ("first", "second"))
    assert first / second == pytest.approx(1, abs=0.15 if games < 100 else 0.03)
