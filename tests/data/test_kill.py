"""A download that is killed at any moment and run again gives the same bytes and leaves nothing."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.data.test_download import CHECKSUM, server  # noqa: F401 (a fixture)

KILLS = 10
FOR = 3.0  # seconds of a download


def _run_killed(arguments: list[str], part: Path) -> None:
    """Kills a command, now and then before it has got anything, then runs it to its end."""
    command = [sys.executable, "-m", "nnuelab.cli", *arguments]
    draw = random.Random(3)
    for kill in range(KILLS):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        had = _size(part)
        while kill % 3 and process.poll() is None and _size(part) == had:
            time.sleep(0.01)
        time.sleep(draw.uniform(0, FOR / KILLS))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@pytest.mark.slow
def test_a_killed_download_is_continued(server, tmp_path) -> None:  # noqa: F811
    mirror, kind = server
    output = tmp_path / "games.pgn.zst"
    rate = f"{len(kind.body) / 1e6 / FOR}"
    _run_killed(
        [
            *("download", "--source", "lichess", "--part", "2013-01", "--max-rate", rate),
            *("--mirror", mirror, "--output", str(output)),
        ],
        output.with_name(f"{output.name}.part"),
    )
    assert hashlib.sha256(output.read_bytes()).hexdigest() == CHECKSUM
    assert sorted(p.name for p in tmp_path.iterdir()) == ["games.pgn.zst", "games.pgn.zst.json"]
    assert any(asked for asked in kind.asked)  # a run went on where another was killed
