"""A hand-crafted evaluation as an evaluator, a player and a labeller."""

from __future__ import annotations

import io
import json
import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import chess
import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab import artifacts, evaluator
from nnuelab.chess import notation
from nnuelab.chess.position import POSITION
from nnuelab.cli.__main__ import application
from nnuelab.data.dataset import writing
from nnuelab.data.records import unpack
from nnuelab.engine.search import Engine
from nnuelab.engine.uci import Uci
from nnuelab.errors import UserError
from nnuelab.evaluator import PLIES, PLY, invalidate, ply_at
from nnuelab.features import add_files
from nnuelab.hce import evaluation
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.jit import address, aligned, copy_record, jit
from nnuelab.selfplay.labels import HASH_MB
from nnuelab.tournament.limits import Limit
from nnuelab.tournament.players import Defaults, modules, read_players
from nnuelab.tournament.runner import tournament
from nnuelab.tournament.schedule import Settings
from nnuelab.tournament.words import Format
from tests.conftest import run_checked
from tests.features.test_kinds import folder  # noqa: F401 (a fixture)
from tests.naive import hce as naive
from tests.selfplay.test_labels import positions
from tests.tournament.test_runs import RULES, read, write_book

# Blocks of each way to sum: one table, piece-square with shared features, both players at once,
# updates from lists, the own king, a product; computed ones in groups that tell what changes, and
# one that doesn't.
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
  isolated: {features: ISOLATED, mg: -2, eg: 3}
  connected: {features: CONNECTED, mg: -2, eg: 3}
  passed_kings: {features: PASSED_KINGS, mg: -2, eg: 3}
  shelter: {features: SHELTER, mg: -2, eg: 3}
  tempo: {features: TEMPO, mg: 10, eg: 5}
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


def lines(games: int, rng: random.Random) -> Iterator[tuple[int, chess.Board]]:
    """Plies and their positions along random games, with steps back as in a search."""
    for _ in range(games):
        boards = [chess.Board()]
        yield 0, boards[0]
        while len(boards) < 100 and not boards[-1].is_game_over():
            if len(boards) > 3 and rng.random() < 0.1:  # another move than the one searched before
                del boards[-rng.randrange(1, 3) :]
            board = boards[-1].copy(stack=False)
            moves = list(board.legal_moves)
            special = [m for m in moves if m.promotion or board.is_castling(m)]
            special += [m for m in moves if board.is_en_passant(m)]
            board.push(rng.choice(special if special and rng.random() < 0.5 else moves))
            boards.append(board)
            yield len(boards) - 1, board


def test_updates_along_a_line_are_values_from_scratch(every_way: HceEvaluator) -> None:
    rng, line, compared = random.Random(1), Line(every_way.bind()), 0
    for ply, board in lines(8, rng):
        line.enter(ply, board)
        if rng.random() < 0.5:  # a search doesn't ask for every value
            assert line.value(ply) == naive.value(every_way.evaluation, board), board.fen()
            compared += 1
    assert compared > 100


@pytest.mark.slow
def test_updates_of_the_shipped_evaluation_over_2000_games() -> None:
    """Every value by memory that has seen nothing else, and some by the definitions."""
    found, compared = HceEvaluator(), 0
    bound, fresh = found.bind(), found.bind()
    line, alone = Line(bound), Line(fresh)
    for ply, board in lines(2000, random.Random(2)):
        line.enter(ply, board)
        value = line.value(ply)
        fresh.memory["remembered"]["is_used"] = 0
        alone.enter(0, board)
        assert value == alone.value(0), board.fen()
        if compared % 200 == 0:
            assert value == naive.value(found.evaluation, board), board.fen()
        compared += 1
    assert bound.memory["remembered"]["is_used"].sum() > 500
    assert compared > 100_000


CHECKED = """
from pathlib import Path
from nnuelab.chess import notation
from nnuelab.engine import bench
from nnuelab.engine.search import Engine
from nnuelab.hce.evaluator import HceEvaluator
from nnuelab.build import CHECKED
assert CHECKED
for file in (Path("every_way.yaml"), None):
    engine = Engine(HceEvaluator(file), 1)
    for fen in bench.POSITIONS:
        engine.search(notation.from_fen(fen), nodes=5000)
    assert engine._memory.evaluator.data["mismatches"] == 0, file
"""


@pytest.mark.slow
def test_every_evaluation_of_real_searches_is_that_from_scratch(tmp_path: Path) -> None:
    (tmp_path / "every_way.yaml").write_text(EVERY_WAY)
    run_checked(CHECKED, tmp_path)


