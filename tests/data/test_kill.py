"""A download that is killed at any moment and run again gives the same bytes and leaves nothing."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import time

import pytest

from tests.data.test_download import CHECKSUM, server  # noqa: F401 (a fixture)

KILLS = 10


def _run_killed(arguments: list[str], seconds: float) -> None:
    """Kills a command at random moments, then runs it to its end."""
    command = [sys.executable, "-m", "nnuelab.cli", *arguments]
    draw = random.Random(3)
    for _ in range(KILLS):
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        time.sleep(draw.uniform(0, seconds))
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


@pytest.mark.slow
def test_a_killed_download_is_continued(server, tmp_path) -> None:  # noqa: F811
    mirror, kind = server
    output = tmp_path / "games.pgn.zst"
    rate = f"{len(kind.body) / 3e6}"  # three seconds
    _run_killed(
        [
            *("download", "--source", "lichess", "--part", "2013-01", "--max-rate", rate),
            *("--mirror", mirror, "--output", str(output)),
        ],
        6.0,
    )
    assert hashlib.sha256(output.read_bytes()).hexdigest() == CHECKSUM
    assert sorted(p.name for p in tmp_path.iterdir()) == ["games.pgn.zst", "games.pgn.zst.json"]
    assert any(asked for asked in kind.asked)  # a run went on where another was killed
