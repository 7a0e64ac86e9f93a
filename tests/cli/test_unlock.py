"""What a run that was killed has left is removed; what one that works needs is not."""

from __future__ import annotations

import platform
import shutil
import subprocess

import pytest
from typer.testing import CliRunner

from nnuelab.cli import unlock
from nnuelab.cli.__main__ import application

app = application()
BASH = shutil.which("bash")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder that is locked, and the commands that were called."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".snakemake/locks").mkdir(parents=True)
    (tmp_path / ".snakemake/locks/0.input.lock").touch()
    called = []
    monkeypatch.setattr(unlock.subprocess, "run", lambda words, **more: called.append(words))
    return tmp_path, called


def test_a_lock_without_an_owner_is_removed(folder):
    path, called = folder
    (path / ".snakemake/host").write_text(platform.node())
    done = CliRunner().invoke(app, ["unlock"])
    assert done.exit_code == 0, done.output
    assert [words[:2] for words in called] == [["snakemake", "--unlock"]]


def test_nothing_is_done_without_a_lock(folder):
    path, called = folder
    (path / ".snakemake/locks/0.input.lock").unlink()
    assert CliRunner().invoke(app, ["unlock"]).exit_code == 0
    assert not called


def test_a_lock_of_another_machine_stays(folder):
    path, called = folder
    (path / ".snakemake/host").write_text("elsewhere")
    done = CliRunner().invoke(app, ["unlock"])
    assert done.exit_code == 1
    assert "locked by a run on elsewhere" in done.output
    assert not called


@pytest.mark.parametrize(
    "words",
    [
        ["snakemake", "-c", "read -r line"],
        ["sh", "-c", "set -euo pipefail; read -r line"],
    ],
    ids=["a run", "a job of one that was killed"],
)
def test_a_lock_of_a_run_that_works_stays(folder, words):
    path, called = folder
    with subprocess.Popen(words, executable=BASH, stdin=subprocess.PIPE, cwd=path) as process:
        try:
            done = CliRunner().invoke(app, ["unlock"])
        finally:
            process.kill()
    assert done.exit_code == 1
    assert f"process {process.pid}" in done.output
    assert not called
