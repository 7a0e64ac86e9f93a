"""Nets of other shapes: activation, buckets, one more layer; from the file to the engine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.chess import notation
from nnuelab.data.records import RECORD, from_fen
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from nnuelab.nnue import bullet, inference
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.netfile import Net, read_net, write_net, write_nn
from nnuelab.report import neurons
from nnuelab.report.diff import diff
from nnuelab.report.inspect import inspect
from tests.naive import nnue as naive
from tests.nnue_nets import random_games, random_net

KINDS: list[dict[str, Any]] = [
    {"activation": "squared"},
    {"buckets": 8},
    {"l3": 12},
    {"activation": "squared", "buckets": 5, "l3": 32},
    {"pairwise": True},
    {"pairwise": True, "activation": "squared", "buckets": 3, "l3": 8},
    {"activation": "dual"},
    {"pairwise": True, "activation": "dual", "buckets": 3, "l3": 20},
    {"psqt": True},
    {"psqt": 8, "buckets": 8, "l3": 12},
    {"psqt": True, "pairwise": True, "activation": "dual", "buckets": 3, "l3": 20},
]
FENS = [*random_games(4)[::7], "4k3/8/8/8/8/8/8/4K2R w - - 0 1", "8/8/8/8/8/8/k1K5/8 b - - 0 1"]


def expected(net: Net, fens: list[str]) -> list[int]:
    """What the numpy twin says."""
    found = []
    feature_set = net.features
    tables, out = compiled(feature_set), np.empty(feature_set.max_active, np.int32)
    for fen in fens:
        position, board = notation.from_fen(fen), chess.Board(fen)
        sides = []
        for perspective in (0, 1) if board.turn else (1, 0):
            n = kernels.active(tables.record, position, perspective, out)
            sides.append(out[:n].tolist())
        found.append(naive.evaluate(net, *sides, len(board.piece_map())))
    return found


shapes = st.fixed_dictionaries(
    {
        "l1": st.sampled_from([2, 8, 32, 64, 100, 256, 330]),
        "l2": st.sampled_from([1, 7, 8, 16, 24, 32, 40]),
        "l1_shift": st.integers(0, 4),
        "l2_shift": st.integers(5, 8),
        "out_shift": st.integers(0, 12),
        "l3": st.sampled_from([0, 0, 1, 8, 20, 32]),
        "buckets": st.sampled_from([1, 2, 5, 8, 32]),
        "activation": st.sampled_from(["clipped", "squared", "dual"]),
        "pairwise": st.booleans(),
        "seed": st.integers(0, 10_000),
    }
)


@given(shape=shapes, extreme=st.booleans(), pieces=st.integers(2, 32))
@settings(max_examples=150, deadline=None)
def test_forward_is_the_twin_s(shape: dict[str, Any], extreme: bool, pieces: int) -> None:
    net = random_net("H", **shape)
    rng = np.random.default_rng(shape["seed"])
    evaluator = Inference(net)
    spread = rng.normal(0, 100 << net.l1_shift, (2, net.l1))
    if extreme:
        spread[rng.random(spread.shape) < 0.2] = 32767
        spread[rng.random(spread.shape) < 0.1] = -32768
    accumulators = spread.clip(-32768, 32767).astype(np.int16)
    board = chess.Board(None)
    for square in range(pieces):
        board.set_piece_at(square, chess.Piece(chess.KNIGHT, square % 2 == 0))
    position = np.zeros(1, inference.POSITION)[0]
    position["colors"] = [board.occupied_co[chess.WHITE], board.occupied_co[chess.BLACK]]
    value = inference.forward(evaluator.record, position, *inference.padded(net, accumulators))
    assert value == naive.forward(net, *accumulators, pieces)


@pytest.mark.parametrize("shift", range(5))
def test_every_accumulator_is_squared_as_the_twin_does(shift: int) -> None:
    net = random_net("H", 64, 8, l1_shift=shift, activation="squared")
    evaluator = Inference(net)
    record, inputs = evaluator.record, evaluator.memory["inputs"]
    every = np.arange(-32768, 32768).astype(np.int16).reshape(-1, 2, 64)
    position = notation.from_fen(chess.STARTING_FEN)
    for pair in every:
        inference.forward(record, position, *pair)
        wanted = naive.activation("squared", pair.ravel().astype(np.int64), shift)
        assert np.array_equal(inputs[:128], wanted)
    assert wanted.max() == 126


@given(shift=st.integers(0, 4), seed=st.integers(0, 10_000))
def test_every_pair_of_neurons_is_multiplied_as_the_twin_does(shift: int, seed: int) -> None:
    net = random_net("H", 200, 8, l1_shift=shift, pairwise=True)
    evaluator = Inference(net)
    spread = np.random.default_rng(seed).integers(-40 << shift, 170 << shift, (2, 200))
    sides = spread.astype(np.int16)
    sides[:, :3] = sides[:, 100:103] = [32767, -32768, 127 << shift]
    position = notation.from_fen(chess.STARTING_FEN)
    inference.forward(evaluator.record, position, *inference.padded(net, sides))
    found = evaluator.memory["inputs"][:256].reshape(2, 128)
    for side, inputs in zip(sides, found, strict=True):
        wanted = naive.activation("pairwise", side.astype(np.int64), shift)
        assert np.array_equal(inputs[:100], wanted)
        assert wanted[[0, 1, 2]].tolist() == [126, 0, 126]
        assert not inputs[100:].any()


@pytest.mark.parametrize("kind", KINDS)
def test_a_net_of_any_shape_plays_and_evaluates(kind: dict[str, Any], tmp_path: Path) -> None:
    net = random_net("ALL+H", 40, 16, 3, l1_shift=2, l2_shift=7, out_shift=8, **kind)
    write_net(tmp_path / "net.nnue", net)
    read = read_net(tmp_path / "net.nnue")
    wanted = expected(net, FENS)
    assert Inference(read).evaluate_fens(FENS) == wanted
    assert len(set(wanted)) > len(FENS) / 2
    engine = Engine(NetEvaluator(read), hash_mb=1)
    assert [engine.evaluate(notation.from_fen(fen)) for fen in FENS] == wanted
    assert engine.search(notation.from_fen(FENS[0]), nodes=500).pv
    records = np.array([from_fen(fen) for fen in FENS], RECORD)
    assert neurons.evaluations(read, neurons.inputs(read, records), records).tolist() == wanted
    write_net(tmp_path / "again.nnue", read)
    assert (tmp_path / "net.nnue").read_bytes() == (tmp_path / "again.nnue").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_other_layouts_refuse_it_in_one_line(kind: dict[str, Any], tmp_path: Path) -> None:
    net = random_net("ALL", 8, 8, **kind)
    for write, name in ((write_nn, "net.nn"), (bullet.write, "net.bin")):
        with pytest.raises(
            UserError, match=r"can't hold this net: it has .*; keep it as \.nnue"
        ) as e:
            write(tmp_path / name, net)
        assert "\n" not in str(e.value)
    assert not list(tmp_path.iterdir())


def test_inspect_and_diff_tell_the_shape(tmp_path: Path) -> None:
    one = random_net("ALL", 8, 8, l3=6, buckets=2, activation="squared")
    write_net(tmp_path / "one.nnue", one)
    write_net(tmp_path / "other.nnue", random_net("ALL", 8, 8))
    told = inspect(tmp_path / "one.nnue")
    assert told.facts["layers"] == "768 -> 8 x2 -> 8 -> 6 -> 1, squared, 2 buckets"
    assert told.facts["shifts"] == "L1 0, L2 6, L3 6, output 4"
    assert {row["array"] for row in told.tables["arrays"]} >= {"wh", "bh"}
    found = diff(tmp_path / "one.nnue", tmp_path / "other.nnue")
    shown = {name: found.facts[name] for name in ("l2", "l3", "activation", "buckets")}
    assert shown == {
        "l2": 8,
        "l3": "6 and 0",
        "activation": "squared and clipped",
        "buckets": "2 and 1",
    }
    assert [row["array"] for row in found.tables["weights, as floats"]] == ["w1", "b1"]


def test_what_a_net_cannot_be_is_named() -> None:
    plain = random_net("H", 8, 8, l3=4, buckets=2, activation="squared")

    for changed, told in (
        ({"activation": "tanh"}, "its activation is 'tanh', not clipped, squared, dual"),
        ({"buckets": 33}, "it has 33 buckets, should be 1 to 32"),
        ({"buckets": 3}, "should be int8"),
        ({"bh": None}, "it has only one of wh and bh"),
        ({"pairwise": True, "w1": plain.w1[:, :7]}, "pairs of 7 neurons, an odd number"),
        ({"l1_shift": 5}, "l1_shift is 5, should be 0 to 4"),
        ({"l2_shift": 9}, "l2_shift is 9, should be 0 to 8"),
    ):
        with pytest.raises(ValueError, match=told):
            replace(plain, **changed)
