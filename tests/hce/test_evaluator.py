"""A hand-crafted evaluation as an evaluator, a player and a labeller."""

from __future__ import annotations

import io
import random
import time
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest

from nnuelab import evaluator
from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.engine.uci import Uci
from nnuelab.errors import UserError
from nnuelab.evaluator import PLIES, PLY, invalidate, ply_at
from nnuelab.hce import evaluation
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.jit import address, aligned, copy_record, jit
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.players import Defaults, read_players
from tests.naive import hce as naive

# Blocks of each way to sum: one table, piece-square with shared features, both players at once,
# updates from lists, the own king, a product.
EVERY_WAY = """
name: every way
phase: {knight: 1, bishop: 1, rook: 2, queen: 4}
terms:
  material: {features: OWN, by: [ROLES], mg: [82, 337, 365, 477, 1025, 0], eg: 99}
  files: {features: OWN, by: [ROLES, FILES], mirror: true, mg: 3, eg: -5}
  files_of_all: {features: H, mg: 2, eg: 7}
  neighbours: {features: PH, mg: 1, eg: 3}
  mobility: {features: MB, by: [ROLES], mg: [0, 4, 3, 2, 1, 0], eg: 3}
  counts: {features: MC, mg: 1, eg: 3}
  attacks: {features: TH, by: [], mg: 5, eg: -3}
  buckets: {features: KB(16), mg: 5, eg: 3}
  king_and_pieces: {features: KING*SC, mg: -2, eg: 3}
"""


@pytest.fixture(scope="module")
def every_way(tmp_path_factory: pytest.TempPathFactory) -> HceEvaluator:
    path = tmp_path_factory.mktemp("hce") / "every_way.yaml"
    path.write_text(EVERY_WAY)
    found = evaluation.read(path)
    rng = np.random.default_rng(5)
    return HceEvaluator(found.with_weights(rng.integers(-99, 99, found.weights.shape)))


@jit
def _enter(line, ply, position):  # type: ignore[no-untyped-def]
    entry = ply_at(line, ply)
    copy_record(entry.position, position)
    invalidate(entry)


@jit
def _value(record, line, ply):  # type: ignore[no-untyped-def]
    return evaluator.evaluate(record, line, ply)


class Line:
    """Positions by ply, some of which are evaluated: as a search does."""

    def __init__(self, bound: evaluator.Bound) -> None:
        self._bound, self._line = bound, aligned(PLIES, PLY)

    def enter(self, ply: int, board: chess.Board) -> None:
        _enter(address(self._line), ply, notation.from_fen(board.fen(en_passant="legal")))

    def value(self, ply: int) -> int:
        return int(_value(self._bound.record, address(self._line), ply))


def follow(
    found: HceEvaluator, games: int, rng: random.Random, share: float, by_definition: float = 1.0
) -> int:
    """Values along random games, with steps back as in a search; returns how many were compared.

    All with the value from scratch, and a share of them with that of the definitions, in Python.
    """
    line, scratch, compared = Line(found.bind()), Line(found.bind()), 0
    for _ in range(games):
        board = chess.Board()
        line.enter(0, board)
        boards = [board.copy()]
        while len(boards) < 100 and not boards[-1].is_game_over():
            if len(boards) > 3 and rng.random() < 0.1:  # another move than the one searched before
                del boards[-rng.randrange(1, 3) :]
            board = boards[-1].copy()
            moves = list(board.legal_moves)
            special = [m for m in moves if m.promotion or board.is_castling(m)]
            special += [m for m in moves if board.is_en_passant(m)]
            board.push(rng.choice(special if special and rng.random() < 0.5 else moves))
            boards.append(board)
            line.enter(len(boards) - 1, board)
            if rng.random() < share:
                value = line.value(len(boards) - 1)
                scratch.enter(0, board)
                assert value == scratch.value(0), board.fen()
                if rng.random() < by_definition:
                    assert value == naive.value(found.evaluation, board), board.fen()
                compared += 1
    return compared


def test_updates_along_a_line_are_values_from_scratch(every_way: HceEvaluator) -> None:
    assert follow(every_way, 8, random.Random(1), 0.5) > 100


@pytest.mark.slow
def test_updates_of_the_shipped_evaluation_over_2000_games() -> None:
    assert follow(HceEvaluator(), 2000, random.Random(2), 1.0, 0.01) > 100_000


def test_both_players_see_the_same(every_way: HceEvaluator) -> None:
    rng, board, bound = random.Random(3), chess.Board(), every_way.bind()
    boards = []
    for _ in range(80):
        board.push(rng.choice(list(board.legal_moves)))
        if board.is_game_over():
            break
        boards.append(board.copy())
    values, turned = (
        list(evaluator.values(bound, [notation.from_fen(b.fen()) for b in each]))
        for each in (boards, [b.mirror() for b in boards])
    )
    assert values == turned
    assert len(set(values)) > 20


def test_a_file_is_read_by_its_ending(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("terms: {material: {features: OWN, by: [ROLES], mg: 100, eg: 100}}")
    found = evaluator.read(path)
    assert isinstance(found, HceEvaluator)
    assert found.name == "own"
    assert found.files() == {"evaluation": path}
    assert evaluator.module_of(path) == "hce.evaluator"
    assert evaluator.module_of(None) == evaluator.module_of("a.nn") == "nnue.evaluator"


def test_it_searches_and_finds_mate(every_way: HceEvaluator) -> None:
    mate = Engine(every_way, 1).search(
        notation.from_fen("6k1/5ppp/8/8/8/8/5PPP/3R2K1 w - - 0 1"), depth=4
    )
    assert mate.mate == 1


def test_uci_takes_an_evaluation(tmp_path: Path) -> None:
    path = tmp_path / "material.yaml"
    path.write_text("terms: {m: {features: OWN, by: [ROLES], mg: [100, 300, 300, 500, 900, 0]}}")
    said = io.StringIO()

    def commands() -> Iterator[str]:
        yield f"setoption name EvalFile value {path}\n"
        yield "position fen 3qk3/8/8/8/8/8/8/3QK3 w - - 0 1\n"
        yield "go nodes 100\n"
        for _ in range(600):
            if "bestmove" in said.getvalue():
                break
            time.sleep(0.1)
        yield "quit\n"

    Uci(output=said).run(commands())
    assert "bestmove d1d8" in said.getvalue()


def test_players(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(EVERY_WAY)
    words = [f"a={path}", "b={hce: default, nodes: 7, options: {Hash: 8}}"]
    found = read_players(None, words, Defaults({"nodes": 5}))
    assert found["a"].files() == {"hce": path}
    assert found["a"].settings() == {"hce": str(path), "hash_mb": 4, **Limit(nodes=5).told()}
    assert found["b"].files() == {"hce": evaluation.DEFAULT}
    assert found["a"].as_engine()[1]["EvalFile"] == path.resolve()
    assert found["b"].as_engine()[1]["EvalFile"] == evaluation.DEFAULT.resolve()
    with pytest.raises(UserError, match=r"player c: there is no evaluation nowhere.yaml"):
        read_players(None, ["c=nowhere.yaml"], Defaults({"nodes": 5}))
    with pytest.raises(UserError, match="an evaluation has no option Threads"):
        read_players(None, ["c={hce: default, options: {Threads: 2}}"], Defaults({"nodes": 5}))
