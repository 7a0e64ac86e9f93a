"""Progress of long work: a bar with rate and ETA on a terminal, plain lines in a log."""

from __future__ import annotations

import sys
import time
from datetime import timedelta
from typing import Self

LOG_INTERVAL = 10.0  # seconds between two lines of a log


class Progress:
    """Counts ``total`` units of work on stderr; use as a context manager.

    Parameters
    ----------
    total : int or None
        Units of the whole work, None when unknown (then there is no ETA).
    unit : str
        What is counted, in the plural ("games", "positions").
    description : str
        What is done to them, in front of each line.
    done : int
        Units done in an earlier run that this one continues; they don't count for the rate.
    quiet : bool
        Prints nothing: for all but one of the processes that do the work together.
    """

    def __init__(
        self,
        total: int | None,
        unit: str,
        description: str,
        done: int = 0,
        quiet: bool = False,
    ) -> None:
        self.total, self.unit, self.description = total, unit, description
        self.done = self._before = done
        self._shown = ""
        self._terminal = sys.stderr.isatty()
        self._interval = 0.2 if self._terminal else LOG_INTERVAL
        self._width = 0
        self._quiet = quiet

    def __enter__(self) -> Self:
        self._start = self._last = time.monotonic()
        return self

    def advance(self, n: int = 1, **shown: object) -> None:
        """Counts ``n`` units more; ``shown`` are values to print behind the rate (loss=0.0123)."""
        self.done += n
        if shown:
            self._shown = "".join(f"  {key} {value}" for key, value in shown.items())
        now = time.monotonic()
        if now - self._last >= self._interval:
            self._last = now
            self._print(now)

    def found(self, n: int) -> None:
        """``n`` of the units that are counted were done earlier: they don't count for the rate."""
        self._before += n

    def _line(self, now: float) -> str:
        seconds = max(now - self._start, 1e-9)
        rate = max(self.done - self._before, 0) / seconds
        parts = [f"{self.description}: {self.done:,}"]
        if self.total is not None:
            parts.append(f"/{self.total:,} {self.unit} ({self.done / max(self.total, 1):.0%})")
        else:
            parts.append(f" {self.unit}")
        parts.append(f"  {rate:,.0f}/s" if rate >= 10 else f"  {rate:.2f}/s")
        if self.total is not None and rate > 0 and self.done < self.total:
            parts.append(f"  ETA {timedelta(seconds=round((self.total - self.done) / rate))}")
        return "".join(parts) + self._shown

    def _print(self, now: float) -> None:
        if self._quiet:
            return
        line = self._line(now)
        if self._terminal:
            print("\r" + line.ljust(self._width), end="", file=sys.stderr, flush=True)
            self._width = len(line)
        else:
            print(line, file=sys.stderr, flush=True)

    def __exit__(self, *error: object) -> None:
        self._print(time.monotonic())
        if self._terminal and not self._quiet:
            print(file=sys.stderr)
