"""How fast datasets are read and labelled, against what is measured in the same run.

A label is bought from an engine: the reference is the same engine with the same commands in its
pipe, all at once, by one who only counts its answers.
"""

from __future__ import annotations

import io
import os
import statistics
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.bench_rows import row
from nnuelab.chess import moves, notation
from nnuelab.chess.position import POSITION
from nnuelab.data import dataset, engines, labels, records, sampler
from nnuelab.data.cache import Cache
from nnuelab.data.formats import binpack
from nnuelab.data.record_text import texts
from nnuelab.data.searching import BATCH
from nnuelab.data.unusable import Unusable

ROUNDS = 7  # of each side, in turn; the median counts
LABELLED = 200  # positions of a round
SAMPLED = 3_000_000  # positions, nearly three windows
SHUFFLED = 16_384  # positions of a batch
LIMIT = "depth 10"


def dataset_rows() -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench data``: labels, shuffled batches, and .binpack both ways.

    Returns
    -------
    list of dict
        name, ours, reference, unit, ratio, at_least, aim; the bounds are those of ``ratio``.
    """
    with tempfile.TemporaryDirectory() as folder:
        return [
            _labels_row(Path(folder)),
            _sampler_row(Path(folder)),
            *_binpack_rows(Path(folder)),
        ]


def random_games(n: int) -> np.ndarray:
    """RECORD [n]: all positions of random games, of which each is another one."""
    rng = np.random.default_rng(0)
    found, legal = np.zeros(n, records.RECORD), np.zeros(moves.MAX_MOVES, np.int64)
    start = notation.from_fen(notation.STARTING_FEN)
    stack, game, ply = np.zeros(2, POSITION), 0, 0
    stack[0] = start
    for record in found:
        records.pack(stack[0], record)
        count = moves.legal_moves(stack[0], legal)
        if not count or ply == 120:
            stack[0], game, ply = start, game + 1, 0
            records.pack(stack[0], record)
            count = moves.legal_moves(stack[0], legal)
        record["game"], record["ply"] = game, ply
        record["score"] = rng.integers(-500, 500)
        record["move"] = move = legal[rng.integers(count)]
        moves.make(stack[0], stack[1], move)
        stack[0], ply = stack[1], ply + 1
    return found


def _labels_row(folder: Path) -> dict[str, Any]:
    path = engines.find_engine("stockfish")
    # Every twentieth position: neighbours are alike.
    chosen = np.ascontiguousarray(random_games(20 * LABELLED)[10::20])
    boards = (fen.decode().rsplit(" ", 1)[0] for fen in texts(chosen)[0])
    asked = "".join(f"ucinewgame\nposition fen {board} 1\ngo {LIMIT}\n" for board in boards)
    commands = f"setoption name Hash value {engines.HASH_MB}\n{asked}ucinewgame\n"
    labeller = labels.stockfish(path, LIMIT, 1)
    samples = dataset.Dataset(folder, (chosen,))

    # Both begin to count behind some positions, when the engine has started.

    def ours() -> float:
        with Cache(folder / "cache", {}) as cache:
            found = labeller.labels(samples, cache, Unusable(folder, 0))
            begun = len(next(found)[0])
            started = time.perf_counter()
            done = sum(len(batch) for batch, _, _ in found)
            seconds = time.perf_counter() - started
            cache.remove()
        assert begun + done == LABELLED
        return done / seconds

    def bare() -> float:
        with subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            writing = threading.Thread(target=process.stdin.write, args=[commands.encode()])
            writing.start()
            done, started, text = 0, 0.0, b""
            while done < LABELLED:
                text = text[-7:] + os.read(process.stdout.fileno(), 1 << 16)
                done += text.count(b"bestmove")
                if not started and done >= BATCH:
                    begun, started = done, time.perf_counter()
            seconds = time.perf_counter() - started
            writing.join()
            process.kill()
        return (LABELLED - begun) / seconds

    measured = _in_turn(ours, bare)
    name = f"labels by {engines.engine_name(path)} at {LIMIT}, one process, against a bare pipe"
    return _row(name, measured[0], measured[1], at_least=0.9, aim=0.95)


def _sampler_row(folder: Path) -> dict[str, Any]:
    path = folder / "large.npy"
    with dataset.writing(path) as writer:
        writer.append(np.resize(random_games(10_000), SAMPLED))
    opened = dataset.open(path)

    def ours() -> float:
        started = time.process_time()
        taken = sum(len(batch) for batch in sampler.shuffled(opened, SHUFFLED, 1, 0))
        return taken / (time.process_time() - started)

    ours()  # compiles, and brings the file into memory
    speeds = [ours() for _ in range(ROUNDS)]
    name = f"shuffled batches of {SHUFFLED:,} out of {SAMPLED:,} positions, per core"
    return _row(name, speeds, [1e7] * ROUNDS, at_least=1.0)


def _binpack_rows(folder: Path) -> list[dict[str, Any]]:
    games, path = random_games(60_000), folder / "games.binpack"

    def write() -> float:
        file, started = io.BytesIO(), time.perf_counter()
        binpack.write(file, [games], Counter())
        seconds = time.perf_counter() - started
        path.write_bytes(file.getvalue())
        return len(games) / seconds

    def read() -> float:
        started = time.perf_counter()
        for _ in binpack.read(path, Unusable(path, 0)):
            pass
        return len(games) / (time.perf_counter() - started)

    write(), read()
    return [
        _row(f".binpack {what}", [side() for _ in range(ROUNDS)])
        for what, side in (("written", write), ("read", read))
    ]


def _in_turn(*sides: Callable[[], float]) -> list[list[float]]:
    """Measurements of each side; the sides take turns, since the machine's speed drifts."""
    for side in sides:
        side()
    measured = [[side() for side in sides] for _ in range(ROUNDS)]
    return [list(column) for column in zip(*measured, strict=True)]


def _row(
    name: str,
    ours: list[float],
    reference: list[float] | None = None,
    at_least: float | None = None,
    aim: float | None = None,
) -> dict[str, Any]:
    ratio = median = None
    if reference is not None:
        ratio = statistics.median(a / b for a, b in zip(ours, reference, strict=True))
        median = statistics.median(reference)
    return row(name, statistics.median(ours), median, "positions/s", at_least, aim, ratio=ratio)
