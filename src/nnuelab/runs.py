"""A run of the workflow: its jobs, how far each is, and a journal of them from which others see it.

Whoever runs Snakemake (its logger plugin) and whoever watches from outside (`nnuelab serve`) replay
the same entries, JSON objects each with the time ``at``:

* ``run``: ``jobs``, the number of jobs by rule and as "total", ``cores``, ``usual`` core-seconds;
* ``job``: ``id``, ``rule``, ``what`` it does, ``log``, ``output``, ``threads`` of one that begins;
* ``finished`` and ``failed``: its ``id``.
"""

from __future__ import annotations

import fcntl
import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from nnuelab.artifacts import logs_of
from nnuelab.eta import Eta

TAIL = 1000  # bytes at the end of a log that surely hold its last line
PROGRESS = re.compile(r".*: ([\d,]+.* [\d,.]+/s.*)")
SHARE = re.compile(r"\((\d+)%\)")

Entry = Mapping[str, Any]


def journal_of(results: Path | str) -> Path:
    """Where the last run is told, by the folder of its results.

    >>> str(journal_of("results-tiny"))
    'logs-tiny/workflow.jsonl'
    """
    return logs_of(results) / "workflow.jsonl"


@dataclass
class Job:
    """A job that runs, or ran.

    Attributes
    ----------
    what : str
        In words; empty for what only collects others.
    log : Path or None
    output : list of Path
    start : float
        Seconds since 1970; so is ``end``, None while it runs.
    """

    rule: str
    what: str
    log: Path | None
    output: list[Path]
    threads: int
    start: float
    end: float | None = None
    has_failed: bool = False

    @property
    def seconds(self) -> float:
        """How long it took, or has run; never less than 0, though clocks are set back."""
        return max((time.time() if self.end is None else self.end) - self.start, 0.0)

    def tail(self, size: int = TAIL) -> list[str]:
        """The last lines of its log, of this run; at most ``size`` bytes."""
        if self.log is None:
            return []
        try:
            written = self.log.stat()
            with self.log.open("rb") as file:
                file.seek(max(written.st_size - size, 0))
                lines = file.read(size).decode(errors="replace").splitlines()
        except (OSError, ValueError):  # not there yet, or no name of a file
            return []
        return lines if written.st_mtime >= int(self.start) else []

    def progress(self) -> str:
        """How far it is, where its log says so, as `nnuelab.progress.Progress` writes it."""
        lines = self.tail()
        found = PROGRESS.fullmatch(lines[-1]) if lines else None
        return found[1] if found else ""

    def share(self) -> float | None:
        """The same as a share of the whole, if known."""
        found = SHARE.search(self.progress())
        return int(found[1]) / 100 if found else None


class Run:
    """The jobs of a run, by what was told of them.

    Parameters
    ----------
    place : callable
        The path of a file that an entry names; None for one that isn't looked at.

    Attributes
    ----------
    eta : Eta
    jobs : dict of int to Job
        By number, those that have begun.
    start, last : float
        When it began, and when something was told last; seconds since 1970, 0 before the first.
    """

    def __init__(self, place: Callable[[str], Path | None] = Path) -> None:
        self.eta = Eta()
        self.jobs: dict[int, Job] = {}
        self.start = self.last = 0.0
        self._place = place

    def take(self, entry: Entry) -> None:
        """What was told; ValueError, TypeError or LookupError, and no change, where it is none."""
        event, at = entry["event"], _finite(entry["at"])
        if event == "run":
            usual = {str(rule): _finite(cost) for rule, cost in dict(entry["usual"]).items()}
            eta = Eta(usual)
            eta.plan({str(rule): int(n) for rule, n in dict(entry["jobs"]).items()})
            eta.cores = max(int(entry["cores"]), 1)
            self.eta, self.jobs, self.start = eta, {}, at
        elif event == "job":
            names = [str(name) for name in entry["output"]]
            self.jobs[int(entry["id"])] = Job(
                str(entry["rule"]),
                str(entry["what"]),
                self._place(str(entry["log"])) if entry["log"] else None,
                [path for path in map(self._place, names) if path is not None],
                max(int(entry["threads"]), 1),
                at,
            )
        elif event not in ("finished", "failed"):
            raise ValueError(event)
        elif (job := self.jobs.get(int(entry["id"]))) is not None and job.end is None:
            job.end = at
            job.has_failed = event == "failed"
            if not job.has_failed:
                self.eta.finish(job.rule, job.seconds * job.threads)
        self.last = at

    @property
    def running(self) -> list[Job]:
        """Jobs that have begun and not ended."""
        return [job for job in list(self.jobs.values()) if job.end is None]  # others add meanwhile

    @property
    def failed(self) -> list[Job]:
        """Jobs that have failed, and were not tried again."""
        return [job for job in self.jobs.values() if job.has_failed]

    def left(self) -> float:
        """Seconds until all jobs are done: an estimate."""
        return self.eta.left(
            (job.rule, job.seconds * job.threads, job.share()) for job in self.running
        )


class Journal:
    """A run's entries on disk, locked as long as its process lives; it is never in the run's way.

    It replaces the journal of the run before, with its first entry in it. What can't be written (a
    full disk, a folder that is read-only) is left out.

    Parameters
    ----------
    path : Path
    first : Entry
    """

    def __init__(self, path: Path, first: Entry) -> None:
        self._file: BinaryIO | None = None
        self._end = 0
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            new = path.with_name(f"{path.name}.new")
            self._file = open(new, "wb", buffering=0)  # noqa: SIM115 (open as long as the run)
            with suppress(OSError):  # a file system without locks
                # Before others see the file. The kernel lets go of it, however the process ends.
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.add(first)
            os.replace(new, path)

    def add(self, entry: Entry) -> None:
        """Writes an entry, whole or not at all."""
        if self._file is None:
            return
        line = (json.dumps(entry) + "\n").encode()
        try:
            if self._file.write(line) != len(line):
                raise OSError("cut off")
            self._end += len(line)
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._end)
                self._file.seek(self._end)

    def close(self) -> None:
        """The run is over."""
        if self._file is not None:
            self._file.close()
            self._file = None


def replay(path: Path, run: Run) -> bool:
    """Tells a run what its journal has; lines that are none are left out.

    Returns
    -------
    bool
        Whether the process that writes it is alive; True where the file system has no locks.

    Raises
    ------
    OSError
        When there is no journal, or it can't be read.
    """
    with open(path, "rb") as file:
        # First: what is told after this belongs to a run that lives.
        alive = _is_locked(file)
        for line in file:
            with suppress(ValueError, TypeError, LookupError, OverflowError, RecursionError):
                run.take(json.loads(line))
    return alive


def _is_locked(file: BinaryIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    fcntl.flock(file, fcntl.LOCK_UN)
    return False


def _finite(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number):
        raise ValueError(f"{value} is no number")
    return number
