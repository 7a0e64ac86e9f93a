"""Attacks, mobility, moves and threats, against python-chess and by hand."""

from __future__ import annotations

import io
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest
import zstandard

from nnuelab.chess import notation
from nnuelab.features import check, parse
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import compiled
from tests.conftest import ROOT
from tests.naive import attacks as naive

SETS = ["V*MC", "MC*AC", "MB*D1", "ALL+MB+PM", "TH+AC*H"]
"""Products and sums with what comes and goes by the dozen."""

SPECIAL = (
    "4k3/8/8/8/4r3/8/4R3/4K3 w - - 0 1",  # pinned on a file
    "4k3/8/8/8/7b/8/5P2/4K3 w - - 0 1",  # a pinned pawn with nothing to take
    "4k3/8/8/8/8/6b1/5P2/4K3 w - - 0 1",  # which it can take
    "4k3/4q3/8/8/4N3/8/8/4K3 w - - 0 1",  # a pinned knight
    "4k3/8/8/8/1q6/8/3Q4/4K3 b - - 0 1",  # a pinned queen, of who isn't to move
    "4k3/8/8/8/7b/8/5n2/r3K3 w - - 0 1",  # check; the king can't step back on the line
    "4k3/8/5N2/8/8/8/4R3/4K3 b - - 0 1",  # double check
    "4k3/8/8/2Pp4/8/8/8/4K3 w - d6 0 1",  # en passant doesn't count
    "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1",  # nor does castling
    "1n2k3/P7/8/8/8/8/7p/4K1N1 w - - 0 1",  # a promotion is one square
    "8/8/8/8/4k3/8/4K3/8 w - - 0 1",  # kings keep apart
    "4k3/8/8/8/8/3q4/4r3/4K3 w - - 0 1",  # a protected checker
)


def compared(board: chess.Board, names: list[str]) -> None:
    """Compares blocks with python-chess, for both perspectives."""
    position = notation.from_fen(board.fen())
    for name in names:
        features = parse(name)
        for perspective, color in enumerate((chess.WHITE, chess.BLACK)):
            found = check.extracted(features, position, perspective)
            assert found == sorted(naive.block(name, board, color)), (board.fen(), name)


def counted(board: chess.Board) -> None:
    """Compares MB and MC with python-chess's own legal moves of both colours, seen by White."""
    position = notation.from_fen(board.fen())
    legal = {
        square * 12 + role * 2 + c
        for c, color in enumerate((chess.WHITE, chess.BLACK))
        for role, square in naive.legal_targets(board, color)
    }
    assert check.extracted(parse("MB"), position, 0) == sorted(legal), board.fen()
    numbers = naive.counts(legal, naive.MOBILITY_MAX)
    assert check.extracted(parse("MC"), position, 0) == sorted(numbers), board.fen()


def real_boards(path: Path, n: int) -> Iterator[chess.Board]:
    """Positions of as many games, every seventh."""
    with zstandard.open(path, "rb") as file:
        games = io.TextIOWrapper(file, encoding="utf-8", errors="replace")
        yield from islice(_boards(games), n)


def _boards(games: io.TextIOWrapper) -> Iterator[chess.Board]:
    while (game := chess.pgn.read_game(games)) is not None:
        board = game.board()
        for i, move in enumerate(game.mainline_moves()):
            board.push(move)
            if i % 7 == 6:
                yield board.copy(stack=False)


@pytest.fixture(scope="module")
def boards():
    """Of the games that come with the project."""
    return list(real_boards(ROOT / "resources" / "embedded" / "games.pgn.zst", 300))


def test_blocks_are_those_of_python_chess_in_games(boards):
    for board in boards[::3]:
        compared(board, list(naive.SIZES))


def test_mobility_is_that_of_legal_moves_in_games(boards):
    for board in boards:
        counted(board)


@pytest.mark.slow
def test_mobility_is_that_of_legal_moves_in_20000_positions_of_real_games(shared):
    n = 0
    for board in real_boards(shared / "data" / "games" / "lichess_carlsen_evals.pgn.zst", 20_000):
        counted(board)
        n += 1
    assert n == 20_000


@pytest.mark.slow
def test_blocks_are_those_of_python_chess_in_500_positions_of_real_games(shared):
    for board in real_boards(shared / "data" / "games" / "otb_sample_40k.pgn.zst", 500):
        compared(board, list(naive.SIZES))


@pytest.mark.parametrize("fen", SPECIAL)
def test_blocks_are_those_of_python_chess_in_special_positions(fen):
    for side in (chess.Board(fen), chess.Board(fen).mirror()):
        compared(side, list(naive.SIZES))
        counted(side)


@pytest.fixture(scope="module")
def games():
    return check.random_games(len(check.STARTS), seed=11)


@pytest.mark.parametrize("name", check.PROPERTIES)
@pytest.mark.parametrize("expression", [*naive.SIZES, *SETS])
def test_property(expression, name, games):
    check.PROPERTIES[name](parse(expression), games)


def named(expression: str, fen: str) -> set[str]:
    """Names of what White sees."""
    features = parse(expression)
    found = check.extracted(features, notation.from_fen(fen), 0)
    return {features.feature_name(i) for i in found}


def test_a_pinned_piece_moves_on_its_line_only():
    found = named("MB", "4k3/8/8/8/4r3/8/4R3/4K3 w - - 0 1")
    rook = {name for name in found if "own rook" in name}
    assert rook == {f"own rook can move to {square}" for square in ("e3", "e4")}


def test_a_king_does_not_hide_behind_itself():
    found = named("MB", "4k3/8/8/8/8/8/8/r3K3 w - - 0 1")
    king = {name for name in found if "own king" in name}
    assert king == {f"own king can move to {square}" for square in ("d2", "e2", "f2")}


