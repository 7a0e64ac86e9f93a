"""``nnuelab features new``: what it writes works, and nothing is overwritten."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nnuelab.errors import UserError
from nnuelab.features import new_block


def test_a_new_block_passes_its_test_until_it_is_broken(tmp_path: Path) -> None:
    block, test = new_block.create("outer_ring", tmp_path / "blocks")
    assert (block.name, test.name) == ("outer_ring.py", "test_outer_ring.py")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(test)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    block.write_text(block.read_text().replace("min(", "max("))
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert "test_a_position" in done.stdout


@pytest.mark.parametrize(
    ("name", "reason"),
    [("all", "taken"), ("2RINGS", "no name"), ("../x", "no name"), ("RING", "there already")],
)
def test_what_cannot_be_made_is_refused(name: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "test_ring.py").write_text("mine")
    with pytest.raises(UserError, match=reason):
        new_block.create(name, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["test_ring.py"]
