"""Speed of the layers that training knows, beside the default ones: 32 neurons, clipped.

All nets have the first layer of the shipped one, and so activate what it does. Behind it are parts
of that net, or random weights where it has none: what is measured hangs on their number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks import kernels
from benchmarks.harness import Row, in_turn, rate, row
from nnuelab.chess.position import POSITION
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.layers import Direct
from nnuelab.nnue.netfile import Net

ROUNDS = 15
CALLS = 200  # passes along the accumulators in one measurement
CHANGED = 2  # rows that an update adds, and as many that it removes


def shapes(net: Net) -> dict[str, Net]:
    """Nets with the first layer of ``net``, which has 32 neurons behind it, by their settings."""
    rng = np.random.default_rng(1)

    def weights(kind: type, *shape: int) -> np.ndarray:
        return rng.integers(-64, 64, shape, kind)

    def narrow(o: int, w3: np.ndarray = net.w3, **others: Any) -> Net:
        return replace(net, w2=net.w2[:o], b2=net.b2[:o], w3=w3[: o or None], **others)

    half = narrow(16)
    eight: dict[str, Any] = {
        name: np.concatenate([getattr(half, name)] * 8) for name in ("w2", "b2", "w3", "b3")
    }
    twice, last = np.concatenate([half.w3] * 2), weights(np.int16, 2 * net.l1)
    deep: dict[str, Any] = {"wh": weights(np.int8, 32, 16), "bh": np.zeros(32, np.int32)}
    return {
        "l2: 16": half,
        "l2: 8": narrow(8),
        "l2: 16, activation: squared": replace(half, activation="squared"),
        "l2: 16, buckets: 8": replace(half, **eight, buckets=8),
        "l2: 16, pairwise: true": replace(half, w2=half.w2[:, : net.l1].copy(), pairwise=True),
        "l2: 16, activation: dual": replace(half, w3=twice, activation="dual"),
        "l2: 16, psqt: true": replace(half, psqt=np.zeros(net.n_features, np.int32)),
        "l2: 16, l3: 32": replace(half, **deep, w3=weights(np.int16, 32), l3_shift=6),
        "l2: 0, activation: squared": narrow(0, last, activation="squared", direct=Direct()),
    }


def rows() -> Iterator[Row]:
    """Calls a second of one and of the default in turn."""
    net = NetEvaluator().net
    position = np.zeros(1, POSITION)[0]  # a bare board, of the first bucket

    def forward(of: Net) -> Callable[[], float]:
        bound = Inference(of)
        pairs = kernels.accumulators(bound.record)
        return lambda: rate(
            CALLS * len(pairs), lambda: kernels.forwards(bound.record, position, pairs, CALLS)
        )

    def update(of: Net) -> Callable[[], float]:
        bound = Inference(of)
        pairs = kernels.accumulators(bound.record)
        changed = np.random.default_rng(1).choice(net.n_features, (2, CHANGED), replace=False)
        plus, minus = changed.astype(np.int32)
        flat = pairs.reshape(-1, pairs.shape[2])
        return lambda: rate(
            CALLS * (len(flat) - 1),
            lambda: kernels.updates(bound.record, flat, plus, minus, CHANGED, CALLS),
        )

    def against(name: str, side: Callable[[], float], usual: Callable[[], float]) -> Row:
        found = in_turn({"it": side, "usual": usual}, ROUNDS)
        return row(name, "calls/s", found["it"], found["usual"])

    usual = forward(net)
    for name, other in shapes(net).items():
        yield against(f"forward of {name}, against l2: {net.l2}", forward(other), usual)
    small = replace(net, w1=np.clip(net.w1, -128, 127).astype(np.int8))
    name = f"update {CHANGED} + {CHANGED} of rows of one byte, against two"
    yield against(name, update(small), update(net))
