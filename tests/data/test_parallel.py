"""Workers that are interrupted, as by Ctrl-C in a terminal: at any moment, in silence."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from nnuelab.data.parallel import pool

PROGRAM = """
import os, signal, sys, threading, time
from nnuelab.data.parallel import ordered
threading.Timer(float(sys.argv[1]), os.killpg, (0, signal.SIGINT)).start()
try:
    list(ordered(time.sleep, [60] * 4, 2))
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("seconds", [0.05, 0.2, 0.6, 2])
def test_workers_end_without_a_word(seconds: float) -> None:
    """Also while they still start."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(seconds)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell's background jobs ignore it, and so does all that they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    said, errors = process.communicate(timeout=60)
    assert (said, errors) == ("stopped\n", "")


def _process(_: int) -> int:
    return os.getpid()


def test_a_pool_keeps_its_processes() -> None:
    with pool(2) as of_pool:
        calls = [set(of_pool(_process, range(9))) for _ in range(3)]
    assert len(set().union(*calls)) <= 2
    assert os.getpid() not in calls[0]
