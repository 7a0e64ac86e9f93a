"""Accumulators along the lines of searches: each evaluation is that from scratch."""

from __future__ import annotations

import random
from pathlib import Path

import chess
import pytest

from nnuelab.chess import notation
from nnuelab.engine import node
from nnuelab.engine.search import Engine
from nnuelab.nnue import inference
from nnuelab.nnue.evaluator import NetEvaluator
from tests import feature_sets
from tests.conftest import run_checked
from tests.nnue_nets import random_net
from tests.positions import KIWIPETE

LAZY = [*feature_sets.blocks(), "ALL+H+V+D1+D2", "PP+KB(4)+PH", "KING*PV+H*V", "PHASE(3,KA+PH)"]
KEPT = ["ALL+MB", "SC+MB+H+MC", "AC+ALL+MB", "KB(4)+MB", "MB"]
"""Sets of squares: alone, with blocks of which changes are kept as well, and with others."""


@pytest.mark.parametrize("feature_set", [*LAZY, *KEPT])
def test_lazy_accumulators_are_those_from_scratch(
    feature_set: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feature_sets.pair_file(tmp_path)
    monkeypatch.chdir(tmp_path)
    engine = Engine(NetEvaluator(random_net(feature_set, l1=64)), hash_mb=1)
    record, line = engine.record, engine._memory.line
    net = engine._memory.evaluator.data["net"]
    choose = random.Random(1)
    for fen in (KIWIPETE, "rnbqkb1r/1p1p1ppp/p7/1PpPpP2/8/6n1/P1P1P1PP/RNBQKBNR w KQkq c6 0 9"):
        engine._place_root(notation.from_fen(fen), ())
        ply, evaluated = 0, 0
        while evaluated < 200:
            legal = notation.moves_of(line[ply]["position"])
            if not legal or ply > 30 or choose.random() < 0.3:
                ply = choose.randrange(ply + 1)  # siblings share what is above them
                continue
            if choose.random() < 0.1 and not line[ply]["position"]["checkers"]:
                node.enter_null(record, ply)
            else:
                node.enter(record, ply, choose.choice(legal))
            ply += 1
            if choose.random() < 0.4:
                evaluated += 1
                value = node.evaluate(record, ply)
                assert value == inference.evaluate(net, line[ply]["position"])
        position = notation.from_fen(fen)
        assert engine.evaluate(position) == inference.evaluate(net, position)


@pytest.mark.parametrize(("buckets", "rows"), [(1, "<i1"), (8, "<i2")])
@pytest.mark.parametrize("name", KEPT)
def test_searches_with_kept_changes_are_those_without(name: str, buckets: int, rows: str) -> None:
    more = {"psqt": buckets, "buckets": buckets, "rows": rows}
    net = NetEvaluator(random_net(name, l1=96, l1_shift=2, **more))
    kept, direct = Engine(net, hash_mb=1), Engine(net, hash_mb=1)
    direct._memory.evaluator.data["revise"] = 0
    direct._memory.evaluator.memory["sums"][:] = 0  # engines search a little as they begin
    for fen in (chess.STARTING_FEN, KIWIPETE):
        position = notation.from_fen(fen)
        found, wanted = (engine.search(position, nodes=4000) for engine in (kept, direct))
        assert (found.nodes, found.score_cp, found.pv) == (wanted.nodes, wanted.score_cp, wanted.pv)
    assert kept._memory.evaluator.memory["sums"].any(axis=(1, 2)).sum() > 200
    assert not direct._memory.evaluator.memory["sums"].any()


def test_a_position_in_check_gets_no_accumulator_on_the_way() -> None:
    engine = Engine(NetEvaluator(), hash_mb=1)
    record, line = engine.record, engine._memory.line
    engine._place_root(notation.from_fen(chess.STARTING_FEN), ())
    for ply, move in enumerate(("e2e4", "f7f6", "d1h5", "g7g6")):
        node.enter(record, ply, notation.parse_uci(line[ply]["position"], move))
    value = node.evaluate(record, 4)
    assert value == inference.evaluate(engine._memory.evaluator.data["net"], line[4]["position"])
    assert line["computed"][:5].all(axis=1).tolist() == [True, True, True, False, True]


@pytest.mark.slow
def test_every_evaluation_of_real_searches_is_that_from_scratch(tmp_path: Path) -> None:
    feature_sets.pair_file(tmp_path)
    program = f"""
from nnuelab.chess import notation
from nnuelab.engine import bench
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.build import CHECKED
from tests.nnue_nets import random_net
assert CHECKED
for features in {LAZY}:
    engine = Engine(NetEvaluator(random_net(features, l1=64, psqt=True)), 1)
    for fen in bench.POSITIONS:
        engine.search(notation.from_fen(fen), nodes=5000)
    assert engine._memory.evaluator.data["mismatches"] == 0, features
"""
    run_checked(program, tmp_path)
