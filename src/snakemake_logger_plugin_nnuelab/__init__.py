"""How a run looks: what Snakemake says and, on a terminal, below it the jobs that run now.

Snakemake finds the plugin by the name of this package; `profiles/default` asks for it. The progress
of a job is the last line of its log, as :class:`nnuelab.progress.Progress` writes it.
"""

from __future__ import annotations

import re
import sys
import time
from dataclasses import dataclass, field
from datetime import timedelta
from logging import LogRecord
from pathlib import Path

from rich.console import Console
from rich.live import Live
from rich.table import Table
from rich.text import Text
from snakemake.logging import ColorizingTextHandler, DefaultFilter, DefaultFormatter, get_event
from snakemake.settings.enums import Quietness
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

TAIL = 1000  # bytes at the end of a log that surely hold its last line
PROGRESS = re.compile(r".*: ([\d,]+.* [\d,.]+/s.*)")


@dataclass
class Job:
    """A job that runs now."""

    what: str
    log: Path | None
    start: float = field(default_factory=time.time)

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


class Filter(DefaultFilter):
    """Snakemake's, but ``--quiet`` keeps errors; ``--quiet all`` keeps nothing."""

    def filter(self, record: LogRecord) -> bool:
        failed = get_event(record) in (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR)
        return super().filter(record) or (failed and Quietness.ALL not in self.quiet)


class LogHandler(LogHandlerBase):
    """Prints what Snakemake's own handler prints, and keeps the jobs that run below it."""

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
        self._console = Console(file=stream, highlight=False)
        silent = {Quietness.ALL, Quietness.PROGRESS, Quietness.RULES} & set(settings.quiet or ())
        plain = self._words.nocolor  # by --nocolor, or in a pipe, or on a dumb terminal
        self._shows_jobs = not (plain or settings.dryrun or silent)
        self._running: dict[int, Job] = {}
        self._live: Live | None = None

    def emit(self, record: LogRecord) -> None:
        if not self._shows_jobs:
            self._words.emit(record)
            return
        # The words scroll by above what is redrawn.
        self._hide()
        self._words.emit(record)
        event = get_event(record)
        told = vars(record)
        if event == LogEvent.JOB_INFO:
            what = (told["rule_msg"] or told["rule_name"]).partition("; progress in ")[0]
            log = Path(told["log"][0]) if told["log"] else None
            self._running[told["jobid"]] = Job(what, log)
        elif event == LogEvent.JOB_FINISHED:
            self._running.pop(told["job_id"], None)
        elif event == LogEvent.JOB_ERROR:
            self._running.pop(told["jobid"], None)
        self._show()

    def close(self) -> None:
        self._hide()
        super().close()

    def _show(self) -> None:
        if self._running:
            self._live = Live(
                get_renderable=self._jobs,
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

    def _jobs(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for job in list(self._running.values()):
            spent = timedelta(seconds=int(time.time() - job.start))
            table.add_row(Text(job.what, style="bold"), str(spent), job.progress())
        return table
