"""What the terms of sums cost: measured beside ALL, put together for any sum."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from nnuelab import features
from nnuelab.chess import notation
from nnuelab.discovery import prices
from nnuelab.engine.bench import POSITIONS
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.nnue import replay
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import DEFAULT_NET, read_net
from nnuelab.tournament import cost
from tests.nnue_data import write_datasets


def test_nets_for_measuring_search_the_same_trees():
    net = replay.resized(read_net(DEFAULT_NET), 64)
    more = [replay.silent(net, features.parse(name)) for name in ("ALL+MB", "ALL+KB(1)", "H+ALL")]
    engines = [Engine(NetEvaluator(each)) for each in (net, *more)]
    for fen in POSITIONS[:3]:
        position = notation.from_fen(fen)
        found = [engine.search(position, nodes=3000) for engine in engines]
        assert len({(each.nodes, each.score_cp, *each.pv) for each in found}) == 1


@pytest.mark.parametrize("l1", [32, 256, 512])
def test_a_resized_net_has_neurons_of_the_other_one(l1):
    net = read_net(DEFAULT_NET)
    found = replay.resized(net, l1)
    assert found.l1 == l1
    least = min(l1, net.l1)
    np.testing.assert_array_equal(found.w1[:, :least], net.w1[:, :least])
    assert replay.resized(net, net.l1).w2.tobytes() == net.w2.tobytes()


def test_terms_are_measured_once_and_then_read(tmp_path, monkeypatch):
    monkeypatch.setattr(prices, "SETTINGS", replace(prices.SETTINGS, rounds=1))
    monkeypatch.setattr(prices, "LEAST", 0)  # one round of 300 nodes tells nothing of their time
    monkeypatch.setattr(cost, "NODES", 300)
    positions, path = write_datasets(tmp_path)[1], tmp_path / "prices.csv"
    found = prices.measured(path, ["ALL", "KB(1)+H", "(H+V)*KING"], positions, 32)
    assert list(found) == ["KB(1)", "H", *prices.terms_of("(H+V)*KING")]
    assert all(price > 0 for price in found.values())
    told = json.loads((tmp_path / "prices.csv.json").read_text())["parameters"]
    assert told["l1"] == 32
    assert told["machine"]["simd"]
    before = path.read_bytes()
    assert prices.measured(path, ["H"], positions, 32) == {"H": found["H"]}
    assert path.read_bytes() == before

    def measure(nets, *arguments):
        cost.write(arguments[-1], [cost.Cost(name, 2, 0, 1, 1) for name in nets])

    monkeypatch.setattr(cost, "measure", measure)
    assert prices.measured(path, ["H+PV"], positions, 32) == {"H": 2, "PV": 2}
    assert prices.measured(path, ["H"], positions, 64) == {"H": 2}
    assert "PV" not in path.read_text()
    monkeypatch.undo()
    path.with_name("prices.csv.json").unlink()
    path.write_text("name,cost\nH,0.89\n")
    with pytest.raises(UserError, match=r"0\.89 times as much with H, .* remove it"):
        prices.measured(path, ["H"], positions, 64)
    for content in ("name,cost\nV,1.5\n", ""):
        path.write_text(content)
        with pytest.raises(UserError, match=r"prices\.csv (isn't whole|lacks H).* remove it"):
            prices.measured(path, ["H"], positions, 64)


def test_a_sum_costs_what_its_terms_do_together():
    known = {"H": 1.02, "MB": 1.4, **dict.fromkeys(prices.terms_of("(H+V)*MB"), 1.5)}
    assert prices.own_share(2.0, 256) == pytest.approx(0.09)
    assert prices.own_share(2.0, 1 << 20) < 1
    assert prices.together("ALL", known, 0.1) == pytest.approx(1)
    assert prices.together("ALL+H+MB", known, 0.1) == pytest.approx(1.42)
    assert prices.together("MB+H", known, 0.1) == pytest.approx(1.32)
    assert prices.together("ALL+(H+V)*MB", known, 0.1) == pytest.approx(2)
    assert len(features.parse("(H+V)*MB").terms) == 2
