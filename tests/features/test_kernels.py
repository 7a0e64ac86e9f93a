"""Extraction and incremental updates, against definitions that share no code with them."""

from __future__ import annotations

from itertools import islice

import chess
import chess.pgn
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.chess import notation
from nnuelab.features import FeatureSet, batch, check, parse
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from tests.naive import features as naive

USER_BLOCKS = '''
from nnuelab.features import *

RINGS = Concept("RINGS", ("the rim", "the second ring", "the third ring", "the centre"))

def ring(square):
    f, k = file_of(square), rank_of(square)
    return min(f, 7 - f, k, 7 - k)

@piece_square("SIDE", FILES, COLORS)
def side(square, role, color):
    """A piece of colour c stands on file f."""
    return file_of(square), color

@piece_square("KIND", RINGS, ROLES)
def kind(square, role, color):
    """A piece of role r stands on the ring."""
    return ring(square), role
'''
"""Features that several pieces share, which no block of the study has."""

SETS = [
    "ALL+H+V",
    "H+V+D1+D2",
    "V+ALL+D2",
    "H*V",
    "D1*D1",
    "KING*ALL",
    "SIDE+KIND",
    "KING*SIDE*KIND+ALL+H*KIND",
]


@pytest.fixture(autouse=True)
def user_blocks(tmp_path_factory, monkeypatch):
    """The blocks above, in a file of the user's."""
    path = tmp_path_factory.getbasetemp() / "user_blocks.py"
    if not path.exists():
        path.write_text(USER_BLOCKS)
    monkeypatch.setenv("NNUELAB_BLOCKS", str(path))


@pytest.fixture(scope="module")
def games():
    return check.random_games(2 * len(check.STARTS), seed=7)


@pytest.mark.parametrize("name", check.PROPERTIES)
@pytest.mark.parametrize("expression", ["SIDE", "KIND", *SETS])
def test_property(expression, name, games):
    features = parse(expression)
    check.PROPERTIES[name](features, games)


@pytest.fixture(scope="module")
def real_positions(shared):
    """Every twelfth position of 24 real games, for python-chess and for us."""
    positions = []
    with open(shared / "data" / "games" / "fixture_clk_200.pgn") as file:
        for game in islice(iter(lambda: chess.pgn.read_game(file), None), 24):
            board = game.board()
            for i, move in enumerate(game.mainline_moves()):
                board.push(move)
                if i % 12 == 0:
                    positions.append((board.copy(stack=False), notation.from_fen(board.fen())))
    return positions


@pytest.mark.parametrize(
    "expression", [*naive.SIZES, "ALL+H+V+D1+D2", "H*V", "D2*ALL+V", "KING*PH+PV*H"]
)
def test_active_features_are_those_of_the_study_in_real_games(expression, real_positions):
    features = parse(expression)
    for board, position in real_positions:
        for perspective, color in enumerate((chess.WHITE, chess.BLACK)):
            wanted = naive.active(expression, board, color)
            assert check.extracted(features, position, perspective) == wanted


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(sorted(naive.SIZES)), min_size=1, max_size=3, unique=True),
    st.sampled_from(check.STARTS),
    st.lists(st.integers(0, 1 << 16), max_size=40),
)
def test_changes_lead_from_any_position_to_any_later_one(blocks, fen, choices):
    """python-chess plays, and says with the naive twin what has to come and go."""
    features = parse("+".join(blocks))
    old, board = chess.Board(fen), chess.Board(fen)
    for choice in choices:
        moves = list(board.legal_moves)
        if not moves:
            break
        board.push(moves[choice % len(moves)])
    before, after = (notation.from_fen(b.fen()) for b in (old, board))
    added, removed = np.empty((2, features.max_active), np.int32)
    for perspective, color in enumerate((chess.WHITE, chess.BLACK)):
        n_added, n_removed = kernels.changes(
            compiled(features).record, before, after, perspective, added, removed
        )
        was = set(naive.active(features.name, old, color))
        now = set(naive.active(features.name, board, color))
        assert sorted(added[:n_added].tolist()) == sorted(now - was)
        assert sorted(removed[:n_removed].tolist()) == sorted(was - now)


