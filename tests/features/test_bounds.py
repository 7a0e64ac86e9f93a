"""A block of a user's that lies about its bounds: told, and no memory overwritten."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.features import add_files, check, parse
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.inference import Inference
from tests.features.test_kinds import folder  # noqa: F401 (a fixture)
from tests.nnue_nets import random_net

QUEENS = '''
from nnuelab.features import *
from nnuelab.jit import jit

NUMBERS = Concept("NUMBERS", tuple(f"{n} queens" for n in range(4)))

@jit
def write(out, n, feature):
    out[n] = feature
    out[n] += 1
    out[n] -= 1

@computed("LIAR", SQUARES, COLORS, at_most=AT_MOST)
def liar(position, out):
    """A queen of colour c stands on a square; whoever wrote this thought of two a side."""
    n = 0
    for square in range(64):
        if position.board[square] >> 1 == QUEEN:
            write(out, n, square * 2 + (position.board[square] & 1))
            n += 1
    return n

@computed("REPEATS", COLORS, at_most=20)
def repeats(position, out):
    """The same features over and over."""
    for i in range(20):
        out[i] = i % 2
    return 20

@computed("WILD", COLORS, at_most=4)
def wild(position, out):
    """Everywhere but where it should write."""
    for i in range(-100_000, 0):
        out[i] = 7
    for i in range(4, 100_000):
        out[i] = 7
    return -3

@computed("STRAY", COLORS, NUMBERS, at_most=4)
def stray(position, out):
    """The number of queens, which may be more than it has names for."""
    n = 0
    for square in range(64):
        n += position.board[square] >> 1 == QUEEN
    out[0] = n
    return 1
'''
FEW = "3qk3/8/8/8/8/8/8/3QK3 w - - 0 1"
MANY = "kqqqqqqq/qqqqqqqq/8/8/8/8/QQQQQQQQ/KQQQQQQQ w - - 0 1"
CANARY = -77
CROWD = (
    chess.STATUS_TOO_MANY_WHITE_PAWNS
    | chess.STATUS_TOO_MANY_BLACK_PAWNS
    | chess.STATUS_TOO_MANY_WHITE_PIECES
    | chess.STATUS_TOO_MANY_BLACK_PIECES
    | chess.STATUS_TOO_MANY_CHECKERS
    | chess.STATUS_IMPOSSIBLE_CHECK
)
EXPRESSIONS = ("LIAR", "ALL+LIAR", "LIAR*COUNT", "PHASE(2,LIAR+ALL)", "LIAR*LIAR+ALL", "LIAR+WILD")


@pytest.fixture
def blocks(folder):  # noqa: F811
    """The blocks above, and one that tells the truth."""
    truth = '''
from nnuelab.features import *

@computed("COUNT", COLORS, at_most=1)
def count(position, out):
    """It is colour c's move."""
    out[0] = position.turn
    return 1
