"""The benchmark of feature sets compares like with like."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import features as bench
from nnuelab import features
from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.inference import Inference, refresh
from nnuelab.nnue.replay import Cost
from tests.nnue_nets import random_net


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "ROUNDS": 1,
        "SECONDS": 0.0,
        "SEARCH_ROUNDS": 1,
        "NODES": 300,
        "PASSES": 1,
        "L1": 256,
        "BATCH": 512,
        "POSITIONS": bench.POSITIONS[-1:],
        "EXTRA_TIME": {"H+V": bench.LINES},
        "SEARCH": {"ALL+H+V": (0.75, 0.88)},
        "POSITIONS_PER_SECOND": {"V": 2e6},
    }.items():
        monkeypatch.setattr(bench, name, value)


@pytest.mark.usefixtures("quick")
def test_a_row_for_each_set() -> None:
    rows = list(bench.rows())
    assert [row["name"].partition(":")[0] for row in rows] == [
        "H+V",
        "ALL+H+V",
        *bench.MEMSET,
        "V",
    ]
    assert all(row["ratio"] > 0 for row in rows)
    assert [(row["at_least"], row["aim"]) for row in rows[1:]] == [
        (0.75, 0.88),
        *[(0.6, 1.0)] * len(bench.MEMSET),
        (1.0, None),
    ]


def test_extra_time_is_held_against_the_further_rows() -> None:
    """Per position, so for two accumulators; what is compared comes from one round."""
    base = Cost(2.0, np.full(3, 5.0), np.array([30.0, 60, 30]), np.array([45.0, 90, 45]))
    cost = Cost(6.0, np.full(3, 5.0), np.array([50.0, 80, 50]), np.array([80.0, 125, 81]))
    row = bench.extra_row("ALL+X", cost, base, 40.0, 20.0)
    assert row["ours"] == 70
    assert row["reference"] == pytest.approx(1.3 * 40 + 40)
    assert row["ratio"] == pytest.approx(92 / 70)
    assert row["aim"] == pytest.approx(92 / 64)


def test_a_set_with_all_searches_the_same_tree() -> None:
    net = random_net("ALL", 64, 8)
    other = bench.imitation(net, features.parse("H+ALL"), [])
    start = notation.from_fen(bench.POSITIONS[1])
    found = [Engine(NetEvaluator(each)).search(start, depth=5) for each in (net, other)]
    assert found[0].nodes == found[1].nodes
    assert found[0].score_cp == found[1].score_cp
    assert found[0].pv == found[1].pv


def test_a_set_without_all_comes_close_to_its_accumulators() -> None:
    net, near = random_net("ALL", 64, 8), bench.neighbours()[::8]
    other = bench.imitation(net, features.parse("H+V+D1+D2"), near)
    found = []
    for each in (net, other):
        record, out = Inference(each).record, np.zeros((len(near), 2, 64), np.int16)
        for position, pair in zip(near, out, strict=True):
            for perspective in range(2):
                refresh(record, position, perspective, pair[perspective])
        found.append(out.astype(float))
    error = np.abs(found[1] - found[0]).mean()
    assert error < 0.25 * np.abs(found[0] - net.b1).mean()
