"""Speed of the integer kernels, against the same in C with intrinsics (``reference.c``)."""

from __future__ import annotations

import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.bench_rows import row
from nnuelab.chess.position import POSITION
from nnuelab.jit import SIMD, address, aligned, at, jit
from nnuelab.nnue import inference, simd
from nnuelab.nnue.inference import Evaluator
from nnuelab.nnue.netfile import Net

ROUNDS = 9
COUNT = 64  # accumulators that a call goes along
CALLS = 200  # passes along them in one measurement
FEATURES = 30  # rows of a refresh


@jit
def _updates(net, accumulators, plus, minus, n, calls):  # type: ignore[no-untyped-def]
    for _ in range(calls):
        for i in range(len(accumulators) - 1):
            source, target = accumulators[at(i)], accumulators[at(i + 1)]
            inference.update(net, source, target, plus, n, minus, n)


@jit
def _refreshes(net, accumulators, active, calls):  # type: ignore[no-untyped-def]
    bias, rows = np.int64(net.b1), np.int64(net.w1)
    for _ in range(calls):
        for i in range(len(accumulators)):
            listed, n = inference.location(active[at(i)]), active.shape[1]
            target = inference.location(accumulators[at(i)])
            simd.combine(bias, target, net.width, rows, listed, n, listed, np.int64(0))


@jit
def _forwards(net, position, pairs, calls):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(calls):
        for i in range(len(pairs)):
            total += inference.forward(net, position, pairs[at(i), 0], pairs[at(i), 1])
    return total


def _compiled() -> ctypes.CDLL | None:
    """The C kernels, None without a gcc that works or on a CPU that they aren't for."""
    compiler = shutil.which("gcc")
    if compiler is None or SIMD == "portable":
        return None
    source = Path(__file__).with_name("reference.c")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "reference.so"
        options = ["-O3", "-march=native", "-shared", "-fPIC", "-o", str(library)]
        done = subprocess.run([compiler, *options, str(source)], capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr.splitlines() or ["no reason given"])[0]
            print(f"{compiler} can't compile the C kernels: {reason}", file=sys.stderr)
            return None
        return ctypes.CDLL(str(library))


def _median_ns(sides: list[Callable[[], Any]], per_call: int) -> list[float]:
    """Nanoseconds of one kernel on each side, taken in turn."""
    found: list[list[float]] = [[] for _ in sides]
    for side in sides:
        side()
    for _ in range(ROUNDS):
        for times, side in zip(found, sides, strict=True):
            start = time.perf_counter_ns()
            side()
            times.append((time.perf_counter_ns() - start) / (CALLS * per_call))
    return [statistics.median(times) for times in found]


def kernel_rows(net: Net, pairs: np.ndarray) -> list[dict[str, Any]]:
    """Rows for ``nnuelab bench kernels``, calls a second.

    Parameters
    ----------
    net : Net
        With 32 neurons in the second layer, a multiple of 256 in the first, and nothing unusual.
    pairs : int16[COUNT, 2, width]
        Accumulators of real positions, side to move first.

    Raises
    ------
    ValueError
        When C and numba give different results.
    """
    evaluator = Evaluator(net)
    record, memory = evaluator.record, evaluator.memory
    width, c = int(record["width"]), _compiled()
    position = np.zeros(1, POSITION)[0]  # which only nets with buckets look at
    rng = np.random.default_rng(1)
    ours, theirs = aligned((COUNT, width), np.int16), aligned((COUNT, width), np.int16)
    active = rng.integers(0, net.n_features, (COUNT, FEATURES)).astype(np.int32)
    rows_of = memory["w1"]
    pointer = ctypes.c_void_p
    long = ctypes.c_long

    def places(*arrays: np.ndarray) -> list[Any]:
        return [pointer(address(array)) for array in arrays]

    rows = []

    def compare(name: str, ours_ns: float, c_ns: float | None, least: float, aim: float) -> None:
        reference = None if c_ns is None else 1e9 / c_ns
        rows.append(row(name, 1e9 / ours_ns, reference, "calls/s", least, aim))

    def measure(
        name: str, numba_side: Callable[[], Any], c_side: Callable[[], Any], per_call: int
    ) -> None:
        sides = [numba_side] if c is None else [numba_side, c_side]
        found = _median_ns(sides, per_call)
        if c is not None and not np.array_equal(ours, theirs):
            raise ValueError(f"{name}: C and numba give different accumulators")
        compare(f"{name}, against C", found[0], found[1] if c else None, 1 / 1.15, 1.0)

    def measure_update(n: int) -> None:
        plus, minus = rng.choice(net.n_features, (2, n), replace=False).astype(np.int32)
        given = places(theirs), places(rows_of, plus, minus)
        measure(
            f"update {n} + {n}, {width} neurons",
            lambda: _updates(record, ours, plus, minus, n, CALLS),
            lambda: c.update(  # type: ignore[union-attr]
                *given[0], long(COUNT), long(width), *given[1], long(n), long(CALLS)
            ),
            COUNT - 1,
        )

    measure_update(1)
    measure_update(2)
    weights = places(rows_of, memory["b1"], active)
    measure(
        f"refresh from {FEATURES} features",
        lambda: _refreshes(record, ours, active, CALLS),
        lambda: c.refresh(  # type: ignore[union-attr]
            *places(theirs), long(COUNT), long(width), *weights, long(FEATURES), long(CALLS)
        ),
        COUNT,
    )

    def c_forward() -> int:
        assert c is not None
        c.forward.restype = long
        weights = places(memory["w2"], memory["b2"], memory["w3"])
        shifts = (net.l1_shift, net.l2_shift, net.out_shift)
        return int(
            c.forward(
                *places(pairs),
                long(COUNT),
                long(width),
                *weights,
                long(int(net.b3[0])),
                *shifts,
                long(CALLS),
            )
        )

    if c is not None and c_forward() != _forwards(record, position, pairs, CALLS):
        raise ValueError("C and numba give different values")
    sides = [lambda: _forwards(record, position, pairs, CALLS)] + ([c_forward] if c else [])
    found = _median_ns(sides, COUNT)
    dense = found[1] if c else None
    compare("forward of a trained net, against dense C", found[0], dense, 1.6, 2.2)
    return rows
