"""What playing costs besides searching: datagen and tournaments, in CPU time of this process."""

from __future__ import annotations

import itertools
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, rate, row
from nnuelab.chess import notation
from nnuelab.data.journal import Journal
from nnuelab.data.records import RECORD, pack
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.selfplay import datagen, openings
from nnuelab.selfplay.quiet import Quiet
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.nets import NetEntrant
from nnuelab.tournament.runner import Table
from nnuelab.tournament.schedule import Pair, Settings
from nnuelab.tournament.summary import Summary

GAMES = 16
PAIRS, FAST_PAIRS = 16, 64  # openings at 1,000 and at 200 nodes
QUIET = 20_000  # positions
SHARE = 0.9  # of the CPU time is spent in search, at least
FAST_GAMES = 50.0  # per CPU-second at 200 nodes a move: 100 a second on two cores


def rows() -> Iterator[Row]:
    """Games of the shipped net as they are really made, with PGN, journal and compression, but for
    the start of processes.
    """
    with tempfile.TemporaryDirectory() as folder:
        yield from _datagen(Path(folder))
        slow, fast = (
            _tournament(Path(folder), 1000, PAIRS),
            _tournament(Path(folder), 200, FAST_PAIRS),
        )
    title = "tournament at 1,000 nodes: CPU time in search"
    yield row(title, "share", slow[0], 1.0, SHARE, 1.0)
    yield row("tournament at 200 nodes", "games/CPU-s", fast[1], FAST_GAMES, 1.0, 2.0)
    yield _quiet()


def _datagen(folder: Path) -> Iterator[Row]:
    parameters = datagen.Parameters(Limit(nodes=5000), 8, 100, seed=1)
    datagen._start_worker(datagen.Source(NetEvaluator()), "this engine", parameters)
    datagen._play_number(0)  # loads the kernels
    speed = datagen.Speed()
    with Journal(folder / "datagen.partial", {}) as journal:
        for number in range(1, GAMES + 1):
            entry, cost = datagen._play_number(number)
            began = time.process_time()
            journal.append(entry)
            cost.cpu += time.process_time() - began
            speed.add(cost)
        began = time.process_time()
        datagen._write(folder / "games.pgn.zst", iter(journal), datagen.COMPRESSION)
        speed.cpu += time.process_time() - began
    share = speed.thinking / speed.cpu
    yield row("datagen at 5,000 nodes: CPU time in search", "share", share, 1.0, SHARE, 1.0)
    yield row("datagen: positions kept", "1/CPU-s", speed.kept / speed.cpu)
    yield row("datagen: nodes", "1/CPU-s", speed.nodes / speed.cpu)


def _tournament(folder: Path, nodes: int, pairs: int) -> tuple[float, float]:
    """Share of CPU time in search, and games per CPU-second, of a match of a net with itself."""
    names = ("A", "B")
    table = Table({name: NetEntrant(None, Limit(nodes=nodes)) for name in names}, Settings(2))
    found = (openings.candidate(1, number, 0, 8) for number in itertools.count())
    fens = (notation.to_fen(each.position) for each in found if openings.usable(each.position))
    table(Pair(0, names[0], names[1], next(fens)))  # loads the kernels
    began, thinking, summary = time.process_time(), table.thinking, Summary(list(names))
    with Journal(folder / f"{nodes}.partial", {}) as journal:
        for number in range(pairs):
            entry = table(Pair(number, names[0], names[1], next(fens)))
            journal.append(entry)
            summary.add(entry["outcome"])
            summary.progress()
    cpu = time.process_time() - began
    return (table.thinking - thinking) / cpu, 2 * pairs / cpu


def _quiet() -> Row:
    records = np.zeros(QUIET, RECORD)
    for number, record in enumerate(records):
        pack(openings.candidate(2, number, 0, number % 60).position, record)
    quiet = Quiet(NetEvaluator())
    quiet(records[:1])  # compiles
    speed = rate(QUIET, lambda: quiet(records), time.process_time)
    return row("quiet filter", "positions/CPU-s", speed)
