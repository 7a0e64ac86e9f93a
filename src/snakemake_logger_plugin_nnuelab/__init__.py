"""How a run looks: on a terminal one live screen, elsewhere a line where a job begins or ends.

Snakemake finds the plugin by the name of this package; `profiles/default` asks for it. Dry runs,
``--verbose`` and the log of Snakemake have all of its own words. The progress of a job is the last
line of its log, as :class:`nnuelab.progress.Progress` writes it.
"""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, field
from datetime import timedelta
from difflib import get_close_matches
from logging import INFO, LogRecord
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter, get_event
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_nnuelab.eta import Eta

TAIL = 1000  # bytes at the end of a log that surely hold its last line
PROGRESS = re.compile(r".*: ([\d,]+.* [\d,.]+/s.*)")
SHARE = re.compile(r"\((\d+)%\)")
# What Snakemake says of every run
USUAL = (
    *("Assuming unrestricted", "Building DAG", "Using shell", "Conda environments", "Select jobs"),
    *("Complete log", "Elapsed time"),
)
UNKNOWN = re.compile(r"No rule to produce (.*) \(if you use input functions")
targets: dict[str, str] = {}
"""Targets by what they may be called: the workflow fills it for those who misspell one."""
EVENTS = (LogEvent.RESOURCES_INFO, LogEvent.JOB_STARTED, LogEvent.SHELLCMD, LogEvent.PROGRESS)


@dataclass
class Job:
    """A job that runs now."""

    rule: str
    what: str
    log: Path | None
    threads: int
    start: float = field(default_factory=time.time)

    @property
    def seconds(self) -> float:
        """For how long it runs."""
        return time.time() - self.start

    def progress(self) -> str:
        """How far it is, where its log says so."""
        if self.log is None:
            return ""
        try:
            written = self.log.stat()
            with self.log.open("rb") as file:
                file.seek(max(written.st_size - TAIL, 0))
                lines = file.read().decode(errors="replace").splitlines()
        except OSError:  # not there yet
            return ""
        if written.st_mtime < int(self.start):  # of an earlier run
            return ""
        found = PROGRESS.fullmatch(lines[-1]) if lines else None
        return found[1] if found else ""

    def share(self) -> float | None:
        """The same as a share of the whole, if known."""
        found = SHARE.search(self.progress())
        return int(found[1]) / 100 if found else None


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
        self._eta = Eta()
        self._running: dict[int, Job] = {}
        self._failed = False
        self._live: Live | None = None

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
            self._eta.plan(told["stats"])
            self._say(f"{self._eta.total} jobs; about {_time(self._eta.left())}")
        elif event == LogEvent.JOB_INFO:
            what, _, log = (told["rule_msg"] or "").partition("; progress in ")
            log = log or (told["log"][0] if told["log"] else "")
            job = Job(told["rule_name"], what, Path(log) if log else None, told["threads"] or 1)
            self._running[told["jobid"]] = job
            if what and not self._is_live:
                self._say(f"{job.rule}: {what}" + (f" ({log})" if log else ""))
        elif event == LogEvent.JOB_FINISHED:
            self._finish(told["job_id"])
        elif event in EVENTS:
            if "cores" in told:
                self._eta.cores = told["cores"]
        elif record.levelno > INFO or self._failed or not record.getMessage().startswith(USUAL):
            # Above what is redrawn.
            self._hide()
            self._words.emit(record)
            if event in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR):
                self._failed = True
                self._running.pop(told.get("jobid", -1), None)
        self._hide() if not self._running else self._show()

    def close(self) -> None:
        self._hide()
        super().close()

    def _finish(self, number: int) -> None:
        job = self._running.pop(number, None)
        if job is None:
            return
        self._eta.finish(job.rule, job.seconds * job.threads)
        if job.what and not self._is_live:
            self._say(f"{self._whole()}: {job.rule}, {_time(job.seconds)}, done")

    def _whole(self) -> str:
        """How far the run is, and when it will be done."""
        running = [
            (job.rule, job.seconds * job.threads, job.share()) for job in self._running.values()
        ]
        left = self._eta.left(running)
        return f"{self._eta.done}/{self._eta.total} jobs" + (f", ETA {_time(left)}" if left else "")

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
        for job in list(self._running.values()):
            if job.what:
                table.add_row(Text(job.what, style="bold"), _time(job.seconds), job.progress())
        table.add_row(Text(self._whole(), style="italic"), _time(self._eta.seconds))
        return table


def _time(seconds: float) -> str:
    return str(timedelta(seconds=int(seconds)))
