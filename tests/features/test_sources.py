"""Sets about attacks of a user's own: sources against python-chess, tracing, what is refused."""

from __future__ import annotations

import chess
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.errors import UserError
from nnuelab.features import (
    PAWN,
    Section,
    add_files,
    attackers,
    attacks,
    check,
    moves,
    of_side,
    parse,
    piece_target,
    registry,
    safe_moves,
    square_count,
    square_set,
    standing,
)
from tests.naive import attacks as naive

MINE = """
from nnuelab.features import *

@square_set("SAFE", "can safely move to")
def safe_mobility(square, pieces):
    role, color = pieces[square]
    return safe_moves(square, pieces) - of_side(attacks, pieces, 1 - color, PAWN)

@square_set("HANG", "hangs on")
def hanging(square, pieces):
    role, color = pieces[square]
    attacked = of_side(attacks, pieces, 1 - color)
    return standing(square, pieces) & attacked - of_side(attacks, pieces, color)

@square_set("WIDE", "can go to")
def all_moves(square, pieces):
    return safe_moves(square, pieces) | double_steps(square, pieces) | castling(square, pieces)

@square_count("WEAK", Section(("attacked by lesser", "square"), most=(9,) * 6),
              Section(("pinned", "piece"), most=(2,) * 6))
def weak(square, pieces):
    return moves(square, pieces) & attacked_by_lesser(square, pieces), pinned(square, pieces)

@piece_target("XR", "shields", "looks through to")
def x_rays(square, pieces):
    return xrays(square, pieces) & pieces.keys()

@piece_target("AIM", "aims at")
def aims(square, pieces):
    role, color = pieces[square]
    return attacks(square, pieces) & king_zone(pieces, 1 - color)

@square_set("NEAR", "is or goes near the enemy king on")
def near(square, pieces):
    role, color = pieces[square]
    return attacks(square, pieces) | king_zone(pieces, 1 - color)

@square_set("AREA", "shares the board with a pawn's")
def area(square, pieces):
    role, color = pieces[square]
    return of_side(attacks, pieces, color, PAWN) - of_side(standing, pieces, color)

@piece_target("HIT", "is attacked from")
def hit(square, pieces):
    return attackers(square, pieces)
"""
SETS = [
    "SAFE",
    "HANG",
    "WIDE",
    "WEAK",
    "XR",
    "AIM",
    "HIT",
    "NEAR+AREA",
    "ALL+KING*HANG+PHASE(2,XR)",
]


@pytest.fixture
def mine(tmp_path, monkeypatch):
    monkeypatch.setenv("NNUELAB_BLOCKS", "")
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    add_files([path])


@pytest.fixture(scope="module")
def games():
    return check.random_games(2 * len(check.STARTS), seed=7)


@pytest.mark.parametrize("expression", SETS)
def test_sets_of_a_user_have_every_property(mine, games, expression):
    for holds in check.PROPERTIES.values():
        holds(parse(expression), games)


# Against python-chess ----------------------------------------------------------------------------


def pawn_attacks(board: chess.Board, color: chess.Color) -> set[chess.Square]:
    pawns = board.pieces(chess.PAWN, color)
    return set().union(*(board.attacks(square) for square in pawns))


def safe(board, square):
    color = board.color_at(square)
    return naive.safe_moves(board, square) - pawn_attacks(board, not color)


def hangs(board, square):
    color = board.color_at(square)
    loose = board.is_attacked_by(not color, square) and not board.is_attacked_by(color, square)
    return {square} if loose else set()


def goes(board, square):
    """Legal moves of whoever's turn it is, and double steps past checks and pins."""
    seen = board.copy(stack=False)
    seen.turn, seen.ep_square = board.color_at(square), None
    found = naive.safe_moves(board, square)
    if board.piece_type_at(square) == chess.PAWN:
        moves = seen.generate_pseudo_legal_moves(from_mask=chess.BB_SQUARES[square])
        return found | {move.to_square for move in moves if move.promotion is None} & {
            square + 16,
            square - 16,
        }
    castled = seen.generate_castling_moves(from_mask=chess.BB_SQUARES[square])
    return found | {move.to_square for move in castled}


@pytest.mark.parametrize(("name", "oracle"), [("SAFE", safe), ("HANG", hangs), ("WIDE", goes)])
def test_sets_are_those_of_python_chess(mine, games, name, oracle):
    for game in games:
        for position in game.positions[::3]:
            board = chess.Board(notation.to_fen(position))
            found = check.extracted(parse(name), position, 0)
            assert found == sorted(naive.bitset(board, oracle)), board.fen()


def test_pins_and_lesser_attackers_are_those_of_python_chess(mine, games):
    features = parse("WEAK")
    for position in (p for game in games for p in game.positions[::5]):
        board = chess.Board(notation.to_fen(position))
        pinned = [
            s
            for s in chess.SQUARES
            if (c := board.color_at(s)) is not None and board.is_pinned(c, s)
        ]
        names = [features.feature_name(i) for i in check.extracted(features, position, 0)]
        for role, color in ((chess.KNIGHT, chess.WHITE), (chess.ROOK, chess.BLACK)):
            n = sum(board.piece_at(s) == chess.Piece(role, color) for s in pinned)
            word = f"{['enemy', 'own'][color]} {chess.piece_name(role)}s pinned {n}"
            assert any(name.startswith(word) for name in names), (board.fen(), word)


