"""The tutorial, line by line, in a new clone; ``pytest -m slow -s`` tells the times."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_docs import named, shown

PAGE = ROOT / "docs" / "tutorial.md"
# The environment of these tests serves the clone, too; real work comes last.
LEFT_OUT = (
    "./run --setup",
    ". .venv/bin/activate",
    "nnuelab power",
    "./run --configfile mine.yaml",
)


def lend_environment(folder: Path) -> None:
    """Makes the .venv of these tests that of a folder, so that ``./run`` has nothing to set up."""
    venv = Path(sys.executable).parents[1]
    (folder / ".venv").mkdir()
    for name in ("bin", "lib", "pyvenv.cfg"):
        (folder / ".venv" / name).symlink_to(venv / name)
    stamp = "pwd; cat requirements.lock pyproject.toml .venv/pyvenv.cfg | cksum"
    with open(folder / ".venv/stamp", "w") as file:
        subprocess.run(["sh", "-c", stamp], cwd=folder, stdout=file, check=True)


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone with the environment of these tests."""
    folder = tmp_path / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(folder)], check=True)
    lend_environment(folder)
    return folder


def served(process: subprocess.Popen[str]) -> str:
    """What a server says of itself, and its page; then it is ended."""
    assert process.stdout is not None
    try:
        said = ""
        while not (address := re.search(r"http://\S+", said)):
            said += process.stdout.readline() or pytest.fail(said)
        with urllib.request.urlopen(address[0]) as answer:
            return said + answer.read().decode()
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
def test_every_line_does_what_it_says(clone: Path) -> None:
    for name, text in (named(PAGE) | named(PAGE, "yaml", "yaml")).items():
        (clone / name).write_text(text)
    path = f"{clone / '.venv/bin'}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(clone / "src")}
    printed = {}
    for line, _ in shown(PAGE):
        if line.startswith(LEFT_OUT):
            continue
        start = time.monotonic()
        process = subprocess.Popen(
            ["sh", "-c", f"exec {line}"],
            cwd=clone,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if "serve" in line:
            printed[line] = served(process)
        else:
            printed[line] = process.communicate()[0]
            assert process.returncode == 0, printed[line]
        print(f"{time.monotonic() - start:6.1f} s  {line}")
    said = list(printed.values())
    assert "H+V" in said[0]  # the table
    assert "Elo" in said[1]
    assert (clone / "results-tiny/report.html").is_file()
    assert "<!doctype html>" in said[5]
    assert "incremental" in printed["nnuelab features check RING --blocks rings.py"]
    assert (clone / "results-tiny+mine/axis_table.csv").is_file()
    assert (clone / "results-tiny+mine/report.html").is_file()
    assert ": 0 wrong" in said[-1]
