"""What all benchmarks share: sides that take turns, and the row that comes of them."""

from __future__ import annotations

import ctypes
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.data.uci import find_engine
from nnuelab.errors import UserError
from nnuelab.nnue.netfile import Net
from nnuelab.nnue.replay import resized

Row = dict[str, Any]
Figures = float | Sequence[float]


def row(
    name: str,
    unit: str,
    ours: Figures,
    reference: Figures | None = None,
    at_least: float | None = None,
    aim: float | None = None,
    *,
    less_is_better: bool = False,
) -> Row:
    """A measured figure beside its reference.

    Parameters
    ----------
    ours, reference : float or sequence of float
        Of several rounds the medians are shown, and the median of their ratios.
    at_least, aim : float, optional
        Bounds of the ratio.
    less_is_better : bool
        The ratio is reference / ours.
    """
    ratio = None
    if reference is not None:
        ratios = np.divide(ours, reference)
        ratio = float(np.median(1 / ratios if less_is_better else ratios))
    return {
        "name": name,
        "ours": float(np.median(ours)),
        "reference": None if reference is None else float(np.median(reference)),
        "unit": unit,
        "ratio": ratio,
        "at_least": at_least,
        "aim": aim,
    }


def in_turn(sides: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, list[float]]:
    """What each side measures; they take turns, since the machine's speed drifts.

    One round more comes first: it compiles, and touches the memory.
    """
    found: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(rounds + 1):
        for name, measure in sides.items():
            figure = measure()
            if turn:
                found[name].append(figure)
    return found


def rate(
    n: float, action: Callable[[], object], clock: Callable[[], float] = time.perf_counter
) -> float:
    """How many a second, where an action does n of them."""
    start = clock()
    action()
    return n / (clock() - start)


def children() -> float:
    """CPU seconds of all processes that were started and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def compiled(source: Path) -> ctypes.CDLL | None:
    """A C program as a library, None without a gcc that works."""
    compiler = shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "reference.so"
        options = ["-O3", "-march=native", "-shared", "-fPIC", "-o", str(library)]
        command = [compiler, *options, str(source), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.splitlines() or ["no reason given"])[0]
            print(f"{compiler} can't compile {source.name}: {reason}", file=sys.stderr)
            return None
        return ctypes.CDLL(str(library))


def widened(net: Net, l1: int) -> Net:
    """The same evaluation, bit for bit, by ``l1`` neurons: each of them split into equal ones.

    So a net of any width can be measured at the width that figures are given for.

    Parameters
    ----------
    net : Net
    l1 : int
        A multiple of the net's own.
    """
    if not l1 or l1 % net.l1:
        raise ValueError(f"{l1} is no multiple of {net.l1}")
    return resized(net, l1)


class Conversation:
    """A UCI engine as a GUI has it, to be timed.

    Parameters
    ----------
    command : sequence of str
        Its program and arguments.
    environment : str
        Variables that it gets besides those of this process.
    """

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **environment},
        )

    def ask(self, commands: str, answer: str) -> float:
        """Seconds from the commands to a line that begins with ``answer``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        start = time.perf_counter()
        self._process.stdin.write(commands + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(answer):
                return time.perf_counter() - start
        raise RuntimeError(f"{self._process.args!r} has ended")

    def close(self) -> None:
        """Ends the engine and waits for it."""
        self._process.communicate("quit\n")


def stockfish() -> Conversation | None:
    """Debian's Stockfish, where it is installed."""
    try:
        return Conversation([find_engine("stockfish")])
    except UserError:
        return None