def test_what_depends_on_no_piece_needs_one_of_its_kind(mine):
    """Or a side without a queen would have the squares of one."""
    position = notation.from_fen("4k3/8/8/8/8/8/4P3/4K3 w - - 0 1")
    names = [parse("AREA").feature_name(i) for i in check.extracted(parse("AREA"), position, 0)]
    assert {name.split()[1] for name in names} == {"pawn", "king"}


def test_x_rays_end_at_the_second_piece(mine):
    features = parse("XR")
    position = notation.from_fen("4k3/4q3/8/8/4r3/8/4R3/4K3 w - - 0 1")
    names = {features.feature_name(i) for i in check.extracted(features, position, 0)}
    assert names == {
        "own rook on e2 looks through to enemy queen on e7",
        "enemy rook on e4 looks through to own king on e1",
        "enemy queen on e7 looks through to own rook on e2",
    }


# Tracing -----------------------------------------------------------------------------------------


def test_an_edited_definition_is_another_block_that_finds_other_features(games):
    def one(square, pieces):
        return safe_moves(square, pieces)

    def other(square, pieces):
        return attacks(square, pieces)

    position = games[0].positions[20]
    found = [
        check.extracted(square_set("X", "can move to")(function).features, position, 0)
        for function in (one, other)
    ]
    assert found[0] == check.extracted(parse("MB"), position, 0)
    assert found[1] == check.extracted(parse("AB"), position, 0)


def test_every_definition_about_attacks_is_what_jitted_code_computes(monkeypatch, games):
    """With another predicate each block finds something else: none is only the checks' twin."""
    position = games[1].positions[30]
    for name in ("AB", "MB"):
        block = parse(name).blocks[0]
        traced = square_set("X", "x")(lambda square, pieces: standing(square, pieces))
        assert check.extracted(traced.features, position, 0) != check.extracted(
            block.features, position, 0
        )


SECTION = Section(("attacking", "square"), most=(8,) * 6)


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        (
            lambda s, p: {t for t in attacks(s, p) if t > 8},
            "can't be traced: build it from",
        ),
        (lambda s, p: attacks(s, p) if len(attacks(s, p)) > 2 else set(), "can't be traced"),
        (lambda s, p: attacks(s, p) - {27}, "can't be traced"),
        (lambda s, p: attacks(s + 1, p), "can't be traced"),
        (lambda s, p: attacks(s, p) if s != 3 else set(), "can't be traced"),
        (lambda s, p: attacks(s, p) if s in (3, 4) else set(), "can't be traced"),
        (lambda s, p: moves(s, p) if attacks(s, p) == set() else set(), "can't be traced"),
        (lambda s, p: p[s], "returns 2 sets, not 1"),
        (lambda s, p: 7, "returns no squares"),
        (lambda s, p: attacks(s, p) if p[s][1] else set(), "own and enemy pawns differently"),
        (lambda s, p: attacks(s, p) & attackers(s, p), "two sources of the same piece"),
        (lambda s, p: attacks(s, p) - safe_moves(s, p), "two sources of the same piece"),
    ],
)
def test_what_cannot_be_traced_is_refused(definition, message):
    with pytest.raises(UserError, match=message):
        square_set("X", "x")(definition)


def test_pieces_alone_may_be_compared_with_themselves(games):
    """What all pieces of a kind have together can't be said so; what one piece has can."""
    block = piece_target("X", "covers, not to go there,")(
        lambda square, pieces: attacks(square, pieces) - safe_moves(square, pieces)
    )
    for holds in check.PROPERTIES.values():
        holds(block.features, games[:3])


def test_sections_and_definitions_have_to_agree():
    with pytest.raises(UserError, match=r"block TWO, own pawn: .* returns 1 sets, not 2"):
        square_count("TWO", SECTION, SECTION)(lambda s, p: attacks(s, p))
    with pytest.raises(UserError, match="six roles"):
        square_count("ODD", Section(("attacking", "square"), most=(8,)))(attacks)
    with pytest.raises(UserError, match="one or two sections"):
        square_count("NONE")(attacks)


def test_blocks_of_the_package_take_the_short_ways():
    """Without them mobility and threats would cost what the study's figures don't allow."""
    blocks = registry.load()
    for name in ("AB", "AC", "MB", "MC"):
        assert blocks[name].kernels().data["n_code"] == 0
    for name in ("PM", "TH"):
        assert blocks[name].kernels().active.__name__ == "near_active"


def test_a_long_definition_is_refused_when_it_is_compiled():
    def deep(square, pieces):
        _, color = pieces[square]
        found = of_side(attacks, pieces, color, PAWN)
        for _ in range(20):
            found = of_side(attacks, pieces, color, PAWN) - found
        return found

    block = square_set("DEEP", "x")(deep)
    with pytest.raises(UserError, match="16 parentheses"):
        block.kernels()


def test_the_bound_of_a_union_is_that_of_its_parts():
    both = square_set("X", "x")(lambda s, p: standing(s, p) | safe_moves(s, p))
    assert both.max_active == 600 + 32 + 2
    assert np.array_equal(both.alive(), parse("MB").alive() | parse("ALL").alive()[_by_square()])


def _by_square() -> np.ndarray:
    """ALL counts files before ranks; a set of squares has them the other way around."""
    square, piece = np.divmod(np.arange(768), 12)
    return ((square % 8) * 8 + square // 8) * 12 + piece
