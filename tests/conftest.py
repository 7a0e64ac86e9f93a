"""Fixtures that every room's tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import settings

# No test fails on time: the first example of a property may compile a kernel.
settings.register_profile("nnuelab", deadline=None)
settings.load_profile("nnuelab")

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, so that no process waits for one at the end."""
    chains = [("workflow", "test_chain.py"), ("workflow", "test_players.py")]
    items.sort(key=lambda item: item.path.parts[-2:] not in chains)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real games, suites and reference outputs beside the project, or a skip."""
    for place in (ROOT.parent / "shared", ROOT / "shared"):
        if (place / "data" / "README.md").is_file():
            return place
    pytest.skip("the folder ../shared with test data is not here")


def run_checked(program: str, folder: Path) -> None:
    """Runs a program in the build that checks each evaluation against that from scratch."""
    environment = os.environ | {"NNUELAB_CHECKED": "1", "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        check=True,
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""  # where a function that is called by address says what it ran into
