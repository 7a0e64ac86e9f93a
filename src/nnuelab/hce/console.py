"""The console block of the post: convergence, entropy and the histogram of the bits.

::

         Convergence:  79.35% (0.088%)     Entropy:  57.93 (-0.175)
     155 +█
         |█                                                █
         |█                                                █
         |█▄▄                                         ▄    █
       0 +-----+----+----+----+----+----+----+----+----+----+
          0   0.1  0.2  0.3  0.4  0.5  0.6  0.7  0.8  0.9   1

51 columns: the first is of probabilities from 0 to below 0.02, the last of 1 alone. A column is as
high as its share of the fullest one, in halves of a row. Convergence is the mean of abs(2p - 1),
entropy the sum with the decimal logarithm: of the readings of the two numbers, the one that fits
them and the bars (see :mod:`history`). In parentheses: the change since the generation before.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, TextIO

import numpy as np

from nnuelab.hce import history

COLUMNS = 51
ROWS = 4
_AXIS = "-----+" + 9 * "----+"
_LABELS = "      0   0.1  0.2  0.3  0.4  0.5  0.6  0.7  0.8  0.9   1"
_INTERVAL = 0.1  # seconds between two pictures on a terminal


def block(probabilities: np.ndarray, before: np.ndarray | None = None) -> str:
    """The block of a vector of bit probabilities, and of the generation before.

    Returns
    -------
    str
        Seven lines, each with its end.
    """
    now = history.of_bits(probabilities)
    then = now if before is None else history.of_bits(before)
    convergence = 100 * now["convergence_abs"]
    entropy = now["entropy_log10_sum"]
    gained = convergence - 100 * then["convergence_abs"]
    fallen = entropy - then["entropy_log10_sum"]
    head = (
        f"     Convergence: {convergence:6.2f}% ({gained:.3f}%)"
        f"     Entropy: {entropy:6.2f} ({fallen:.3f})"
    )
    return "\n".join([head, *histogram(probabilities)]) + "\n"


def counts(probabilities: np.ndarray) -> np.ndarray:
    """How many bits stand in each of the columns, int64 [COLUMNS]."""
    # 0.58 * 50 is 28.999...: a step of 1e-9 is no other column.
    columns = np.floor(np.asarray(probabilities) * (COLUMNS - 1) + 1e-9).astype(np.int64)
    return np.bincount(columns, minlength=COLUMNS)


def histogram(probabilities: np.ndarray) -> list[str]:
    """The lines below the head."""
    found = counts(probabilities)
    most = int(found.max())
    halves = (4 * ROWS * found + most) // (2 * most)  # rounded
    lines = []
    for row in range(ROWS, 0, -1):
        filled = "".join(" ▄█"[min(max(n - 2 * (row - 1), 0), 2)] for n in halves.tolist())
        start = f"{most:4} +" if row == ROWS else "     |"
        lines.append((start + filled).rstrip())
    return [*lines, f"{0:4} +{_AXIS}", _LABELS]


def line(row: Mapping[str, Any], total: int, left: str = "") -> str:
    """A generation of ``total`` in one line: a row of the history, and the time that is left."""
    parts = [
        f"generation {row['generation']}/{total}{left}",
        f"best {row['best']:.6f}",
        f"mean {row['mean']:.6f}",
        f"reference {row['reference']:.6f}",
    ]
    if row.get("validation") is not None:
        parts.append(f"validation {row['validation']:.6f}")
    if "convergence_abs" in row:
        parts.append(f"convergence {100 * row['convergence_abs']:.2f}%")
        parts.append(f"entropy {row['entropy_log10_sum']:.2f}")
        parts.append(f"bits at 0 {row['bits_at_0']:.0%}, at 1 {row['bits_at_1']:.0%}")
    return "  ".join([*parts, f"zero weights {row['zero_weights']}"])


class Console:
    """Shows a run on stderr: one picture that changes on a terminal, a line each in a log.

    Parameters
    ----------
    total : int
        Generations of the run.
    done : int
        Of an earlier run that this one continues.
    """

    def __init__(self, total: int, done: int = 0, stream: TextIO | None = None) -> None:
        self.stream = sys.stderr if stream is None else stream
        self.total, self.before = total, done
        self._bits: np.ndarray | None = None
        self._height = 0
        self._terminal = self.stream.isatty()
        self._start = time.monotonic()
        self._last = -_INTERVAL

    def show(self, row: Mapping[str, Any], bits: np.ndarray | None, last: bool = False) -> None:
        """Shows a generation: its row, and its bit probabilities if it has any."""
        now = time.monotonic()
        told = line(row, self.total, self._left(int(row["generation"]), now))
        if not self._terminal:
            print(told, file=self.stream, flush=True)
        elif last or now - self._last >= _INTERVAL:
            self._last = now
            lines = [told, *([] if bits is None else block(bits, self._bits).splitlines())]
            # A line that wraps would be two to go up.
            width = shutil.get_terminal_size().columns - 1
            picture = "".join(told[:width] + "\n" for told in lines)
            up = f"\x1b[{self._height}A\x1b[J" if self._height else ""
            print(up + picture, end="", file=self.stream, flush=True)
            self._height = picture.count("\n")
        self._bits = bits

    def _left(self, generation: int, now: float) -> str:
        done = generation - self.before
        if generation >= self.total or done < 1:
            return ""
        seconds = (now - self._start) / done * (self.total - generation)
        return f"  ETA {timedelta(seconds=round(seconds))}"
