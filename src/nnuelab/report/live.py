"""What a run of the workflow does now, as JSON: its jobs, losses as they fall, games as they end.

All of it is read from files that the run writes anyway, and from its journal (`nnuelab.runs`).
Nothing is written and no lock kept, so watching can't harm a run.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from nnuelab import json_text
from nnuelab.artifacts import logs_of
from nnuelab.data.journal import entry_of
from nnuelab.errors import UserError
from nnuelab.names import labels
from nnuelab.report import reading, searched
from nnuelab.runs import Job, Run, journal_of, replay
from nnuelab.tournament.summary import Summary

PLAYED = (".pgn", ".part")  # outputs of a tournament
LOG_TAIL, LOG_LINES = 4000, 12  # bytes and lines of a failed job's log
POINTS = 100  # of a curve, at most
# What comes of files that hold something else than they should.
UNEXPECTED = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)


class Live:
    """Watches the runs of a folder of results.

    Parameters
    ----------
    results : Path
        Beside it are the logs (`artifacts.logs_of`). Other files that a journal names aren't read.
    """

    def __init__(self, results: Path) -> None:
        self._results = Path(os.path.abspath(results))
        self._lock = threading.Lock()
        self._read: dict[tuple[Path, Callable[[Path], Any]], tuple[tuple[int, int], Any]] = {}
        self._games: dict[Path, _Games] = {}

    @property
    def has_run(self) -> bool:
        """Whether there is a journal."""
        return journal_of(self._results).is_file()

    def state(self) -> dict[str, Any]:
        """What the page shows, as JSON; times in seconds, those of clocks since 1970.

        Its ``state`` is "none" before any run, "running", "done", "failed", or "stopped": killed or
        interrupted. Jobs that began last come first, but for those that run.
        """
        with self._lock:
            run = Run(self._place)
            try:
                alive = replay(journal_of(self._results), run)
            except OSError:
                alive = False
            if not run.start:
                return {"state": "none"}
            return self._told(run, alive)

    def _told(self, run: Run, alive: bool) -> dict[str, Any]:
        now, eta = time.time(), run.eta
        if alive:
            state = "running"
        elif run.failed:
            state = "failed"
        else:
            state = "done" if eta.done >= eta.total else "stopped"
        broken = [*run.failed, *([] if alive else run.running)]
        latest = list(run.jobs.values())[::-1]
        return {
            "state": state,
            "start": run.start,
            "seconds": max((now if alive else run.last) - run.start, 0),
            "done": eta.done,
            "total": eta.total,
            "left": run.left() if alive else None,
            "running": [self._job(job) for job in run.running if alive and job.what],
            "broken": [
                {
                    **self._job(job),
                    "failed": job.has_failed,
                    "tail": job.tail(LOG_TAIL)[-LOG_LINES:],
                }
                for job in broken
            ],
            "losses": [found for job in latest if (found := self._losses(job))],
            "games": [found for job in latest if (found := self._table(job))],
            "searches": [found for job in latest if (found := self._search(job))],
        }

    def _job(self, job: Job) -> dict[str, Any]:
        log = "" if job.log is None else os.path.relpath(job.log, self._results.parent)
        return {
            "what": job.what or job.rule,
            "seconds": max(job.seconds, 0),
            "progress": job.progress(),
            "log": log,
        }

    def _losses(self, job: Job) -> dict[str, Any] | None:
        """The losses of a training by epoch, once there is one."""
        rows = self._cached(_output(job, "history.csv"), _losses)
        return rows and {"what": job.what, **rows}

    def _search(self, job: Job) -> dict[str, Any] | None:
        """How far a search for sets is, and what is best so far on its longest screen."""
        found = self._cached(_output(job, searched.HISTORY), _searched)
        return found and {"what": job.what, **found}

    def _table(self, job: Job) -> dict[str, Any] | None:
        """The table of a tournament: while it is played by the games so far, then by its record."""
        path = _output(job, *PLAYED)
        if path is None or job.has_failed:
            return None
        if job.end is None:
            games = self._games.setdefault(path, _Games(path.with_name(f"{path.name}.partial")))
            players = games.players()
        else:
            self._games.pop(path, None)
            players = self._cached(path.with_name(f"{path.name}.json"), _recorded)
        if not players:
            return None
        return {"what": job.what, "players": players}

    def _place(self, name: str) -> Path | None:
        """A file that a journal names, if it is one of results or logs."""
        path = Path(os.path.normpath(self._results.parent / name))
        folders = self._results, logs_of(self._results)
        return path if any(map(path.is_relative_to, folders)) else None

    def _cached(self, path: Path | None, read: Callable[[Path], Any]) -> Any:
        """What a file says, read again when it has changed; None where there's none to be read."""
        if path is None or not path.is_file():
            return None
        with suppress(OSError, UserError, *UNEXPECTED):
            stat = path.stat()
            version, key = (stat.st_mtime_ns, stat.st_size), (path, read)
            if self._read.get(key, (None,))[0] != version:
                self._read[key] = version, None  # stays, where it isn't what is looked for
                self._read[key] = version, read(path)
            return self._read[key][1]
        return None


