"""What tests of tournaments share."""

from __future__ import annotations

from pathlib import Path

import pytest

from nnuelab.tournament import ordo


@pytest.fixture
def no_ordo(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Nobody's real ordo takes part; a test puts a fake one into the folder that is returned."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    if (found := ordo.installed()) and not found.startswith(str(folder)):
        pytest.skip("an ordo in the system's own folders would take part")
    return folder
