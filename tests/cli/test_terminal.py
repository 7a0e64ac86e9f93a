"""How a run looks: its jobs on a terminal, plain words in a pipe, silence where it is asked for."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest

SNAKEFILE = """
rule count:
    output:
        "counted",
    log:
        "logs/count.log",
    message:
        "Counting things; progress in {log}"
    shell:
        "PYTHON count.py {output} > {log} 2>&1"
"""
COUNT = """
import sys, time
from nnuelab import progress

progress.LOG_INTERVAL = 0.2
with progress.Progress(40, "things", "count") as counted:
    for _ in range(40):
        time.sleep(0.1)
        counted.advance()
if FAILS:
    sys.exit("count: error: one was missing")
open(sys.argv[1], "w").close()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "Snakefile").write_text(SNAKEFILE.replace("PYTHON", sys.executable))
    (tmp_path / "count.py").write_text(COUNT.replace("FAILS", "False"))
    return tmp_path


def command(*options: str) -> list[str]:
    snakemake = str(Path(sys.executable).with_name("snakemake"))
    return [snakemake, "--cores", "1", "--show-failed-logs", "--logger", "nnuelab", *options]


def piped(folder: Path, *options: str, status: int = 0) -> str:
    """What a run prints where nobody looks."""
    done = subprocess.run(
        command(*options),
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == status, done.stdout
    return done.stdout


def shown(folder: Path, *options: str, status: int = 0) -> str:
    """All that a run writes to a terminal of 100 columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"}
    process = subprocess.Popen(
        command(*options), cwd=folder, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    parts = []
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux' end of a terminal
            break
        if not part:
            break
        parts.append(part)
    os.close(ours)
    assert process.wait() == status
    return b"".join(parts).decode()


def test_a_terminal_shows_what_runs_with_progress_and_eta(folder: Path) -> None:
    text = shown(folder)
    plain = re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", text)
    assert re.search(r"Counting things +0:00:0\d +\d+/40 things \(\d+%\) .*/s +ETA 0:00:0\d", plain)
    assert "1/1 jobs" in plain
    # Nothing of it stays, and the cursor is back.
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h") > 0


def test_a_job_that_fails_shows_its_log_and_leaves_the_cursor(folder: Path) -> None:
    (folder / "count.py").write_text(COUNT.replace("FAILS", "True"))
    text = shown(folder, status=1)
    assert "one was missing" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")


def test_a_pipe_gets_words_without_escape_codes(folder: Path) -> None:
    text = piped(folder)
    assert "Counting things" in text
    assert "1/1 jobs: count" in text
    assert not re.search(r"[\x1b\r]", text + (folder / "logs/count.log").read_text())


def test_a_terminal_can_be_plain(folder: Path) -> None:
    assert "\x1b" not in shown(folder, "--nocolor")


def test_quiet_says_nothing_but_errors(folder: Path) -> None:
    assert "Counting" not in piped(folder, "--quiet")
    (folder / "counted").unlink()
    assert piped(folder, "--quiet", "all") == ""
    (folder / "counted").unlink()
    assert "\x1b[?25l" not in shown(folder, "--quiet", "all")
    (folder / "counted").unlink()
    (folder / "count.py").write_text(COUNT.replace("FAILS", "True"))
    assert "one was missing" in piped(folder, "--quiet", status=1)
    assert piped(folder, "--quiet", "all", status=1) == ""


def test_a_dry_run_is_snakemakes(folder: Path) -> None:
    assert "This was a dry-run" in piped(folder, "-n")
    assert "\x1b[?25l" not in shown(folder, "-n")
