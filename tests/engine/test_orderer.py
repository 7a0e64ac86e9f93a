"""A policy that orders the moves of a search, against numpy and python-chess."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import chess
import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab.chess import notation
from nnuelab.chess.moves import NO_MOVE
from nnuelab.cli.__main__ import application
from nnuelab.data.records import from_fen
from nnuelab.engine import bench, ordering
from nnuelab.engine.deepening import place_root
from nnuelab.engine.node import enter, enter_null, list_of
from nnuelab.engine.ordering import HISTORY_LIMIT, LOSING
from nnuelab.engine.search import Engine
from nnuelab.engine.state import position_at
from nnuelab.errors import UserError
from nnuelab.jit import jit
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import write_net
from nnuelab.orderer import SCORE_LIMIT
from nnuelab.policy.orderer import PER_LOGIT, PolicyOrderer
from nnuelab.policy.policyfile import HEADS, Policy, write_policy
from tests.engine.test_uci import COMMAND, converse
from tests.naive import policy as naive
from tests.naive.engine import groups, material_net
from tests.policy.policies import random_policy
from tests.positions import random_fens

DEPTH = 8


@jit
def _scored(s, ply, n, hash_move, ordered):  # type: ignore[no-untyped-def]
    """Scores the moves of a ply as a search does that has listed them all, best first."""
    moves = list_of(s, ply)
    n = ordering.score_moves(s, ply, moves, 0, n, hash_move, False, ordered)
    for i in range(n):
        ordering.pick(position_at(s, ply), moves, i, n)
    return n


class Listing:
    """An engine whose lists of moves one looks at."""

    def __init__(self, policy: Policy) -> None:
        self.engine = Engine(NetEvaluator(material_net()), 1, orderer=PolicyOrderer(policy))
        self.memory = self.engine._memory

    def place(self, fen: str) -> None:
        """The root."""
        place_root(self.engine.record, notation.from_fen(fen), np.empty(0, np.uint64), 0)

    def entries(
        self, board: chess.Board, ply: int = 0, first: int = NO_MOVE, ordered: bool = True
    ) -> list[tuple[chess.Move, int]]:
        """The moves of a ply, where the board is, with their scores, as a search orders them."""
        moves = notation.moves_of(notation.from_fen(board.fen()))
        self.memory.moves[ply, : len(moves)] = moves
        n = _scored(self.engine.record, ply, len(moves), first, ordered)
        return [
            (
                chess.Move.from_uci(notation.move_to_uci(ordering.move_of(int(entry)))),
                ordering.score_of(int(entry)),
            )
            for entry in self.memory.moves[ply, :n]
        ]


def logits(policy: Policy, board: chess.Board) -> dict[chess.Move, float]:
    """Those of all legal moves, by numpy."""
    out, _ = naive.outputs_of(policy, from_fen(board.fen()))
    seen = 0 if board.turn else 56
    return {
        move: naive.logit(policy, out, move.from_square ^ seen, move.to_square ^ seen)
        for move in board.legal_moves
    }


@pytest.fixture(scope="module", params=HEADS)
def policy(request: pytest.FixtureRequest) -> Policy:
    return random_policy(request.param)


@pytest.fixture(scope="module")
def listing(policy: Policy) -> Listing:
    return Listing(policy)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("policies") / "a.policy"
    write_policy(path, random_policy(seed=3))
    return path


def test_moves_are_those_of_python_chess_sorted_by_numpy(policy: Policy, listing: Listing) -> None:
    rng = random.Random(1)
    turns = set()
    for fen in random_fens(5, 150):
        board = chess.Board(fen)
        moves = notation.moves_of(notation.from_fen(fen))
        if not moves:
            continue
        turns.add(board.turn)
        first = rng.choice([NO_MOVE, *moves])
        listing.place(fen)
        found = [move for move, _ in listing.entries(board, first=first)]
        table = chess.Move.from_uci(notation.move_to_uci(first)) if first else None
        expected, value = groups(board, list(board.legal_moves), table), logits(policy, board)
        for group in expected:
            part, found = found[: len(group)], found[len(group) :]
            assert set(part) == set(group)
            if group is expected[2]:
                values = [value[move] for move in part]
                # Scores are whole numbers: nearly equal logits may change places.
                assert values == pytest.approx(sorted(values, reverse=True), abs=2 / PER_LOGIT)
    assert turns == {chess.WHITE, chess.BLACK}


def test_a_policy_is_added_to_the_history_of_quiet_moves_alone(
    policy: Policy, listing: Listing
) -> None:
    rng = np.random.default_rng(2)
    for name in ("history", "continuations", "captures"):
        array = getattr(listing.memory, name)
        array[...] = rng.integers(-HISTORY_LIMIT, HISTORY_LIMIT, array.shape)
    for fen in random_fens(6, 60):
        board = chess.Board(fen)
        listing.place(fen)
        before = dict(listing.entries(board, ordered=False))
        after, value = dict(listing.entries(board)), logits(policy, board)
        assert set(after) == set(before) == set(board.legal_moves)
        for move, score in after.items():
            quiet = not board.is_capture(move) and move.promotion is None
            added = PER_LOGIT * value[move] if quiet else 0
            assert score - before[move] == pytest.approx(added, abs=0.001 * abs(added) + 5)
    listing.memory.forget()


def test_null_moves_and_moves_are_seen_by_who_is_to_move_then(
    policy: Policy, listing: Listing
) -> None:
    record = listing.engine.record
    for fen in random_fens(7, 60):
        board = chess.Board(fen)
        if board.is_check() or not any(board.legal_moves):
            continue
        for null in (True, False):
            board, listing_moves = chess.Board(fen), notation.moves_of(notation.from_fen(fen))
            listing.place(fen)
            if null:
                enter_null(record, 0)
                board.push(chess.Move.null())
            else:
                enter(record, 0, listing_moves[0])
                board.push_uci(notation.move_to_uci(listing_moves[0]))
            found, value = listing.entries(board, ply=1), logits(policy, board)
            for move, score in found:
                if move in groups(board, [move], None)[2]:
                    assert score == pytest.approx(PER_LOGIT * value[move], rel=1e-3, abs=5)


def test_both_players_order_alike(listing: Listing) -> None:
    for fen in random_fens(8, 60):
        board = chess.Board(fen)
        other = board.mirror()
        scores = []
        for each in (board, other):
            listing.place(each.fen())
            scores.append(dict(listing.entries(each)))
        for move, score in scores[0].items():
            flipped = chess.Move(move.from_square ^ 56, move.to_square ^ 56, move.promotion)
            assert scores[1][flipped] == pytest.approx(score, rel=1e-3, abs=5)


def test_no_output_lifts_a_quiet_move_out_of_its_place() -> None:
    listing = Listing(random_policy(scale=1e6))
    seen = set()
    for fen in random_fens(9, 40):
        board = chess.Board(fen)
        listing.place(fen)
        found = listing.entries(board)
        quiet = groups(board, [move for move, _ in found], None)[2]
        for move, score in found:
            if move in quiet:
                assert LOSING < score < ordering.CAPTURE // 2
                seen.add(abs(score))
    assert max(seen) == SCORE_LIMIT


def test_searches_are_the_same_twice_and_as_before_without_it() -> None:
    evaluator, orderer = NetEvaluator(), PolicyOrderer(random_policy(seed=3))
    plain = bench.run(Engine(evaluator, 4), DEPTH).nodes
    engine = Engine(evaluator, 4, orderer=orderer, ordering_depth=1)
    nodes = bench.run(engine, DEPTH).nodes
    assert nodes == bench.run(engine, DEPTH).nodes
    assert nodes == bench.run(Engine(evaluator, 4, None, orderer, 1), DEPTH).nodes
    engine.set_orderer(orderer, 127)
    at_root = bench.run(engine, DEPTH).nodes
    engine.set_evaluator(evaluator)  # which leaves the orderer in place
    assert at_root == bench.run(engine, DEPTH).nodes
    engine.set_orderer(None)
    assert bench.run(engine, DEPTH).nodes == plain
    assert len({plain, nodes, at_root}) == 3


def test_what_a_block_does_wrong_ends_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine(NetEvaluator(material_net()), 1, orderer=PolicyOrderer(random_policy()))

    def check() -> None:
        raise UserError("block X wrote beyond its bounds")

    monkeypatch.setattr(engine._orderer, "check", check)
    with pytest.raises(UserError, match="block X"):
        engine.search(notation.from_fen(chess.STARTING_FEN), depth=1)


def test_uci_options_order_and_wrong_ones_are_told(file: Path, tmp_path: Path) -> None:
    net = tmp_path / "material.nnue"
    write_net(net, material_net(noise=3))
    options = [f"setoption name OrderingFile value {file}", "setoption name OrderingDepth value 1"]

    def nodes(*lines: str) -> str:
        return converse(net, *lines, "bench 6")[-2]

    plain, ordered = nodes(), nodes(*options)
    assert plain != ordered
    assert nodes(*options[::-1]) == nodes("isready", *options) == ordered
    assert nodes(*options, "setoption name OrderingFile value <empty>") == plain
    answers = converse(net, "uci")
    assert "option name OrderingFile type string default <empty>" in answers
    broken = tmp_path / "broken.policy"
    broken.write_bytes(file.read_bytes()[:-9])
    for name, value, told in (
        ("OrderingFile", tmp_path / "none.policy", "none.policy"),
        ("OrderingFile", broken, "broken.policy"),
        ("OrderingFile", net, "material.nnue"),
        ("OrderingDepth", "0", "OrderingDepth"),
        ("OrderingDepth", "128", "OrderingDepth"),
        ("OrderingDepth", "x", "OrderingDepth"),
    ):
        answers = converse(net, *options, f"setoption name {name} value {value}", "bench 6")
        assert answers[0].startswith("info string error")
        assert told in answers[0]
        assert answers[-2] == ordered  # nothing has changed


def test_the_command_takes_a_policy_and_refuses_in_one_line(file: Path, tmp_path: Path) -> None:
    def said(*options: object) -> str:
        return CliRunner().invoke(application(), ["uci", *map(str, options)]).output.strip()

    command = [*COMMAND, "uci", "--ordering", str(file)]
    done = subprocess.run(command, input="bench 6\n", capture_output=True, text=True)
    by_option = converse(None, f"setoption name OrderingFile value {file}", "bench 6")
    assert done.stdout.splitlines()[-2] == by_option[-2]
    other = tmp_path / "other.policy"
    other.write_text("not a policy")
    for path in (other, tmp_path / "none.policy"):
        told = said("--ordering", path)
        assert told.startswith("nnuelab: error: ")
        assert path.name in told
        assert "\n" not in told
    assert "a policy plays without a search" in said("--ordering", file, "--policy", file)
