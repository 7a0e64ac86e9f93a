"""The kernels against their twins in C, as the benchmark compiles them."""

from __future__ import annotations

import shutil

import pytest

from nnuelab.engine import bench
from nnuelab.jit import SIMD
from nnuelab.nnue import kernel_bench


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no gcc to compile the C kernels")
@pytest.mark.skipif(SIMD == "portable", reason="the C kernels are for x86 with AVX2")
def test_the_kernels_give_what_those_in_c_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accumulators and the sum of all values are compared before anything is printed."""
    monkeypatch.setattr(kernel_bench, "ROUNDS", 1)
    monkeypatch.setattr(kernel_bench, "CALLS", 2)
    rows = bench.kernel_rows()
    assert [row["name"].split()[0] for row in rows] == ["update", "update", "refresh", "forward"]
    assert all(row["ratio"] > 0 for row in rows)


def test_without_a_compiler_the_kernels_are_measured_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_bench, "ROUNDS", 1)
    monkeypatch.setattr(kernel_bench, "CALLS", 2)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert [row["reference"] for row in bench.kernel_rows()] == [None] * 4
