"""A stage that is killed at any moment and run again gives the same bytes, and leaves nothing."""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import time

import pytest

from nnuelab.data import pgn
from tests.test_data_download import CHECKSUM, server  # noqa: F401 (a fixture)

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


def _duration(arguments: list[str]) -> float:
    start = time.monotonic()
    subprocess.run([sys.executable, "-m", "nnuelab.cli", *arguments], check=True)
    return time.monotonic() - start


@pytest.mark.slow
def test_a_killed_sample_is_made_again(shared, tmp_path) -> None:
    games = tmp_path / "games.pgn"
    texts = list(pgn.texts(shared / "data/games/fixture_evals_200.pgn"))
    games.write_bytes(b"\n".join(texts) * 40)
    whole, killed = tmp_path / "whole/s.npy", tmp_path / "killed/s.npy"
    options = ["--report", str(killed.with_name("r.json"))]
    seconds = _duration(["sample", str(games), "--output", str(whole)])
    _run_killed(["sample", str(games), "--output", str(killed), *options], seconds)
    assert killed.read_bytes() == whole.read_bytes()
    found = sorted(path.name for path in killed.parent.iterdir())
    assert found == ["r.json", "s.npy", "s.npy.json"]


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
