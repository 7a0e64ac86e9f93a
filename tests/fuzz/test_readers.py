"""Files of every kind, damaged at random: each is refused in one line or read, and nothing crashes.

A few of each kind here; ``NNUELAB_FUZZ=COUNT`` asks for more, ``NNUELAB_FUZZ_SEED`` for others.
"""

from __future__ import annotations

import gzip
import itertools
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nnuelab.data import formats
from nnuelab.nnue import bullet
from nnuelab.nnue.netfile import read_net, write_nn
from nnuelab.policy.policyfile import write_policy
from tests import report_results
from tests.fuzz.readers import READERS
from tests.policy.policies import random_policy

ROOT = Path(__file__).parents[2]
COUNT = int(os.environ.get("NNUELAB_FUZZ", 40))
SEED = int(os.environ.get("NNUELAB_FUZZ_SEED", 1))
MOST_MB = 1000

PLAYERS = """
players:
  net: {net: default, nodes: 100}
  old: {net: default, movetime: 50}
  material: {baseline: material}
"""
SETTINGS = """
experiments:
  axis: {feature_sets: [ALL, H+V], seeds: [1, 2], anchor: ALL}
sample: {min_ply: 20, per_game: 2}
tournament: {nodes: 200, games_per_pairing: 10}
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound file of each kind."""
    made = report_results.make(tmp_path_factory.mktemp("project"))
    folder = tmp_path_factory.mktemp("corpus")
    dataset = made / "data/validation.npy"
    net = made / "nets/ALL/1/net.nnue"
    for suffix in (".binpack", ".bf", ".plain", ".epd", ".fen", ".csv"):
        name = "a.positions.csv" if suffix == ".csv" else f"a{suffix}"
        formats.convert(dataset, folder / name, 10**9)
    sources = {
        "a.npy": dataset,
        "a.nnue": net,
        "a.pgn": made / "tournament/axis.pgn",
        "a.table.csv": made / "axis_table.csv",
        "a.history.csv": net.with_name("history.csv"),
        "a.json": net.with_name("verify.json"),
        "a.evaluation.yaml": ROOT / "resources/evaluations/material.yaml",
    }
    for name, source in sources.items():
        shutil.copy(source, folder / name)
    write_nn(folder / "a.nn", read_net(net))
    bullet.write(folder / "a.bin", read_net(net))
    write_policy(folder / "a.policy", random_policy(sizes=(8,)))
    with gzip.open(ROOT / "resources/embedded/puzzles.csv.gz", "rt") as file:
        (folder / "a.puzzles.csv").write_text("".join(itertools.islice(file, 50)))
    (folder / "a.players.yaml").write_text(PLAYERS)
    (folder / "a.settings.yaml").write_text(SETTINGS)
    return folder


@pytest.fixture(scope="module")
def told(corpus: Path) -> dict[str, dict[str, Any]]:
    """What came of the damaged files, by kind; all in one process, which a crash would end."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.readers", str(corpus), str(SEED), str(COUNT)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stderr[-3000:]}; see {corpus}"
    return {row["kind"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.mark.parametrize("kind", READERS)
def test_damaged_files_are_refused_or_read(
    corpus: Path, told: dict[str, dict[str, Any]], kind: str
) -> None:
    row = told[kind]
    assert row["findings"] == [], f"see {corpus}"
    assert row["grown_mb"] < MOST_MB
    assert row["refused"] + row["read"] >= COUNT
