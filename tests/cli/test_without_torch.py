"""What works without torch, and that the rest says in one line that it needs it."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from nnuelab.cli.app import OWN_BOOK
from nnuelab.policy.policyfile import write_policy
from tests.policy.policies import random_policy
from tests.report_results import make

NETS = "results/nets/ALL/1/net.nnue", "results/nets/ALL/2/net.nnue"
POSITIONS = "results/data/validation.npy"
WORKING = {
    "uci": "uci",
    "eval": f"eval --net {NETS[0]} --fen '4k3/8/8/8/8/8/4P3/4K3 w - - 0 1'",
    "tournament": f"tournament A={NETS[0]} B={NETS[1]} --book {OWN_BOOK} --games-per-pairing 2 "
    "--nodes 20 --workers 2 --output games.pgn",
    "rate": "rate results/tournament/axis.pgn --csv ratings.csv --details details.json",
    "features check": "features check ALL",
    "export": f"export {NETS[0]} code --games 1",
    "check-engine": f"check-engine ./engine --net {NETS[0]} --games 1",
    "inspect a net": f"inspect {NETS[0]}",
    "inspect a table": "inspect results/axis_table.csv",
    "report": "report",
    "net spread": f"net spread {' '.join(NETS)} --positions {POSITIONS}",
    "policy evaluate": f"policy evaluate net.policy --positions {POSITIONS} --csv metrics.csv",
}
DATA = f"--train {POSITIONS} --validation {POSITIONS}"
RUN = "--checkpoint checkpoint.pt --history history.csv"
NEEDING = {
    "train": f"train --features ALL {DATA} {RUN}",
    "search": f"search {DATA} --output found --hours 0.01",
    "policy train": f"policy train --features ALL {DATA} {RUN} --output trained.policy",
    "policy selfplay": "policy selfplay seed --output seed.policy",
    "inspect a checkpoint": "inspect old.pt",
    "pqr": f"pqr {' '.join(NETS)} --positions {POSITIONS}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results without checkpoints, and a module that stands for a torch that isn't there."""
    root = tmp_path_factory.mktemp("without")
    make(root)
    write_policy(root / "net.policy", random_policy())
    (root / "old.pt").write_bytes(b"made elsewhere")
    command = f"{sys.executable} -m nnuelab.cli uci --net {NETS[0]}"
    (root / "engine").write_text(f"#!/bin/sh\nexec {command}\n")
    (root / "engine").chmod(0o755)
    (root / "blocked").mkdir()
    (root / "blocked" / "torch.py").write_text(
        "raise ModuleNotFoundError(\"No module named 'torch'\", name='torch')\n"
    )
    return root


def called(folder: Path, words: str, blocked: str = "blocked") -> subprocess.CompletedProcess[str]:
    """A command, and whatever it starts, without torch."""
    path = f"{folder / blocked}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"
    return subprocess.run(
        [sys.executable, "-m", "nnuelab.cli", *shlex.split(words)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        input="position startpos\ngo nodes 1000\nquit\n",
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("command", WORKING)
def test_it_works_without_torch(folder: Path, command: str) -> None:
    done = called(folder, WORKING[command])
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", NEEDING)
def test_what_needs_torch_says_so(folder: Path, command: str) -> None:
    done = called(folder, NEEDING[command])
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "needs torch" in line
    assert "pip install 'nnuelab[train]'" in line


def test_a_broken_torch_is_told_likewise(folder: Path) -> None:
    (folder / "broken/torch").mkdir(parents=True)
    (folder / "broken/torch/__init__.py").write_text("import nowhere\n")
    done = called(folder, NEEDING["train"], "broken")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert "needs torch (No module named 'nowhere')" in line
    doctor = called(folder, "doctor", "broken")
    assert "unknown without torch" in doctor.stdout
