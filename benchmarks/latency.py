"""How long the engine lets a GUI wait: for ``uciok``, after ``stop``, for its first compilation."""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.harness import Conversation, Row, children, in_turn, row

ROUNDS = 5
# Seconds: at most, and the aim
WARM, COLD, STOP = (1.0, 0.4), (25.0, 12.0), (0.005, 0.0005)
THINKING = 0.3  # seconds of a search before it is stopped
UCI = (sys.executable, "-m", "nnuelab.cli", "uci")


def rows() -> Iterator[Row]:
    """A ratio above 1 is faster than what is asked for."""
    engine = Conversation(UCI)
    engine.ask("isready", "readyok")

    def stop() -> float:
        engine.ask("position startpos\ngo infinite", "info")
        time.sleep(THINKING)
        return engine.ask("stop", "bestmove")

    found = in_turn({"start": _start, "stop": stop}, ROUNDS)
    engine.close()
    yield _row("uci to uciok, with the start of the process", found["start"], *WARM)
    yield _row("stop to bestmove", found["stop"], *STOP)
    yield _row("compilation of everything, CPU time", [_compile()], *COLD)


def _row(name: str, seconds: list[float], most: float, aim: float) -> Row:
    times = [1e3 * each for each in seconds]
    return row(name, "ms", times, [1e3 * most] * len(times), 1.0, most / aim, less_is_better=True)


def _start() -> float:
    """Seconds from the start of the process to ``uciok``."""
    start = time.perf_counter()
    engine = Conversation(UCI)
    engine.ask("uci", "uciok")
    seconds = time.perf_counter() - start
    engine.close()
    return seconds


def _compile() -> float:
    """CPU seconds until an engine without compiled kernels is ready."""
    before = children()
    with tempfile.TemporaryDirectory() as folder:
        engine = Conversation(UCI, NUMBA_CACHE_DIR=folder)
        engine.ask("isready", "readyok")
        engine.close()
    return children() - before
