"""nnuelab doctor: what is there, what is missing, and the remedy."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shutil
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from nnuelab import __version__, build
from nnuelab.cli import doctor as _doctor  # noqa: F401 (registers it)
from nnuelab.cli.app import app
from nnuelab.report import machine


def call(*words: str) -> Result:
    return CliRunner().invoke(app, ["doctor", *words])


def found(*words: str) -> dict[str, Any]:
    lines = map(json.loads, call("--json", *words).stdout.splitlines())
    return {line["name"]: line for line in lines}


def test_what_is_there_is_told_as_it_is() -> None:
    told = found()
    assert __version__ in told["python"]["found"]
    for name in machine.PACKAGES:
        assert told[name]["found"] == importlib.metadata.version(name)
    assert build.SIMD in told["cpu"]["found"]
    assert told["cores"]["found"].startswith(f"{len(os.sched_getaffinity(0))}, load")
    assert told["kernels"]["found"].endswith(str(build.kernels_of(Path(build.__file__)).parent))
    for name in ("cc", "make", "ordo"):
        assert (told[name]["verdict"] == "ok") == bool(shutil.which(name))
    assert call().exit_code == 0


def test_a_missing_package_is_needed_and_has_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version

    def without_torch(name: str) -> str:
        if name == "torch":
            raise importlib.metadata.PackageNotFoundError
        return version(name)

    monkeypatch.setattr(importlib.metadata, "version", without_torch)
    assert found()["torch"] == {
        "name": "torch",
        "found": "not installed; trains nets",
        "verdict": "needed",
        "remedy": "./run --setup, or pip install 'nnuelab[train]'",
    }
    done = call()
    assert done.exit_code == 1
    lines = done.stdout.splitlines()
    place = lines.index("needed torch         not installed; trains nets")
    assert lines[place + 1].strip() == "./run --setup, or pip install 'nnuelab[train]'"


def test_what_makes_it_slow_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(build, "SIMD", "portable")
    monkeypatch.setattr(os, "getloadavg", lambda: (99.0, 0, 0))
    monkeypatch.setattr(build, "kernels_of", lambda file: tmp_path / "none" / "jit-0")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=9))
    told = found()
    slow = {name for name, line in told.items() if line["verdict"] == "slow"}
    assert slow >= {"cpu", "cores", "kernels", "disk"}
    assert all(told[name]["remedy"] for name in slow)
    assert call().exit_code == 0


def test_the_version_is_told() -> None:
    assert CliRunner().invoke(app, ["--version"]).stdout == f"nnuelab {__version__}\n"
