"""The settings of params.yaml, as they are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml


@pytest.fixture
def settings() -> dict[str, Any]:
    """To be changed by a test."""
    text = (Path(__file__).resolve().parents[2] / "params.yaml").read_text()
    found: dict[str, Any] = yaml.safe_load(text)
    return found