def _output(job: Job, *endings: str) -> Path | None:
    return next((path for path in job.output if path.name.endswith(endings)), None)


def _losses(path: Path) -> dict[str, Any] | None:
    rows = reading.read_csv(path, ("epoch", "validation_loss"))
    shown = rows[:: -len(rows) // POINTS]  # the last one is among them
    return {
        "epoch": int(rows[-1]["epoch"]),
        "train": float(rows[-1]["train_loss"]) if rows[-1].get("train_loss") else None,
        "validation": [float(row["validation_loss"]) for row in reversed(shown)],
        "last": float(rows[-1]["validation_loss"]),
    }


def _searched(path: Path) -> dict[str, Any]:
    rows = reading.read_csv(path, searched.NEEDED, texts=searched.TEXTS)
    front = reading.read_csv(path.with_name(searched.FRONT), searched.NEEDED, texts=searched.TEXTS)
    return {
        "sets": len({row["number"] for row in rows}),
        "generations": len({row["generation"] for row in rows}),
        "front": [
            {"name": row["feature_set"], "loss": float(row["loss"]), "cost": float(row["cost"])}
            for row in front
        ],
    }


def _recorded(path: Path) -> list[dict[str, Any]]:
    """The table of a tournament that is over, as its record has it."""
    players = reading.read_record(path)["summary"]["players"]
    return _by_score([{"name": name, **score} for name, score in players.items()])


def _by_score(players: list[dict[str, Any]]) -> list[dict[str, Any]]:
    called = labels([player["name"] for player in players])
    players = [{**player, "name": called[player["name"]]} for player in players]
    return sorted(players, key=lambda player: (-(player["score"] or 0), player["name"]))


class _Games:
    """The table of a tournament that is played, by its journal as far as that is written.

    The tournament has the journal for itself; reading what it has appended needs no lock.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._begin(b"")

    def _begin(self, head: bytes) -> None:
        self._head, self._end = head, len(head)
        self._summary: Summary | None = None
        with suppress(*UNEXPECTED):
            self._summary = Summary([str(name) for name, _ in json_text.load(head)["players"]])

    def players(self) -> list[dict[str, Any]]:
        """Players with their scores so far; none before the first pair of games has ended."""
        try:
            self._go_on()
        except OSError:  # it isn't there yet, or no more
            return []
        if self._summary is None:
            return []
        scores = self._summary.scores.items()
        return _by_score([{"name": name, **score.told()} for name, score in scores])

    def _go_on(self) -> None:
        with open(self._path, "rb") as file:
            head = file.readline()
            if head != self._head or os.fstat(file.fileno()).st_size < self._end:
                self._begin(head if head.endswith(b"\n") else b"")
            if self._summary is None:
                return
            file.seek(self._end)
            for line in file:
                if not line.endswith(b"\n"):  # being written
                    return
                self._end += len(line)
                with suppress(*UNEXPECTED):
                    self._summary.add(entry_of(line)["outcome"])
