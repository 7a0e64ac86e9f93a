"""How long the engine lets a GUI wait: for ``uciok``, for its first compilation, after ``stop``."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

ROUNDS = 5
# Seconds: at most, and the aim
WARM, COLD, STOP = (1.0, 0.4), (25.0, 12.0), (0.005, 0.0005)
THINKING = 0.3  # seconds of a search before it is stopped


class _Conversation:
    """An engine as a GUI has it."""

    def __init__(self, **environment: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "nnuelab.cli", "uci"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **environment},
        )

    def ask(self, command: str, answer: str) -> float:
        """Seconds from a command to the line that begins with ``answer``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        start = time.perf_counter()
        self._process.stdin.write(command + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(answer):
                return time.perf_counter() - start
        raise RuntimeError("the engine has ended")

    def close(self) -> None:
        """Ends the engine and waits for it."""
        self._process.communicate("quit\n")


def _start() -> float:
    """Seconds from the start of the process to ``uciok``."""
    start = time.perf_counter()
    conversation = _Conversation()
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
        conversation = _Conversation(NUMBA_CACHE_DIR=folder)
        conversation.ask("isready", "readyok")
        conversation.close()
    return used() - before


def _stop(conversation: _Conversation) -> float:
    """Seconds from ``stop`` to ``bestmove``."""
    conversation.ask("position startpos\ngo infinite", "info")
    time.sleep(THINKING)
    return conversation.ask("stop", "bestmove")


def latency_rows() -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench latency``; a ratio above 1 is faster than what is asked for."""
    conversation = _Conversation()
    conversation.ask("isready", "readyok")
    measured = (
        ("uci to uciok, with the start of the process", _start, ROUNDS, WARM),
        ("stop to bestmove", lambda: _stop(conversation), ROUNDS, STOP),
        ("compilation of everything, CPU time", _compile, 1, COLD),
    )
    rows = []
    for name, measure, rounds, (most, aim) in measured:
        seconds = statistics.median(measure() for _ in range(rounds))
        rows.append(
            {
                "name": name,
                "ours": 1e3 * seconds,
                "reference": 1e3 * most,
                "unit": "ms",
                "ratio": most / seconds,
                "at_least": 1.0,
                "aim": most / aim,
            }
        )
    conversation.close()
    return rows
