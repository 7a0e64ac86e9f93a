"""Command unlock: removes the lock of a killed run."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterator
from pathlib import Path

import typer

from nnuelab.cli.app import app
from nnuelab.errors import UserError

STATE = Path(".snakemake")
JOB = "set -euo pipefail"  # how Snakemake begins the command of a job


@app.command()
def unlock() -> None:
    """Unlock the folder after a killed run; refuse while a run is working there.

    Example: nnuelab unlock

    Example: nnuelab unlock && snakemake results/axis_table.csv
    """
    if not any(STATE.glob("locks/*.lock")):
        return
    host = STATE / "host"  # the workflow writes it
    if host.is_file() and (name := host.read_text()) != platform.node():
        raise UserError(
            f"this folder is locked by a run on {name}; when that is gone: snakemake --unlock"
        )
    for number in _running():
        raise UserError(f"a run works in this folder (process {number}); wait for it, or stop it")
    subprocess.run(["snakemake", "--unlock", "--quiet", "all"], check=True)
    typer.echo("unlocked what a run that was killed has left", err=True)


def _running() -> Iterator[int]:
    """Processes of Snakemake in this folder, and jobs of one that was killed."""
    import psutil

    for process in psutil.process_iter(["pid", "cwd", "cmdline"]):
        words = process.info["cmdline"] or []
        named = any(Path(word).name == "snakemake" for word in words[:3])
        job = any(word.startswith(JOB) for word in words)
        if (named or job) and process.info["cwd"] == str(Path.cwd()):
            yield process.info["pid"]