'''
    (folder / "truth.py").write_text(truth)
    (folder / "queens.py").write_text(QUEENS.replace("AT_MOST", "4"))
    add_files([folder / "queens.py", folder / "truth.py"])
    return folder


def guarded(*shape: int) -> tuple[np.ndarray, np.ndarray]:
    """A list, and all the memory around it."""
    memory = np.full((3, *shape), CANARY, np.int32)
    return memory[1], memory


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_nothing_is_written_beyond_the_lists(expression, blocks) -> None:
    found = parse(expression)
    tables, positions = compiled(found), [notation.from_fen(fen) for fen in (FEW, MANY)]
    (active, around), (both, around_both) = guarded(found.max_active), guarded(2, found.max_active)
    (plus, around_plus), (minus, around_minus) = (
        guarded(found.max_active),
        guarded(found.max_active),
    )
    others, around_others = guarded(2, found.max_active)
    for old in positions:
        for new in positions:
            for perspective in range(2):
                n = kernels.active(tables.record, new, perspective, active)
                assert 0 <= n <= found.max_active
                changes = kernels.changes(tables.record, old, new, perspective, plus, minus)
                assert max(changes) <= found.max_active
            kernels.changes_of_both(tables.record, old, new, both, others)
    for memory in (around, around_both, around_plus, around_minus, around_others):
        assert (memory[0] == CANARY).all()
        assert (memory[2] == CANARY).all()
    with pytest.raises(UserError, match=r"queens\.py: block \w+: \w+ returned -?\d+ active feat"):
        tables.check()


def test_a_bound_that_holds_costs_nothing_and_says_nothing(blocks) -> None:
    """The same function, with room for all queens: the same features as by the definition."""
    (blocks / "more").mkdir()
    path = blocks / "more/queens.py"
    path.write_text(QUEENS.replace("AT_MOST", "30").replace("LIAR", "HONEST"))
    path.write_text(path.read_text().split('@computed("REPEATS"')[0])
    add_files([path])
    found = parse("HONEST")
    for position in check.crowded_positions():
        for perspective in range(2):
            wanted = sorted(check.defined(found, position, perspective))
            assert check.extracted(found, position, perspective) == wanted
    compiled(found).check()


def test_batches_and_nets_tell_it_once(blocks) -> None:
    found = parse("ALL+LIAR")
    records = check.pack([notation.from_fen(fen) for fen in (FEW, MANY, FEW)])
    extract(compiled(found), records[:1], found.max_active)
    with pytest.raises(
        UserError, match=r"block LIAR: liar returned 30 active features, not 0\.\.4"
    ):
        extract(compiled(found), records, found.max_active)
    extract(compiled(found), records[2:], found.max_active)
    evaluator = Inference(random_net("ALL+LIAR"))
    evaluator.evaluate_fens([FEW])
    with pytest.raises(UserError, match="features check LIAR"):
        evaluator.evaluate_fens([FEW, MANY])


def test_a_search_that_meets_such_a_position_ends_with_the_reason(blocks) -> None:
    engine = Engine(NetEvaluator(random_net("LIAR+ALL")), hash_mb=1)
    assert engine.search(notation.from_fen(FEW), depth=4).move
    # Here are four, and the fifth is a move away.
    position = notation.from_fen("3qk3/P7/8/8/8/8/8/QQQ1K3 w - - 0 1")
    with pytest.raises(UserError, match=r"returned 5 active features, not 0\.\.4"):
        engine.search(position, depth=3)
    with pytest.raises(UserError, match="returned 30 active features"):
        engine.evaluate(notation.from_fen(MANY))
    assert engine.search(notation.from_fen(FEW), depth=4).move


def test_features_that_there_are_not_read_no_other_weights(blocks) -> None:
    found = parse("STRAY+ALL")
    with pytest.raises(UserError, match=r"block STRAY: stray wrote feature 30, not one of 0\.\.7"):
        check.extracted(found, notation.from_fen(MANY), 0)
    out = np.empty(found.max_active, np.int32)
    n = kernels.active(compiled(found).record, notation.from_fen(MANY), 0, out)
    assert 0 <= out[:n].min() <= out[:n].max() < found.size


def test_repeated_features_do_not_need_more_room_than_there_are_features(blocks) -> None:
    assert parse("REPEATS").max_active == 2
    with pytest.raises(UserError, match=r"returned 20 active features, not 0\.\.2"):
        check.extracted(parse("REPEATS*LIAR"), notation.from_fen(FEW), 0)


DISHONEST = '''
from nnuelab.features import *

@computed("TWICE", COLORS, at_most=2)
def twice(position, out):
    """One feature, twice."""
    out[0] = out[1] = 1
    return 2

@computed("EATS", ROLES, at_most=6)
def eats(position, out):
    """Roles that are there, whose bitboards are empty afterwards."""
    n = 0
    for role in range(6):
        if position.roles[role] != 0:
            out[n] = role
            n += 1
        position.roles[role] = 0
    return n
'''


@pytest.mark.parametrize(
    ("name", "broken", "message"),
    [
        ("TWICE", "indices and bounds", r"more than once in the list: 1 \(TWICE: enemy\)"),
        ("H+EATS", "extraction = definition", r"changes the position itself \(roles\)"),
        ("PHASE(2,EATS)", "extraction = definition", r"changes the position itself \(roles\)"),
    ],
)
def test_the_check_finds_repeated_features_and_a_changed_position(
    name, broken, message, blocks
) -> None:
    (blocks / "dishonest.py").write_text(DISHONEST)
    add_files([blocks / "dishonest.py"])
    games = check.random_games(1, 5)
    before = [position.tobytes() for position in games[0].positions]
    with pytest.raises(check.PropertyFailed, match=r"PPPP.* seen by White: .*" + message):
        check.PROPERTIES[broken](parse(name), games)
    assert [position.tobytes() for position in games[0].positions] == before


@pytest.mark.parametrize("name", ["LIAR", "PHASE(3,LIAR)", "STRAY"])
def test_the_check_finds_the_position(name, blocks) -> None:
    with pytest.raises(check.PropertyFailed, match=r"[qQ]{4}.* seen by White: "):
        check.PROPERTIES["indices and bounds"](parse(name), check.random_games(1, 5))


def test_crowded_positions_are_full_of_each_kind_of_piece() -> None:
    boards = [chess.Board(notation.to_fen(position)) for position in check.crowded_positions()]
    assert all(board.status() & ~CROWD == chess.STATUS_VALID for board in boards)
    for role in (chess.PAWN, chess.KNIGHT, chess.BISHOP, chess.ROOK, chess.QUEEN):
        assert max(len(board.pieces(role, chess.WHITE)) for board in boards) == 30
        assert max(board.pieces_mask(role, chess.BLACK).bit_count() for board in boards) >= 8
