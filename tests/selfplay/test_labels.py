"""Labels by this engine: functions of net, limit and position, whoever asks and in what order."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import chess
import numpy as np
import pytest

from nnuelab import artifacts
from nnuelab.chess import notation
from nnuelab.data.dataset import writing
from nnuelab.data.records import NO_SCORE, RECORD, from_fen
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import DEFAULT_NET
from nnuelab.selfplay import labels
from tests.data.labelling import found_by

NODES = 300


def positions(n: int) -> np.ndarray:
    """RECORD [n] after random moves."""
    draw, found = random.Random(3), []
    for i in range(n):
        board = chess.Board()
        for _ in range(8 + i):
            board.push(draw.choice(list(board.legal_moves)))
        found.append(from_fen(board.fen()))
        found[-1]["game"] = i
    return np.array(found, RECORD)


def test_a_label_is_what_a_fresh_engine_finds(tmp_path: Path) -> None:
    records = positions(24)
    expected = []
    for record in records:
        engine = Engine(NetEvaluator(), hash_mb=labels.HASH_MB)
        position = notation.from_fen(notation.to_fen(_position(record)))
        result = engine.search(position, nodes=NODES)
        expected.append((result.score_cp, result.move))
    for workers in (1, 3):
        labeller = labels.engine(NetEvaluator(), f"nodes {NODES}", workers)
        scores, moves = found_by(labeller, records, tmp_path)
        assert [*zip(scores.tolist(), moves.tolist(), strict=True)] == expected


def _position(record: np.void) -> np.void:
    from nnuelab.chess.position import POSITION
    from nnuelab.data.records import unpack

    position = np.zeros(1, POSITION)[0]
    unpack(record, position)
    return position


def test_mates_are_scored_by_the_rule_and_ends_not_at_all(tmp_path: Path) -> None:
    fens = {
        "6k1/5ppp/8/8/8/8/8/K2R4 w - - 0 1": 31_999,
        "rnb1kbnr/pppp1ppp/8/4p3/6Pq/5P2/PPPPP2P/RNBQKBNR w KQkq - 1 3": NO_SCORE,
        "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1": NO_SCORE,
    }
    records = np.array([from_fen(fen) for fen in fens], RECORD)
    scores, moves = found_by(labels.engine(NetEvaluator(), "depth 4", 1), records, tmp_path)
    assert scores.tolist() == list(fens.values())
    assert moves[1:].tolist() == [0, 0]


def test_another_net_or_limit_is_another_labeller(tmp_path: Path) -> None:
    other = tmp_path / "other.nnue"
    other.write_bytes(DEFAULT_NET.read_bytes())
    same = [labels.engine(NetEvaluator(net), "nodes 9").identity for net in (None, other)]
    assert same[0] == same[1]  # a net is known by its contents
    assert labels.engine(NetEvaluator(), "nodes 8").identity != same[0]
    with pytest.raises(UserError, match=r"none\.nnue"):
        NetEvaluator(tmp_path / "none.nnue")


def test_the_command_labels_and_says_by_what(tmp_path: Path) -> None:
    with writing(tmp_path / "sampled.npy") as writer:
        writer.append(positions(40))
    names = ["train", "validation"]
    outputs = [word for name in names for word in (f"--{name}", str(tmp_path / f"{name}.npy"))]
    program = [sys.executable, "-m", "nnuelab.cli", "label"]
    command = [*program, str(tmp_path / "sampled.npy"), *outputs]
    options = ["--labeller", "engine", "--nodes", "50", "--validation-share", "0.4"]
    subprocess.run([*command, *options], check=True)
    told = json.loads((tmp_path / "train.npy.json").read_text())["parameters"]
    assert told["labeller"] == "engine"
    assert told["net"] == artifacts.sha256(DEFAULT_NET)
    assert told["limit"] == "nodes 50"
    twice = subprocess.run([*command, *options, "--depth", "3"], capture_output=True)
    assert twice.returncode == 2
    assert b"one limit" in twice.stderr
