"""Files of every kind, damaged at random: each is refused in one line or read, and nothing crashes.

A few of each kind here; ``NNUELAB_FUZZ=COUNT`` asks for more, ``NNUELAB_FUZZ_SEED`` for others. The
slow test goes on for ``NNUELAB_FUZZ_MINUTES`` (60), as ``python -m tests.fuzz.storm MINUTES`` does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nnuelab.errors import UserError
from nnuelab.hce import checkpoint
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.quantize import quantize
from tests.fuzz import corpus
from tests.fuzz.readers import KINDS, MOST_MB
from tests.fuzz.storm import SEED, storm, tried

COUNT = int(os.environ.get("NNUELAB_FUZZ", 8))
MINUTES = float(os.environ.get("NNUELAB_FUZZ_MINUTES", 60))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of sound files."""
    folder = tmp_path_factory.mktemp("corpus")
    corpus.make(folder, tmp_path_factory.mktemp("project"))
    return folder


def test_every_kind_has_a_sound_file(sound: Path) -> None:
    assert [kind for kind in KINDS if not list(sound.glob(f"*.{kind}"))] == []


def test_guided_files_are_refused_or_read(tmp_path: Path) -> None:
    pytest.importorskip("atheris")
    command = [sys.executable, "-m", "tests.fuzz.guided", "epd", tmp_path / "epd", "-runs=200"]
    subprocess.run(command, check=True, capture_output=True)
    assert len(list((tmp_path / "epd").iterdir())) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files_are_refused_or_read(sound: Path, kind: str) -> None:
    told = tried(sound, kind, SEED, 1, COUNT + 1)
    assert told.findings == [], f"see {sound}"
    assert told.grown_mb < MOST_MB
    assert told.files == COUNT


@pytest.mark.parametrize(
    "lie",
    [
        {"shifts": "ALL"},
        {"activations": torch.zeros(0)},
        {"feature_set": True},
        {"feature_set": "ALL"},
        {"blocks": "x"},
        {"model": {}},
        {"model": {"w1": 1}},
    ],
)
def test_a_checkpoint_that_lies_is_refused(
    sound: Path, tmp_path: Path, lie: dict[str, Any]
) -> None:
    path = tmp_path / "lies.pt"
    replace(Checkpoint.load(sound / "a.net.pt"), **lie).write(path)  # with the right checksum
    with pytest.raises(UserError):
        quantize(Checkpoint.read(path))


@pytest.mark.parametrize("header", [b"{'descr': '<f8'(", b"\0"])
def test_a_broken_header_in_a_checkpoint_of_tuning_is_refused(
    tmp_path: Path, header: bytes
) -> None:
    path = tmp_path / "tuning.partial"
    checkpoint.write(path, {}, {"weights": np.arange(9.0)})
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    start = members["weights.npy"][:10]
    members["weights.npy"] = start + header + members["weights.npy"][10 + len(header) :]
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    with pytest.raises(UserError, match="can't be read"):
        checkpoint.read(path, {})


@pytest.mark.slow
def test_a_storm_of_damaged_files(tmp_path: Path) -> None:
    told = storm(tmp_path, 60 * MINUTES, SEED, list(KINDS))
    assert {kind: row.findings for kind, row in told.items() if row.findings} == {}
    assert max(row.grown_mb for row in told.values()) < MOST_MB
