"""How a run looks: on a terminal one live screen, elsewhere a line where a job begins or ends.

Snakemake finds the plugin by the name of this package; `profiles/default` asks for it. Dry runs,
``--verbose`` and the log of Snakemake have all of its own words. What a run tells of its jobs goes
to a journal, too (:mod:`nnuelab.runs`), which `nnuelab serve` shows.
"""

from __future__ import annotations

import re
import sys
import time
from datetime import timedelta
from difflib import get_close_matches
from logging import INFO, LogRecord
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter, get_event
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from nnuelab import eta
from nnuelab.runs import Entry, Job, Journal, Run

# What Snakemake says of every run
USUAL = (
    *("Assuming unrestricted", "Building DAG", "Using shell", "Conda environments", "Select jobs"),
    *("Complete log", "Elapsed time"),
)
UNKNOWN = re.compile(r"No rule to produce (.*) \(if you use input functions")
targets: dict[str, str] = {}
"""Targets by what they may be called: the workflow fills it for those who misspell one."""
journal: Path | None = None
"""Where runs are told; the workflow says it."""
EVENTS = (LogEvent.RESOURCES_INFO, LogEvent.JOB_STARTED, LogEvent.SHELLCMD, LogEvent.PROGRESS)


class Filter(DefaultFilter):
    """Snakemake's, but ``--quiet`` keeps errors; ``--quiet all`` keeps nothing."""

    def filter(self, record: LogRecord) -> bool:
        failed = get_event(record) in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR)
        return super().filter(record) or (failed and Quietness.ALL not in self.quiet)


class LogHandler(LogHandlerBase):
    """Prints errors as Snakemake does, and of all else what somebody who waits wants to know."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = True
    has_formatter = True
    needs_rulegraph = False

    def __post_init__(self) -> None:
        settings = self.common_settings
        stream = sys.stdout if settings.stdout else sys.stderr
        self.addFilter(
            Filter(
                settings.quiet,
                settings.debug_dag,
                settings.verbose,
                settings.dryrun,
                settings.printshellcmds,
            )
        )
        formatter = DefaultFormatter(settings.quiet, settings.show_failed_logs)
        self._words = ColorizingTextHandler(settings.nocolor, stream, formatter)
        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        silent = {Quietness.ALL, Quietness.PROGRESS, Quietness.RULES} & set(settings.quiet or ())
        self._short = not (settings.dryrun or settings.verbose or settings.debug_dag)
        plain = self._words.nocolor  # by --nocolor, or in a pipe, or on a dumb terminal
        self._is_live = self._short and not plain and not silent
        self._run = Run()
        self._cores = 1
        self._journal: Journal | None = None
        self._failed = False
        self._live: Live | None = None

    def handle(self, record: LogRecord) -> bool:
        # Before any filter: a quiet run has a journal, too.
        if not self.common_settings.dryrun and (entry := self._entry(record)):
            if entry["event"] == "run":
                if journal is not None:
                    self._journal = Journal(journal, entry)
            elif self._journal is not None:
                self._journal.add(entry)
            self._run.take(entry)
        return super().handle(record)

    def _entry(self, record: LogRecord) -> Entry | None:
        """What a record tells of the run."""
        event, told = get_event(record), vars(record)
        if event == LogEvent.RESOURCES_INFO:
            self._cores = told.get("cores", self._cores)
        elif event == LogEvent.RUN_INFO:
            usual = {rule: eta.USUAL[rule] for rule in told["stats"] if rule in eta.USUAL}
            return _told("run", jobs=told["stats"], cores=self._cores, usual=usual)
        elif event == LogEvent.JOB_INFO:
            what, _, log = (told["rule_msg"] or "").partition("; progress in ")
            return _told(
                "job",
                id=told["jobid"],
                rule=told["rule_name"],
                what=what,
                log=log or next(iter(told["log"]), ""),
                output=[str(name) for name in told["output"]],
                threads=told["threads"] or 1,
            )
        elif event == LogEvent.JOB_FINISHED:
            return _told("finished", id=told["job_id"])
        elif event == LogEvent.JOB_ERROR:
            return _told("failed", id=told["jobid"])
        return None

    def emit(self, record: LogRecord) -> None:
        if unknown := UNKNOWN.search(record.getMessage()):
            near = get_close_matches(unknown[1], targets, 1)
            hint = f"did you mean {targets[near[0]]}?" if near else "./run --list has them"
            record.msg = f"there is no target {unknown[1]}; {hint}"
        if not self._short:
            self._words.emit(record)
            return
        event, told = get_event(record), vars(record)
        if event == LogEvent.RUN_INFO:
            self._say(f"{self._run.eta.total} jobs; about {_time(self._run.left())}")
        elif event == LogEvent.JOB_INFO:
            job = self._run.jobs[told["jobid"]]
            if job.what and not self._is_live:
                self._say(f"{job.rule}: {job.what}" + (f" ({job.log})" if job.log else ""))
        elif event == LogEvent.JOB_FINISHED:
            self._finish(self._run.jobs.get(told["job_id"]))
        elif event in EVENTS:
            pass
        elif record.levelno > INFO or self._failed or not record.getMessage().startswith(USUAL):
            # Above what is redrawn.
            self._hide()
            self._words.emit(record)
            if event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
                self._failed = True
        self._show() if self._run.running else self._hide()

    def close(self) -> None:
        self._hide()
        if self._journal is not None:
            self._journal.close()
        super().close()

    def _finish(self, job: Job | None) -> None:
        if job is not None and job.what and not self._is_live:
            self._say(f"{self._whole()}: {job.rule}, {_time(job.seconds)}, done")

    def _whole(self) -> str:
        """How far the run is, and when it will be done."""
        counted, left = self._run.eta, self._run.left()
        return f"{counted.done}/{counted.total} jobs" + (f", ETA {_time(left)}" if left else "")

    def _say(self, text: str) -> None:
        self._hide()
        self._console.print(Text(f"[{time.strftime('%H:%M:%S')}] {text}"))

    def _show(self) -> None:
        if self._is_live and self._live is None:
            self._live = Live(
                get_renderable=self._screen,
                console=self._console,
                refresh_per_second=2,
                transient=True,
                redirect_stdout=False,
                redirect_stderr=False,
            )
            self._live.start()

    def _hide(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def _screen(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for _ in range(3):
            table.add_column(no_wrap=True)
        for job in self._run.running:
            if job.what:
                table.add_row(Text(job.what, style="bold"), _time(job.seconds), job.progress())
        table.add_row(Text(self._whole(), style="italic"), _time(time.time() - self._run.start))
        return table


def _told(event: str, **more: Any) -> Entry:
    return {"event": event, "at": time.time(), **more}


def _time(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
