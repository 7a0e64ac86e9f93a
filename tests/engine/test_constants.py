"""The numbers of the search: each is read, by one engine alone, and checked."""

from __future__ import annotations

import numpy as np
import pytest

from nnuelab.engine import bench
from nnuelab.engine.constants import CONSTANTS, record
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator

DEPTH = 8


@pytest.fixture(scope="module")
def engines() -> tuple[Engine, Engine]:
    """One that searches with other numbers, and one with those of the search."""
    evaluator = NetEvaluator()
    return Engine(evaluator, 4), Engine(evaluator, 4)


@pytest.mark.parametrize("name", CONSTANTS)
def test_each_constant_counts_for_its_engine_alone(name: str, engines) -> None:
    one, other = engines
    before = bench.run(other, DEPTH).nodes
    constant = CONSTANTS[name]
    found = []
    for value in (constant.least, constant.most):
        one.set_constants({name: value})
        found.append(bench.run(one, DEPTH).nodes)
    assert found[0] != found[1]
    assert bench.run(other, DEPTH).nodes == before
    one.set_constants({})
    assert bench.run(one, DEPTH).nodes == before


def test_constants_stay_with_another_evaluator() -> None:
    engine = Engine(NetEvaluator(), 4, {"delta_margin": 0})
    nodes = bench.run(engine, DEPTH).nodes
    assert nodes != bench.run(Engine(NetEvaluator(), 4), DEPTH).nodes
    engine.set_evaluator(NetEvaluator())
    assert bench.run(engine, DEPTH).nodes == nodes


def test_record_is_the_defaults_but_for_what_is_chosen() -> None:
    found = record({"delta_margin": 7})
    for name, constant in CONSTANTS.items():
        assert constant.least <= constant.default <= constant.most
        assert found[name] == (7 if name == "delta_margin" else constant.default)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"delta_margn": 1}, "no constant delta_margn; did you mean delta_margin"),
        ({"delta_margin": 1001}, "1001 is no whole number of 0 to 1000"),
        ({"delta_margin": 1.5}, "1.5 is no whole number"),
        ({"delta_margin": True}, "True is no whole number"),
        ({"delta_margin": np.nan}, "nan is no whole number"),
    ],
)
def test_constants_that_make_no_sense(chosen, told: str) -> None:
    with pytest.raises(UserError, match=told):
        record(chosen)
