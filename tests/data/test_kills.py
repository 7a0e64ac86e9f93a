"""Killed at any moment and run again: the same files, and nothing else."""

from __future__ import annotations

import hashlib
import random
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil
import pytest

from nnuelab.data import pgn
from tests.data.test_formats import saved, whole_games
from tests.data.test_labels import distinct, fake_engine

pytestmark = pytest.mark.slow

KILLS = 10


def contents(folder: Path) -> dict[str, str]:
    """SHA-256 of each file, hidden ones too; of provenance, which tells the command, the name."""
    return {
        file.name: "" if file.suffix == ".json" else hashlib.sha256(file.read_bytes()).hexdigest()
        for file in folder.iterdir()
    }


def killed_and_run_again(arguments: list[str], folder: Path, seed: int) -> None:
    command = [sys.executable, "-m", "nnuelab.cli", *arguments]
    whole = folder / "whole"
    for _ in range(2):  # the first run may have to compile
        shutil.rmtree(whole, ignore_errors=True)
        whole.mkdir()
        started = time.monotonic()
        subprocess.run(command, cwd=whole, check=True, capture_output=True)
        seconds = time.monotonic() - started
    draw, again = random.Random(seed), folder / "again"
    again.mkdir()
    for _ in range(KILLS):
        process = subprocess.Popen(command, cwd=again, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0.3, 0.9) * seconds)
        process.kill()
        process.wait()
    subprocess.run(command, cwd=again, check=True, capture_output=True)
    assert contents(again) == contents(whole)
    time.sleep(0.5)
    running = [" ".join(p.info["cmdline"] or []) for p in psutil.process_iter(["cmdline"])]
    assert not [line for line in running if str(folder) in line]


def test_samples(shared: Path, tmp_path: Path) -> None:
    texts = list(pgn.texts(shared / "data/games/fixture_evals_200.pgn"))
    (tmp_path / "games.pgn").write_bytes(b"\n".join(texts) * 40)
    killed_and_run_again(
        [
            *("sample", str(tmp_path / "games.pgn"), "--output", "sampled.npy"),
            *("--report", "report.json", "--plot", "report.svg", "--workers", "2"),
        ],
        tmp_path,
        3,
    )


def test_games(tmp_path: Path) -> None:
    killed_and_run_again(
        [
            *("datagen", "--output", "games.pgn.zst", "--games", "100", "--nodes", "300"),
            *("--workers", "2", "--seed", "3"),
        ],
        tmp_path,
        4,
    )


def test_labels(tmp_path: Path) -> None:
    distinct(tmp_path / "sampled.npy", 240)
    engine = fake_engine(tmp_path, 0.03)
    killed_and_run_again(
        [
            *("label", str(tmp_path / "sampled.npy"), "--labeller", "stockfish"),
            *("--engine", engine, "--depth", "1", "--workers", "2", "--validation-share", "0.3"),
            *("--train", "train.npy", "--validation", "validation.npy"),
            *("--test", "test.npy", "--test-share", "0.2"),
        ],
        tmp_path,
        1,
    )


@pytest.mark.parametrize("suffix", [".binpack", ".jsonl.zst"])
def test_conversions(tmp_path: Path, suffix: str) -> None:
    source = saved(tmp_path / "source.npy", np.tile(whole_games(100), 20))
    killed_and_run_again(["data", "convert", str(source), f"out{suffix}"], tmp_path, 2)
