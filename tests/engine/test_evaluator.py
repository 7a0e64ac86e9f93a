"""A search over an evaluator that is no net: nothing but its address is known of it."""

from dataclasses import replace
from pathlib import Path

import chess
import numpy as np
from numba import types

from nnuelab import artifacts, sources
from nnuelab.chess import notation
from nnuelab.engine import deepening
from nnuelab.engine.search import Engine
from nnuelab.engine.state import EVALUATION_BOUND
from nnuelab.evaluator import EVALUATOR, ply_at, values
from nnuelab.features import parse
from nnuelab.jit import entry, popcount
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.selfplay import labels
from tests import feature_sets
from tests.nnue_nets import random_net
from tests.positions import KIWIPETE

WORTH = np.array([100, 300, 300, 500, 900, 0], np.int64)


def _count(factor, line, ply):
    """Own less enemy pieces, times a factor."""
    position = ply_at(line, ply).position
    own, enemy = position.colors[position.turn], position.colors[position.turn ^ 1]
    total = np.int64(0)
    for role in range(6):
        pieces = position.roles[role]
        total += WORTH[role] * (popcount(pieces & own) - popcount(pieces & enemy))
    return total * factor


class Material:
    """An evaluator, bound already: it needs no memory."""

    name = "material"

    def __init__(self, factor: int = 1) -> None:
        self.record = np.zeros(1, EVALUATOR)[0]
        self.record["evaluate"] = entry(_count, types.int64, types.uint64, types.int64)
        self.record["data"] = factor

    def files(self) -> dict[str, Path]:
        return {}

    def code(self) -> str:
        return artifacts.code_hash(None, [__file__])

    def bind(self) -> "Material":
        return self

    def check(self) -> None:
        pass


def counted(fen: str) -> int:
    board = chess.Board(fen)
    pieces = board.piece_map().values()
    signs = [1 if piece.color == board.turn else -1 for piece in pieces]
    return sum(
        sign * int(WORTH[piece.piece_type - 1]) for sign, piece in zip(signs, pieces, strict=True)
    )


FENS = [
    chess.STARTING_FEN,
    KIWIPETE,
    "4k3/8/8/8/8/8/3q4/K7 b - - 0 1",
    "8/8/8/8/8/2k5/1p6/K7 w - - 0 1",
]


def test_values_are_those_of_the_evaluator() -> None:
    positions = [notation.from_fen(fen) for fen in FENS]
    assert list(values(Material(), positions)) == [counted(fen) for fen in FENS]
    net = NetEvaluator(random_net("ALL+KA", 16))
    expected = list(values(net.bind(), positions))
    assert [next(values(net.bind(), [position])) for position in positions] == expected


def test_any_evaluator_is_searched_without_compiling_the_search_again() -> None:
    net = Engine(NetEvaluator(), hash_mb=1)
    compiled = len(deepening.iterate.signatures)
    engine = Engine(Material(), hash_mb=1)
    assert len(deepening.iterate.signatures) == compiled
    hanging = notation.from_fen("3q3k/8/8/8/8/8/8/3R3K w - - 0 1")
    assert notation.move_to_uci(engine.search(hanging, depth=3).move) == "d1d8"
    assert engine.search(hanging, depth=1).score_cp == 500
    position = notation.from_fen(KIWIPETE)
    before = engine.search(position, nodes=2000)
    engine.set_evaluator(NetEvaluator())
    net.new_game()
    found, wanted = (each.search(position, nodes=2000) for each in (engine, net))
    assert (found.move, found.score_cp, found.pv) == (wanted.move, wanted.score_cp, wanted.pv)
    assert found.score_cp != before.score_cp


def test_no_evaluation_passes_for_a_mate() -> None:
    position = notation.from_fen("4k3/8/8/8/8/8/3q4/K7 b - - 0 1")
    engine = Engine(Material(1000), hash_mb=1)
    assert engine.evaluate(position) == EVALUATION_BOUND
    assert next(values(Material(1000), [position])) == 900_000


def test_what_a_search_is_made_of_and_what_its_net_is_are_told_apart() -> None:
    inference = sources.PACKAGE / "nnue" / "inference.py"
    assert inference not in sources.closure("nnuelab.engine.search")
    assert inference not in sources.closure("nnuelab.selfplay.labels")
    assert inference in sources.closure("nnuelab.nnue.evaluator")
    codes = {NetEvaluator(random_net(name, 8)).code() for name in ("ALL", "ALL+MB", "ALL", "MC")}
    assert len(codes) == 3


def test_a_net_needs_no_file_but_itself(tmp_path: Path) -> None:
    listed = feature_sets.pair_file(tmp_path)
    name = f"TOPK(20,{listed})"
    net = replace(random_net(name, 8), files=parse(name).contents)
    code = NetEvaluator(net).code()
    listed.unlink()
    assert NetEvaluator(net).code() == code


def test_labels_say_by_which_evaluator() -> None:
    kinds = [labels.engine(e, "nodes 9").identity for e in (Material(), NetEvaluator())]
    assert kinds[0]["code"] != kinds[1]["code"]
    assert "net" not in kinds[0]
