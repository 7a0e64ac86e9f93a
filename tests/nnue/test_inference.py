"""Integer inference: the kernels equal the numpy twin bit for bit."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from itertools import pairwise

import chess
import llvmlite.binding
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab import build, features
from nnuelab.chess import notation
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from nnuelab.nnue import inference
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.netfile import Net
from tests.naive import nnue as naive
from tests.nnue_nets import random_net

START = notation.from_fen(chess.STARTING_FEN)


def rows_of(feature_set: str, position: np.void, perspective: int) -> list[int]:
    parsed = features.parse(feature_set)
    out = np.empty(parsed.max_active, np.int32)
    n = kernels.active(compiled(parsed).record, position, perspective, out)
    return out[:n].tolist()


def random_game(seed: int, plies: int = 80) -> list[str]:
    rng, board = np.random.default_rng(seed), chess.Board()
    fens = [board.fen()]
    while len(fens) <= plies and not board.is_game_over():
        moves = list(board.legal_moves)
        board.push(moves[rng.integers(len(moves))])
        fens.append(board.fen())
    return fens


@given(
    l1=st.sampled_from([1, 8, 24, 32, 64, 100, 256, 330]),
    l2=st.sampled_from([1, 8, 15, 16, 24, 32, 40, 48]),
    l1_shift=st.integers(0, 8),
    l2_shift=st.integers(5, 8),
    out_shift=st.integers(0, 12),
    seed=st.integers(0, 10_000),
)
@settings(max_examples=60, deadline=None)
def test_forward_is_the_twin_s(
    l1: int, l2: int, l1_shift: int, l2_shift: int, out_shift: int, seed: int
) -> None:
    net = random_net("H", l1, l2, seed, l1_shift, l2_shift, out_shift)
    rng = np.random.default_rng(seed)
    accumulators = rng.normal(0, 100 << l1_shift, (2, l1)).clip(-32768, 32767).astype(np.int16)
    accumulators[rng.random((2, l1)) < 0.02] = 32767
    accumulators[rng.random((2, l1)) < 0.02] = -32768
    value = inference.forward(Inference(net).record, START, *padded(net, *accumulators))
    assert value == naive.forward(net, *accumulators)


def test_the_largest_products_do_not_wrap() -> None:
    net = random_net("H", 64, 16)
    net.w2[:], net.b2[:] = -128, 0
    net.w2[0] = 127
    full = np.full((2, 64), 32767, np.int16)
    assert inference.forward(Inference(net).record, START, *padded(net, *full)) == naive.forward(
        net, *full
    )


@pytest.mark.parametrize(("psqt", "rows"), [(1, "<i2"), (8, "<i2"), (1, "<i1")])
@pytest.mark.parametrize("feature_set", ["ALL", "H+V+D1+D2", "ALL+H+V"])
def test_updates_along_games_equal_refresh_and_twin(feature_set: str, psqt: int, rows: str) -> None:
    net = random_net(feature_set, 40, 16, l1_shift=2, psqt=psqt, buckets=psqt, rows=rows)
    evaluator = Inference(net)
    record = evaluator.record
    width = features.parse(feature_set).max_active
    added, removed = np.empty((2, width), np.int32)
    fresh, acc, other = np.zeros((3, record["stride"]), np.int16)
    for seed in range(3):
        positions = [notation.from_fen(fen) for fen in random_game(seed)]
        for perspective in range(2):
            inference.refresh(record, positions[0], perspective, acc)
            # One ply at a time in place, then jumps of seven plies into another accumulator.
            for step in (1, 7):
                chain = positions[::step]
                inference.refresh(record, chain[0], perspective, acc)
                for old, new in pairwise(chain):
                    na, nr = kernels.changes(
                        record["features"], old, new, perspective, added, removed
                    )
                    target = acc if step == 1 else other
                    inference.update(record, acc, target, added, na, removed, nr)
                    acc, other = target, acc
                    inference.refresh(record, new, perspective, fresh)
                    active = rows_of(feature_set, new, perspective)
                    assert np.array_equal(acc, fresh)
                    assert np.array_equal(acc[:40], naive.accumulator(net, active))
                    sums = acc[record["width"] :].view(np.int64)[:psqt]
                    assert sums.tolist() == np.atleast_1d(net.psqt[active].sum(0)).tolist()


@pytest.mark.parametrize("rows", ["<i2", "<i1"])
@pytest.mark.parametrize(("na", "nr"), [(a, r) for a in range(4) for r in range(4)])
def test_every_mix_of_added_and_removed_rows(na: int, nr: int, rows: str) -> None:
    net = random_net("H", 320, 8, l1_shift=2, rows=rows)  # a pass of the widest, and a rest
    rng = np.random.default_rng(1)
    source = rng.integers(-500, 500, 320).astype(np.int16)
    added, removed = rng.choice(96, 8, replace=False).astype(np.int32).reshape(2, 4)
    expected = source + net.w1[added[:na]].sum(0) - net.w1[removed[:nr]].sum(0)
    target = np.empty(320, np.int16)
    record = Inference(net).record
    inference.update(record, source, target, added, na, removed, nr)
    assert np.array_equal(target, expected)
    kept = rng.integers(-500, 500, 320).astype(np.int16)
    inference.update_by(record, source, kept, target, added, na, removed, nr)
    assert np.array_equal(target, expected + kept)
    # Both perspectives: the other one has other rows.
    lists = np.stack([added, removed]), np.stack([removed, added])
    other = kept + net.w1[removed[:na]].sum(0) - net.w1[added[:nr]].sum(0)
    sums = np.stack([source, kept])
    inference.update_both(record, sums, lists[0].copy(), na, lists[1].copy(), nr)
    assert np.array_equal(sums, np.stack([expected, other]))


def test_evaluate_is_the_twin_s_on_games() -> None:
    for seed, feature_set in enumerate(["ALL", "D1+D2", "ALL+H+V+D1+D2"]):
        net = random_net(feature_set, 48, 32, seed, l1_shift=3, l2_shift=7, out_shift=10)
        fens = random_game(seed)
        positions = [notation.from_fen(fen) for fen in fens]
        expected = [
            naive.evaluate(
                net,
                rows_of(feature_set, p, int(p["turn"])),
                rows_of(feature_set, p, 1 - int(p["turn"])),
            )
            for p in positions
        ]
        assert Inference(net).evaluate_fens(fens) == expected


def test_a_colour_flipped_position_has_the_same_value() -> None:
    evaluator = Inference(random_net("ALL", 32, 8))
    for fen in random_game(5):
        board = chess.Board(fen)
        assert evaluator.evaluate_fens([fen]) == evaluator.evaluate_fens([board.mirror().fen()])


def test_a_broken_fen_is_refused() -> None:
    with pytest.raises(notation.FenError):
        Inference(random_net("H", 8, 8)).evaluate_fens(["8/8/8/8/8/8/8/8 w - - 0 1"])


PROBE = """
import sys
import numpy as np
from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.netfile import Net
from tests.nnue_nets import random_games, random_net
fens = random_games(3)
PLAIN, REST = (0, 1, "clipped"), (12, 8, "squared")
NARROW = (*PLAIN, False, 0, "<i1")
for l1, l2, shift, more in (
    (1, 1, 0, PLAIN),
    (40, 8, 2, PLAIN),
    (64, 32, 3, PLAIN),
    (72, 16, 3, REST),
    (320, 16, 1, NARROW),
    (320, 72, 1, PLAIN),
):
    net = random_net("ALL+H", l1, l2, l1 + l2, shift, 7, 4, *more)
    print(Inference(net).evaluate_fens(fens))
    engine = Engine(NetEvaluator(net), hash_mb=1)
    for fen in fens[::80]:
        print(engine.search(notation.from_fen(fen), nodes=500).pv)