def test_a_double_check_leaves_the_king_alone():
    found = named("MC", "4k3/p7/5N2/8/8/8/4R3/4K3 b - - 0 1")
    assert "enemy pawns can move to 0 squares" in found
    assert "enemy king can move to 3 squares" in found


def test_counts_are_capped():
    fen = "k7/8/8/Q6Q/8/8/1R5R/2QQ3K b - - 0 1"
    assert "own queens can move to 25 or more squares" in named("MC", fen)
    assert "own queens attacking 27 or more squares" in named("AC", fen)


def test_attackers_of_a_role_are_counted_once_each():
    found = named("AC", "4k3/8/2p1p3/3r4/8/3R4/6B1/3QK3 w - - 0 1")
    assert "enemy rooks attacked by 2 pieces" in found  # not by the queen behind the rook
    assert "enemy pawns attacked by 0 pieces" in found
    assert "own rooks attacked by 1 piece" in found


def test_threats_tell_attackers_from_defenders():
    assert named("TH", "4k3/8/8/4p3/8/5N2/3P4/4K3 w - - 0 1") == {
        "own knight on f3 attacks enemy pawn on e5",
        "own knight on f3 defends own pawn on d2",
        "own king on e1 defends own pawn on d2",
    }


def test_a_threat_to_a_king_is_a_check():
    found = named("TH", "4k3/8/8/8/4r3/8/8/4K3 w - - 0 1")
    assert found == {"enemy rook on e4 attacks own king on e1"}  # and defends no king


def test_pieces_that_stand_still_are_left_alone():
    """A move in one corner is no update of what happens in another."""
    features = parse("PM")
    old = notation.from_fen("k6r/8/8/8/8/8/PP6/KN6 b - - 0 1")
    new = notation.after(old, notation.parse_uci(old, "h8h7"))
    lists = np.empty((2, features.max_active), np.int32)
    counts = kernels.changes(compiled(features).record, old, new, 0, *lists)
    for number, out in zip(counts, lists, strict=True):
        names = {features.feature_name(i) for i in out[:number].tolist()}
        assert names
        assert all(name.startswith("enemy rook on h") for name in names)


@pytest.mark.parametrize("expression", ["MB", "AC"])
def test_what_is_kept_of_a_position_is_known_by_its_pieces(expression, games):
    """Keys that are all the same, as after a collision, do no harm."""
    features = parse(expression)
    positions = [position.copy() for position in games[1].positions[:40]]
    for position in positions:
        position["key"] = 0
    lists = np.empty((2, features.max_active), np.int32)
    state = set(check.extracted(features, positions[0], 0))
    for old, new in pairwise(positions):
        n_added, n_removed = kernels.changes(compiled(features).record, old, new, 0, *lists)
        state = state.difference(lists[1, :n_removed].tolist()) | set(lists[0, :n_added].tolist())
        assert sorted(state) == check.extracted(features, new, 0)


@pytest.mark.parametrize("expression", ["PHASE(2,MB)", "PHASE(3,PHASE(2,MC))"])
def test_sets_of_one_name_do_not_share_what_they_keep(expression):
    """Or two nets of one set, each searched in a thread of its own, would overwrite it."""
    one, other = (parse(expression).blocks[0].kernels() for _ in range(2))
    assert one.data["features"]["called"] != other.data["features"]["called"]


@pytest.mark.parametrize(("expression", "size"), naive.SIZES.items())
def test_sizes(expression, size):
    assert parse(expression).size == size


@pytest.mark.parametrize(
    ("expression", "index", "name"),
    [
        ("MB", (4 + 8 * 3) * 12 + 2, "own knight can move to e4"),
        ("MC", (9 + 3) * 2 + 1, "enemy knights can move to 3 squares"),
        ("MC", 2 * 94 + 2, "own king can move to 1 square"),
        ("MC", 205, "enemy king can move to 8 or more squares"),
        ("AB", 63 * 12 + 2 * 4 + 1, "enemy queen attacks h8"),
        ("AC", 246 + 2 * 8 * 4, "own queens attacked by 0 pieces"),
        ("PM", 0, "own pawn on a2 can move to a3"),
        ("TH", 0, "own pawn on a2 defends own pawn on b3"),
    ],
)
def test_names_say_what_the_index_means(expression, index, name):
    assert parse(expression).feature_name(index) == name


@pytest.mark.parametrize(
    ("expression", "dead"),
    [
        ("MB", 2 * 16),  # pawns and the two ranks behind them
        ("AB", 2 * 16),
        ("MC", 0),
        ("AC", 2 * (4 + 6)),  # one square of a knight or rook, one or two of a queen; kings 3, 5, 8
        ("PM", 0),
        ("TH", 0),
    ],
)
def test_dead_features(expression, dead):
    assert len(parse(expression).dead) == dead


@pytest.mark.parametrize("expression", naive.SIZES)
@pytest.mark.parametrize(
    "fen",
    [
        "Q2Q2Q1/1Q4Q1/3Q3Q/k1Q2Q2/Q3Q2Q/1Q1Q2Q1/7Q/K1Q2Q2 b - - 0 1",
        "NkN1N1N1/8/N1N1N1N1/1Q6/N1N1N1N1/8/N1N1N1N1/K7 b - - 0 1",
    ],
)
def test_bounds_hold_in_positions_that_no_game_reaches(expression, fen):
    features, position = parse(expression), notation.from_fen(fen)
    out = np.empty(2 * features.max_active, np.int32)
    for perspective in range(2):
        n = kernels.active(compiled(features).record, position, perspective, out)
        assert n <= features.max_active
