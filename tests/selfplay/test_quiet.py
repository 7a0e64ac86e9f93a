"""The quiet filter against its twin, and that no position has a say in another."""

from __future__ import annotations

import json
import subprocess
import sys

import chess
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.chess import notation
from nnuelab.data import pgn
from nnuelab.data.records import RECORD, from_fen, to_fen
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import write_net
from nnuelab.selfplay.quiet import Quiet
from tests.naive import engine as naive
from tests.positions import random_fens

PLIES = range(4, 80)

KNOWN = {
    chess.STARTING_FEN: True,
    "4k3/8/8/3q4/4P3/8/8/4K3 w - - 0 1": False,  # the queen hangs
    "4k3/8/2p5/3p4/4P3/8/8/4K3 w - - 0 1": True,  # an exchange of pawns
    "4k3/8/2p5/3p4/8/8/8/3RK3 w - - 0 1": True,  # a rook for two pawns
    "4k3/P7/8/8/8/8/8/4K3 w - - 0 1": False,  # promotes
    "4k3/P7/8/8/8/8/8/4K3 b - - 0 1": True,  # on White's turn only
    "4k3/8/8/8/4q3/8/8/4K3 w - - 0 1": False,  # in check
    "8/8/4k3/8/8/3nK3/8/8 w - - 0 1": False,  # a draw
    "4k3/8/8/8/8/8/8/R3K3 w - - 120 90": False,
    "r3k3/8/8/8/8/8/8/R3K3 w - - 0 1": False,  # the rook isn't defended
    "rk6/8/8/8/8/8/8/R3K3 w - - 0 1": True,
}


def records(fens: list[str]) -> np.ndarray:
    return np.array([from_fen(fen) for fen in fens], RECORD)


@pytest.fixture(scope="module")
def material(tmp_path_factory: pytest.TempPathFactory):
    """A net that counts pieces, in which positions differ a little, as a file."""
    path = tmp_path_factory.mktemp("net") / "material.nnue"
    write_net(path, naive.material_net(noise=3))
    return path


def test_what_everyone_can_see(tmp_path) -> None:
    material = tmp_path / "exact.nnue"
    write_net(material, naive.material_net())
    quiet = Quiet(NetEvaluator(material))
    assert dict(zip(KNOWN, quiet(records(list(KNOWN))).tolist(), strict=True)) == KNOWN


@given(st.integers(0, 10**9))
@settings(max_examples=20, deadline=None)
def test_the_filter_is_its_twin(material, seed: int) -> None:
    engine = Engine(NetEvaluator(material), hash_mb=1)

    def evaluate(board: chess.Board) -> int:
        return engine.evaluate(notation.from_fen(board.fen()))

    fens = random_fens(seed, 8, PLIES)
    quiet = Quiet(NetEvaluator(material))
    for fen, ours in zip(fens, quiet(records(fens)).tolist(), strict=True):
        board = chess.Board(fen)
        if board.is_check():
            assert not ours
            continue
        value = evaluate(board)
        try:
            theirs = naive.quiescence(board, evaluate, value, value + 1) == value
        except naive.Unsure:
            continue
        assert ours == theirs, fen


def test_positions_have_no_say_in_each_other(material) -> None:
    found = records(random_fens(1, 300, PLIES))
    quiet = Quiet(NetEvaluator(material))
    mask = quiet(found)
    assert 0.2 < mask.mean() < 0.9
    order = np.random.default_rng(1).permutation(len(found))
    assert (quiet(found[order]) == mask[order]).all()
    one_by_one = [bool(quiet(found[i : i + 1])[0]) for i in range(len(found))]
    assert one_by_one == mask.tolist()
    assert quiet(found[:0]).tolist() == []


def test_a_net_that_is_none_is_told(tmp_path) -> None:
    with pytest.raises(UserError, match=r"no\.nnue"):
        NetEvaluator(tmp_path / "no.nnue")


def test_sample_leaves_out_what_is_not_quiet_and_counts_it(shared, tmp_path) -> None:
    """By the command: what is kept is what the filter keeps of all positions, in their order."""
    texts = list(pgn.texts(shared / "data/games/fixture_evals_200.pgn"))[:25]
    (tmp_path / "games.pgn").write_bytes(b"\n".join(texts))
    every = ["--min-ply", "0", "--no-skip-check", "--no-skip-captures", "--no-skip-promotions"]

    def sampled(name: str, *options: str) -> np.ndarray:
        command = [
            *(sys.executable, "-m", "nnuelab.cli", "sample", "games.pgn", "--output", name),
            *(*every, "--report", "report.json", *options),
        ]
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
        return np.load(tmp_path / name)

    everything = sampled("all.npy")
    counts = json.loads((tmp_path / "report.json").read_text())["counts"]
    assert "filtered: not quiet" not in counts
    kept = sampled("one.npy", "--quiet-only", "--workers", "1")
    assert np.array_equal(kept, everything[Quiet(NetEvaluator())(everything)])
    boards = [chess.Board(to_fen(record)) for record in everything]
    assert 0 < len(kept) < len(everything) - sum(board.is_check() for board in boards)
    counts = json.loads((tmp_path / "report.json").read_text())["counts"]
    assert counts["filtered: not quiet"] == len(everything) - len(kept)
    assert counts["sampled"] == len(kept)
    parameters = json.loads((tmp_path / "one.npy.json").read_text())["parameters"]
    assert parameters["quiet_only"] is True
    assert np.array_equal(sampled("two.npy", "--quiet-only", "--workers", "2"), kept)