def test_a_feature_shared_by_two_pieces_is_one_and_stays_until_the_last_leaves():
    features, board = parse("H"), chess.Board("8/4k3/8/8/R7/8/8/R3K3 w - - 0 1")
    own_rook_on_a, own_rook_on_b = 3 * 2, 12 + 3 * 2
    position = notation.from_fen(board.fen())
    assert check.extracted(features, position, 0).count(own_rook_on_a) == 1
    lists = np.empty((2, features.max_active), np.int32)
    steps = [("a4b4", [own_rook_on_b], []), ("a1a8", [], []), ("a8b8", [], [own_rook_on_a])]
    for move, gained, lost in steps:
        old = notation.from_fen(board.fen())
        board.push_uci(move)
        counts = kernels.changes(
            compiled(features).record, old, notation.from_fen(board.fen()), 0, *lists
        )
        board.push(chess.Move.null())
        assert [lists[i, :n].tolist() for i, n in enumerate(counts)] == [gained, lost]


def test_a_capture_by_a_piece_of_the_same_role_leaves_a_colourless_feature_alone():
    features = parse("KIND")
    old = notation.from_fen("4k3/8/8/3r4/8/8/8/3RK3 w - - 0 1")
    new = notation.after(old, notation.parse_uci(old, "d1d5"))
    added, removed = np.empty((2, features.max_active), np.int32)
    n_added, n_removed = kernels.changes(compiled(features).record, old, new, 0, added, removed)
    assert n_added == 0
    assert [features.feature_name(i) for i in removed[:n_removed]] == ["rook on the rim"]


@pytest.mark.parametrize(
    ("expression", "move", "due"),
    [
        ("ALL+H", "e1e2", [False, False]),
        ("KING*ALL", "e1e2", [True, False]),
        ("KING*ALL", "a1a2", [False, False]),
        ("ALL+KING*H", "e1c1", [True, False]),
        ("KING", "e1e2", [False, False]),
    ],
)
def test_a_refresh_is_due_when_the_king_of_a_product_moves(expression, move, due):
    old = notation.from_fen("4k3/8/8/8/8/8/8/R3K3 w Q - 0 1")
    new = notation.after(old, notation.parse_uci(old, move))
    features = parse(expression)  # owns what the record points to
    tables = compiled(features).record
    assert [kernels.needs_refresh(tables, old, new, p) for p in range(2)] == due


def test_bounds_follow_from_the_pieces_that_a_block_is_about():
    assert parse("ALL").max_active == 32
    assert parse("KING").max_active == 1
    assert parse("KING*ALL").max_active == 32
    assert parse("SIDE").max_active == 16  # there are no more features


def test_bounds_hold_in_positions_that_no_game_reaches():
    position = notation.from_fen("kn6/pp6/8/8/QQQQQQ2/QQQQQQQQ/8/6K1 w - - 0 1")
    for expression in ("ALL", "H", "ALL+H*V"):
        features = parse(expression)
        out = np.empty(2 * features.max_active, np.int32)
        for perspective in range(2):
            n = kernels.active(compiled(features).record, position, perspective, out)
            assert n <= features.max_active


def test_wrong_tables_are_found_out(games):
    """Each property that reads the tables fails, and says where, when one entry is wrong."""
    features = FeatureSet(parse("H").terms)
    (tables, parts), (rows, *_) = compiled(features)._owned[:2]
    white_rook_on_a1 = (0, 6, 0, 0)
    rows[white_rook_on_a1] += 1
    tables["features"][0, 0, 6 * 64] += 1
    parts["squares"][0, 0, 0] += 1
    for name in (
        "extraction = definition",
        "colour flip",
        "incremental = refresh after every move",
        "batch extraction = definition",
    ):
        with pytest.raises(check.PropertyFailed) as failure:
            check.PROPERTIES[name](features, games)
        assert "seen by" in str(failure.value)
        assert "rook on file a" in str(failure.value)


def test_batch_takes_records_with_more_fields_and_ignores_what_it_does_not_need():
    dtype = np.dtype([("game", "<u4"), *check.PLACEMENT.descr, ("score", "<i2")])
    position = notation.from_fen(chess.STARTING_FEN)
    records = np.zeros(1, dtype)
    for field in check.PLACEMENT.names:
        records[field] = check.pack([position])[field]
    features = parse("ALL")
    out = [np.empty((1, 40), np.int32) for _ in range(2)]
    counts = [np.empty(1, np.int64) for _ in range(2)]
    batch(compiled(features), records, *out, *counts)
    assert counts[0][0] == counts[1][0] == 32
    for side, perspective in enumerate((0, 1)):
        assert sorted(out[side][0, :32].tolist()) == check.defined(features, position, perspective)
