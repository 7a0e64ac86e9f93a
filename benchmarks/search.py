"""Nodes a second of the search with an ALL 512/32 net, one thread.

The net is the shipped one, widened; figures are geometric means of the positions of `bench`.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

from benchmarks.harness import Row, in_turn, row, stockfish, widened
from nnuelab.chess import notation
from nnuelab.engine.bench import POSITIONS
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator

ROUNDS = 5
NODES = 200_000  # of one search
STUDY = 1_150_000.0  # nodes per CPU-second of the study's Rust engine, ALL 512/32, such a machine


def rows() -> Iterator[Row]:
    """Against the study's engine by CPU time, and Stockfish by the wall clock."""
    engine, theirs = Engine(NetEvaluator(widened(NetEvaluator().net, 512))), stockfish()

    def search(fen: str, clock: Callable[[], float]) -> float:
        engine.new_game()
        start = clock()
        nodes = engine.search(notation.from_fen(fen), nodes=NODES).nodes
        return nodes / (clock() - start)

    medians: dict[str, list[float]] = {"CPU": [], "wall clock": [], "stockfish": []}
    for fen in POSITIONS:
        sides = {
            "CPU": lambda fen=fen: search(fen, time.thread_time),
            "wall clock": lambda fen=fen: search(fen, time.perf_counter),
        }
        if theirs:
            commands = f"ucinewgame\nposition fen {fen}\ngo nodes {NODES}"
            sides["stockfish"] = lambda said=commands: NODES / theirs.ask(said, "bestmove")
        for side, figures in in_turn(sides, ROUNDS).items():
            medians[side].append(statistics.median(figures))
    if theirs:
        theirs.close()
    means = {side: statistics.geometric_mean(found) for side, found in medians.items() if found}
    bounds = 3e6 / STUDY, 4.5e6 / STUDY
    yield row("search, per CPU-second", "nodes/s", means["CPU"], STUDY, *bounds)
    name, reference = "search, against Debian's stockfish", means.get("stockfish")
    yield row(name, "nodes/s", means["wall clock"], reference, 3.0, 5.0)
