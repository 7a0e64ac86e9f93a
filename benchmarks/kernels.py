"""Speed of the integer kernels, against the same in C with intrinsics (``kernels.c``)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import chess
import numpy as np

from benchmarks.harness import Row, compiled, in_turn, rate, row, widened
from nnuelab.build import SIMD
from nnuelab.chess import notation
from nnuelab.chess.position import POSITION
from nnuelab.jit import address, aligned, at, jit
from nnuelab.nnue import inference, simd
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.netfile import Net

ROUNDS = 9
COUNT = 64  # accumulators that a call goes along
CALLS = 200  # passes along them in one measurement
FEATURES = 30  # rows of a refresh


@jit
def updates(net, accumulators, plus, minus, n, calls):  # type: ignore[no-untyped-def]
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
            simd.combine(
                bias, target, net.width, rows, net.row_size, listed, n, listed, np.int64(0)
            )


@jit
def forwards(net, position, pairs, calls):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(calls):
        for i in range(len(pairs)):
            total += inference.forward(net, position, pairs[at(i), 0], pairs[at(i), 1])
    return total


def accumulators(record: np.void) -> np.ndarray:
    """int16[COUNT, 2, stride] of a random game's positions, side to move first."""
    rng, board = np.random.default_rng(1), chess.Board()
    pairs = aligned((COUNT, 2, int(record["stride"])), np.int16)
    for pair in pairs:
        position = notation.from_fen(board.fen())
        for place, perspective in enumerate((board.turn, not board.turn)):
            inference.refresh(record, position, 0 if perspective else 1, pair[place])
        moves = list(board.legal_moves)
        board.push(moves[rng.integers(len(moves))])
    return pairs


def modern(net: Net) -> Net:
    """A net of the same neurons with products of pairs and dual activations."""
    w2 = net.w2.reshape(net.l2, 2, 2, -1)[:, :, 0].reshape(net.l2, net.l1)
    w3 = np.concatenate([net.w3, net.w3])
    return replace(net, pairwise=True, activation="dual", w2=w2, w3=w3)


def rows() -> Iterator[Row]:
    """Calls a second with the shipped net, widened to 512.

    Raises
    ------
    ValueError
        When C and numba give different results.
    """
    net = widened(NetEvaluator().net, 512)
    c = None if SIMD == "portable" else compiled(Path(__file__).with_name("kernels.c"))
    loaded = Inference(net)
    record, memory = loaded.record, loaded.memory
    width, pairs = int(record["width"]), accumulators(record)
    position = np.zeros(1, POSITION)[0]  # which only nets with buckets look at
    rng = np.random.default_rng(1)
    ours, theirs = aligned((COUNT, width), np.int16), aligned((COUNT, width), np.int16)
    active = rng.integers(0, net.n_features, (COUNT, FEATURES)).astype(np.int32)
    rows_of, long = memory["w1"], ctypes.c_long

    def places(*arrays: np.ndarray) -> list[Any]:
        return [ctypes.c_void_p(address(array)) for array in arrays]

    def compare(
        name: str,
        numba_side: Callable[[], Any],
        c_side: Callable[[], Any],
        per_call: int,
        bounds: tuple[float, float] = (1 / 1.15, 1.0),
    ) -> Row:
        n, sides = CALLS * per_call, {"numba": numba_side, "C": c_side}
        if c is None:
            del sides["C"]
        found = in_turn({side: partial(rate, n, call) for side, call in sides.items()}, ROUNDS)
        if c is not None and not np.array_equal(ours, theirs):
            raise ValueError(f"{name}: C and numba give different accumulators")
        return row(name, "calls/s", found["numba"], found.get("C"), *bounds)

    def update(n: int) -> Row:
        plus, minus = rng.choice(net.n_features, (2, n), replace=False).astype(np.int32)
        given = places(theirs), places(rows_of, plus, minus)
        return compare(
            f"update {n} + {n}, {width} neurons, against C",
            lambda: updates(record, ours, plus, minus, n, CALLS),
            lambda: c.update(  # type: ignore[union-attr]
                *given[0], long(COUNT), long(width), *given[1], long(n), long(CALLS)
            ),
            COUNT - 1,
        )

    yield update(1)
    yield update(2)
    weights = places(rows_of, memory["b1"], active)
    yield compare(
        f"refresh from {FEATURES} features, against C",
        lambda: _refreshes(record, ours, active, CALLS),
        lambda: c.refresh(  # type: ignore[union-attr]
            *places(theirs), long(COUNT), long(width), *weights, long(FEATURES), long(CALLS)
        ),
        COUNT,
    )

    def forward(of: Net, c_name: str) -> tuple[Callable[[], int], Callable[[], int]]:
        """The forward passes of a net by numba and by C."""
        bound = Inference(of)
        layers = places(*(bound.memory[name] for name in ("w2", "b2", "w3")))
        shifts = (of.l1_shift, of.l2_shift, of.out_shift)
        shape, bias = (long(COUNT), long(width)), long(int(of.b3[0]))

        def by_c() -> int:
            run = getattr(c, c_name)
            run.restype = long
            return int(run(*places(pairs), *shape, *layers, bias, *shifts, long(CALLS)))

        def by_numba() -> int:
            return int(forwards(bound.record, position, pairs, CALLS))

        if c is not None and by_c() != by_numba():
            raise ValueError(f"{c_name}: C and numba give different values")
        return by_numba, by_c

    name = "forward of a trained net, against dense C"
    yield compare(name, *forward(net, "forward"), COUNT, (1.6, 2.2))
    name = "forward of its neurons in pairs, dual activation, against dense C"
    yield compare(name, *forward(modern(net), "forward_modern"), COUNT, (0.9, 1.0))
