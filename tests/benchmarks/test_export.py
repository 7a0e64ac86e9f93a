"""The benchmark of exported code."""

from __future__ import annotations

import shutil

import pytest

from benchmarks import export
from nnuelab.errors import UserError
from nnuelab.export import folder


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"ROUNDS": 1, "GAMES": 2, "CALLS": 1}.items():
        monkeypatch.setattr(export, name, value)
    monkeypatch.setattr(export, "SETS", {"ALL+PP_3WIDE": (0.9, 1.0)})


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compile what leaves")
def test_c_gives_what_the_engine_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums of all evaluations are compared before anything is printed."""
    (row,) = export.rows()
    assert row["ratio"] > 0
    other, write = export._net("ALL+PP"), folder.write
    monkeypatch.setattr(folder, "write", lambda place, net, *rest: write(place, other, *rest))
    with pytest.raises(ValueError, match="different values"):
        list(export.rows())


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(UserError, match="install gcc"):
        list(export.rows())
