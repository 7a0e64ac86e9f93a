"""A net for the engine that talks UCI."""

from __future__ import annotations

from pathlib import Path

import pytest

from nnuelab.nnue.netfile import write_net
from tests.naive.engine import material_net


@pytest.fixture(scope="module")
def net(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("nets") / "material.nnue"
    write_net(path, material_net(noise=3))
    return path
