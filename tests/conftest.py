"""Fixtures that every room's tests share."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

# No test fails on time: the first example of a property may compile a kernel.
settings.register_profile("nnuelab", deadline=None)
settings.load_profile("nnuelab")

ROOT = Path(__file__).resolve().parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The file that takes longest comes first, so that no process waits for it at the end."""
    items.sort(key=lambda item: item.path.parts[-2:] != ("workflow", "test_chain.py"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real games, suites and reference outputs beside the project, or a skip."""
    for place in (ROOT.parent / "shared", ROOT / "shared"):
        if (place / "data" / "README.md").is_file():
            return place
    pytest.skip("the folder ../shared with test data is not here")