BROKEN = """
from nnuelab.chess.pawns import pawns_moved, pawns_of
from nnuelab.features import *
from nnuelab.jit import popcount

@computed("FEW_PAWNS", Concept("PAWNS", tuple(f"{n} pawns" for n in range(8))), at_most=1,
          changed=pawns_moved)
def few_pawns(position, out):
    \"\"\"So many own pawns; whoever wrote this forgot that there may be 8.\"\"\"
    out[0] = popcount(pawns_of(position, OWN))
    return 1
"""


@pytest.mark.usefixtures("folder")  # which forgets the block afterwards
def test_a_broken_block_is_told_each_time_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Not even in what is remembered of positions with the same pawns."""
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "broken.yaml").write_text("terms: {pawns: {features: FEW_PAWNS, mg: 7, eg: 7}}")
    add_files([tmp_path / "broken.py"])
    bound = HceEvaluator(tmp_path / "broken.yaml").bind()
    start, fewer = chess.Board(), chess.Board("4k3/pppp4/8/8/8/8/PPPPP3/4K3 w - - 0 1")
    for _ in range(2):
        with pytest.raises(UserError, match=r"few_pawns wrote feature 8, not one of 0\.\.7"):
            list(evaluator.values(bound, [notation.from_fen(start.fen())]))
        assert list(evaluator.values(bound, [notation.from_fen(fewer.fen())])) == [0]


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


def test_commands_evaluate_and_refuse_in_one_line(tmp_path: Path) -> None:
    path, broken = tmp_path / "own.yaml", tmp_path / "broken.yaml"
    path.write_text("terms: {m: {features: OWN, by: [ROLES], mg: [80, 1, 2, 3, 4, 0], eg: 90}}")
    broken.write_text("terms: {m: {features: OWN, mg: [1, 2]}}")
    fen = "4k3/8/8/8/8/8/4P3/4K3 b - - 0 1"

    def said(*options: object) -> str:
        words = ["eval", *map(str, options), "--fen", fen]
        done = CliRunner().invoke(application(), words)
        return done.output.strip()

    assert said("--hce", path) == said("--net", path) == "-90"
    assert int(said("--hce", "default")) < 0
    assert "give --net or --hce, not both" in said("--hce", path, "--net", path)
    for option, file, words in (
        ("--hce", tmp_path / "none.yaml", r"there is no evaluation \S*none\.yaml"),
        ("--net", tmp_path / "none.yml", r"there is no evaluation \S*none\.yml"),
        ("--hce", "net.nnue", r"net\.nnue: the name of a hand-crafted evaluation ends in \.yaml"),
        ("--hce", broken, r"\S*broken\.yaml: term m: mg "),
    ):
        told = said(option, file)
        assert re.match(f"nnuelab: error: {words}", told)
        assert "\n" not in told


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


def test_evaluations_play_a_tournament(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(EVERY_WAY)
    book = write_book(tmp_path / "book.epd", 20)
    words = [f"own={path}", "shipped={hce: default}"]
    players = read_players(None, words, Defaults({"nodes": 20}, hash_mb=1))
    assert modules(players.values()) == ["tournament.evaluations"]
    output = tmp_path / "games.pgn"
    settings = Settings(4, Format.ROUND_ROBIN, seed=3, rules=RULES)
    tournament(players, book, output, settings, processes=1)
    games = read(output.read_text())
    assert Counter(game.headers["White"] for game in games) == {"own": 2, "shipped": 2}
    record = json.loads(output.with_name("games.pgn.json").read_text())
    assert artifacts.sha256(path) in json.dumps(record["inputs"])


def test_an_evaluation_labels(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text(EVERY_WAY)
    with writing(tmp_path / "sampled.npy") as writer:
        writer.append(positions(12))
    outputs = [tmp_path / f"{name}.npy" for name in ("train", "validation")]
    words = ["label", tmp_path / "sampled.npy", "--train", outputs[0], "--validation", outputs[1]]
    words += ["--labeller", "engine", "--net", path, "--nodes", 30, "--validation-share", 0.4]
    done = CliRunner().invoke(application(), [str(word) for word in [*words, "--workers", 1]])
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "train.npy.json").read_text())["parameters"]
    assert told["evaluation"] == artifacts.sha256(path)
    assert "net" not in told
    found = np.concatenate([np.load(output) for output in outputs])
    engine = Engine(HceEvaluator(path), hash_mb=HASH_MB)
    for record in found:
        position = np.zeros(1, POSITION)[0]
        unpack(record, position)
        position = notation.from_fen(notation.to_fen(position))
        engine.new_game()
        assert record["score"] == engine.search(position, nodes=30).score_cp
