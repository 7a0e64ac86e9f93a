"""How long the engine lets a GUI wait: for ``uciok``, for its first compilation, after ``stop``."""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from typing import Any

from nnuelab.bench_rows import row
from nnuelab.engine.conversation import Conversation

ROUNDS = 5
# Seconds: at most, and the aim
WARM, COLD, STOP = (1.0, 0.4), (25.0, 12.0), (0.005, 0.0005)
THINKING = 0.3  # seconds of a search before it is stopped


UCI = (sys.executable, "-m", "nnuelab.cli", "uci")


def _start() -> float:
    """Seconds from the start of the process to ``uciok``."""
    start = time.perf_counter()
    conversation = Conversation(UCI)
    conversation.ask("uci", "uciok")
    seconds = time.perf_counter() - start
    conversation.close()
    return seconds


def _compile() -> float:
    """CPU seconds until an engine without compiled kernels is ready."""

    def used() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    before = used()
    with tempfile.TemporaryDirectory() as folder:
        conversation = Conversation(UCI, NUMBA_CACHE_DIR=folder)
        conversation.ask("isready", "readyok")
        conversation.close()
    return used() - before


def _stop(conversation: Conversation) -> float:
    """Seconds from ``stop`` to ``bestmove``."""
    conversation.ask("position startpos\ngo infinite", "info")
    time.sleep(THINKING)
    return conversation.ask("stop", "bestmove")


def latency_rows() -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench latency``; a ratio above 1 is faster than what is asked for."""
    conversation = Conversation(UCI)
    conversation.ask("isready", "readyok")
    measured = (
        ("uci to uciok, with the start of the process", _start, ROUNDS, WARM),
        ("stop to bestmove", lambda: _stop(conversation), ROUNDS, STOP),
        ("compilation of everything, CPU time", _compile, 1, COLD),
    )
    rows = []
    for name, measure, rounds, (most, aim) in measured:
        seconds = statistics.median(measure() for _ in range(rounds))
        ratio = most / seconds
        rows.append(row(name, 1e3 * seconds, 1e3 * most, "ms", 1.0, most / aim, ratio=ratio))
    conversation.close()
    return rows
