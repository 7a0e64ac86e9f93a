"""The kernels against their twins in C, as the benchmark compiles them."""

from __future__ import annotations

import shutil

import pytest

from benchmarks import kernels
from nnuelab.build import SIMD


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernels, "ROUNDS", 1)
    monkeypatch.setattr(kernels, "CALLS", 2)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compile the C kernels")
@pytest.mark.skipif(SIMD == "portable", reason="the C kernels are for x86 with AVX2")
def test_the_kernels_give_what_those_in_c_give() -> None:
    """Accumulators and the sum of all values are compared before anything is printed."""
    rows = list(kernels.rows())
    kinds = [row["name"].split()[0] for row in rows]
    assert kinds == ["update", "update", "refresh", "forward", "forward"]
    assert all(row["ratio"] > 0 for row in rows)


def test_without_a_compiler_the_kernels_are_measured_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert [row["reference"] for row in kernels.rows()] == [None] * 5