"""


@pytest.mark.parametrize(
    "path",
    [
        # A minute each, to compile.
        pytest.param(path, marks=[] if path == "portable" else pytest.mark.slow)
        for path in build.SIMD_PATHS
        if path != build.SIMD
    ],
)
def test_every_path_of_the_vector_code_gives_the_same_bits(path: str) -> None:
    features_here = llvmlite.binding.get_host_cpu_features()
    if not all(features_here.get(needed) for needed in build.SIMD_PATHS[path]):
        pytest.skip(f"this CPU has no {path}")

    def outputs(chosen: str) -> str:
        environment = {**os.environ, "NNUELAB_SIMD": chosen}
        command = [sys.executable, "-c", PROBE]
        return subprocess.run(
            command, env=environment, check=True, capture_output=True, text=True
        ).stdout

    assert outputs(path) == outputs(build.SIMD)


def test_an_unknown_path_is_refused_in_one_line() -> None:
    environment = {**os.environ, "NNUELAB_SIMD": "sse9"}
    command = [sys.executable, "-m", "nnuelab.cli", "perft", "startpos", "1"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode != 0
    assert "NNUELAB_SIMD" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def padded(net: Net, *accumulators: np.ndarray) -> list[np.ndarray]:
    """The same with what the kernels' width adds: zeros."""
    width = int(Inference(net).record["width"])
    return [np.pad(a, (0, width - len(a))) for a in accumulators]


def test_a_record_keeps_its_memory_alive() -> None:
    net = random_net("H", 24, 8)
    record = Inference(net).record
    gc.collect()
    filler = [np.full(24 * 96, -1, np.int16) for _ in range(50)]
    accumulators = np.full((2, 24), 50, np.int16)
    assert inference.forward(record, START, *padded(net, *accumulators)) == naive.forward(
        net, *accumulators
    )
    assert filler
