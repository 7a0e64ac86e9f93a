"""Batches for training: every path, every layout in memory, boards that no game reaches."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from functools import cache

import chess
import llvmlite.binding
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab import build
from nnuelab.chess import notation
from nnuelab.data.records import RECORD
from nnuelab.features import FeatureSet, batch, check, parse
from nnuelab.features.extraction import extracted
from nnuelab.features.records import (
    BY_KING,
    BY_PIECES,
    INJECTIVE,
    SHARED_ASYMMETRIC,
    SHARED_SYMMETRIC,
)
from nnuelab.features.tables import compiled
from tests.naive import features as naive

USER_BLOCKS = '''
from nnuelab.features import *

RINGS = Concept("RINGS", ("the rim", "the second ring", "the third ring", "the centre"))
PAIRS = Concept("PAIRS", tuple(f"pair {i}" for i in range(32)))
MANY = Concept("MANY", tuple(f"value {i}" for i in range(90)))

def ring(square):
    f, k = file_of(square), rank_of(square)
    return min(f, 7 - f, k, 7 - k)

@piece_square("COLUMN", FILES, COLORS)
def column(square, role, color):
    """A piece of colour c stands on file f."""
    return file_of(square), color

@piece_square("RINGED", RINGS, ROLES)
def ringed(square, role, color):
    """A piece of role r stands on the ring, of more squares than a line has."""
    return ring(square), role

@piece_square("PAIR", PAIRS, ROLES)
def pair(square, role, color):
    """A piece of role r stands on one of two squares, which Black sees elsewhere."""
    return square // 16 * 8 + square % 8, role

@piece_square("MIXED", SQUARES, ROLES)
def mixed(square, role, color):
    """A piece of role r stands on the square, which counts for pawns by its file only."""
    return file_of(square) if role == PAWN else square, role

@piece_square("OWNED", SQUARES)
def owned(square, role, color):
    """A piece of one's own stands on the square."""
    return square if color == OWN else None

@piece_square("FAR", MANY, SQUARES, ROLES, COLORS)
def far(square, role, color):
    """A piece of role r and colour c stands on the square; most features are dead."""
    return 89, square, role, color

@piece_square("NO_KINGS", SQUARES, ROLES, COLORS)
def no_kings(square, role, color):
    """A piece of role r and colour c stands on the square, kings aside."""
    return None if role == KING else (square, role, color)

@king_piece("SIDE_OF_KING", FILES, ROLES, COLORS)
def side_of_king(king, square, role, color):
    """A piece of role r and colour c stands so many files from the own king, on either side."""
    return abs(file_of(square) - file_of(king)), role, color
'''
"""All that can keep a block from being a sum of a square's part and a piece's, or from fitting."""

WAYS = {  # how vectors do a block, if they can
    "ALL": INJECTIVE,
    "SR": INJECTIVE,
    "H": SHARED_SYMMETRIC,
    "V": SHARED_SYMMETRIC,
    "PAIR": SHARED_SYMMETRIC,
    "COLUMN": SHARED_SYMMETRIC,
    "D1": SHARED_ASYMMETRIC,
    "D2": SHARED_ASYMMETRIC,
    "KA": BY_KING,
    "KP": BY_KING,
    "KB(4)": BY_KING,
    "HRK(HV)": BY_KING,
    "NO_KINGS": BY_KING,
    "FAR": BY_KING,
    "KING": BY_PIECES,
    "RINGED": BY_PIECES,
    "MIXED": BY_PIECES,
    "OWNED": BY_PIECES,
    "SIDE_OF_KING": BY_PIECES,
}
SETS = [
    *WAYS,
    "ALL+H+V",
    "KING+D1+OWNED+ALL",
    "V+RINGED+D2",
    "D1+FAR+H",
    "KP+ALL+PH+KB(2)",
    "H*V+PAIR",
    "PD1+MB+NO_KINGS",
]


@pytest.fixture(autouse=True)
def user_blocks(tmp_path_factory, monkeypatch):
    """The blocks above, in a file of the user's."""
    path = tmp_path_factory.getbasetemp() / "blocks_to_extract.py"
    if not path.exists():
        path.write_text(USER_BLOCKS)
    monkeypatch.setenv("NNUELAB_BLOCKS", str(path))


@cache
def boards() -> list[np.void]:
    """Random boards of 2 to 32 pieces, one king each; then positions of random games."""
    rng = np.random.default_rng(1)
    found = []
    for i in range(300):
        board = chess.Board(None)
        # Boards of few kinds of pieces have many rows twice.
        kinds = rng.choice(10, rng.integers(1, 11), replace=False)
        squares = rng.permutation(64)[: 32 if i % 4 == 0 else rng.integers(2, 33)].tolist()
        board.set_piece_at(squares[0], chess.Piece(chess.KING, chess.WHITE))
        board.set_piece_at(squares[1], chess.Piece(chess.KING, chess.BLACK))
        for square in squares[2:]:
            role, color = divmod(int(rng.choice(kinds)), 2)
            if role + 1 == chess.PAWN and chess.square_rank(square) in (0, 7):
                role = chess.QUEEN - 1
            board.set_piece_at(square, chess.Piece(role + 1, color == 0))
        board.turn = bool(rng.integers(2))
        if board.king(not board.turn) in board.attacks(board.king(board.turn)):
            continue  # notation knows no kings side by side
        board.turn = board.turn if not board.was_into_check() else not board.turn
        if not board.was_into_check():
            found.append(notation.from_fen(board.fen()))
    games = check.random_games(len(check.STARTS), seed=3)
    return found + [position for game in games for position in game.positions[::3]]


def test_the_boards_are_of_all_sizes():
    sizes = [int((board["board"] != 12).sum()) for board in boards()]
    assert len(sizes) > 300
    assert set(sizes) == set(range(2, 33))


def lists(features: FeatureSet, records: np.ndarray, width: int = 0) -> list[np.ndarray]:
    """What ``batch`` finds in new memory: lists of the side to move and the other, lengths."""
    shape = len(records), width or features.max_active
    out = [np.full(shape, -2, np.int32) for _ in range(2)]
    out += [np.full(len(records), -2, np.int64) for _ in range(2)]
    batch(compiled(features), records, *out)
    return out


def active(found: list[np.ndarray]) -> list[bytes]:
    """The lists without what is behind their features."""
    return [
        row[:count].tobytes()
        for rows, n in zip(found[:2], found[2:], strict=True)
        for row, count in zip(rows, n, strict=True)
    ]


@pytest.mark.parametrize("expression", SETS)
@pytest.mark.parametrize("wider", [0, 33])
def test_batch_is_the_definition_on_any_board(expression, wider):
    features = parse(expression)
    *rows, stm_n, other_n = lists(features, check.pack(boards()), features.max_active + wider)
    for i, position in enumerate(boards()):
        for side, n in enumerate((stm_n[i], other_n[i])):
            wanted = check.defined(features, position, int(position["turn"]) ^ side)
            assert sorted(rows[side][i, :n].tolist()) == wanted
            if not compiled(features).record["n_called"]:  # those may use the rest of their lists
                assert (rows[side][i, n:] == -2).all()


@pytest.mark.parametrize("expression", ["ALL", "H", "V", "D1", "D2", "ALL+H+V+D1+D2"])
def test_batch_finds_what_python_chess_and_the_formulas_say(expression):
    features = parse(expression)
    *rows, stm_n, other_n = lists(features, check.pack(boards()))
    for i, position in enumerate(boards()):
        board = chess.Board(notation.to_fen(position))
        for side, n in enumerate((stm_n[i], other_n[i])):
            wanted = naive.active(expression, board, board.turn ^ (side == 1))
            assert sorted(rows[side][i, :n].tolist()) == wanted


@pytest.mark.parametrize(("name", "way"), WAYS.items())
def test_vectors_take_the_blocks_that_fit_them(name, way):
    block = parse(name).terms[0].factors[0]
    assert extracted(block.tabulated(), 0)[0]["way"] == way
    # Further on, features take more than 16 bits.
    beyond = {INJECTIVE: BY_KING, SHARED_SYMMETRIC: BY_PIECES, SHARED_ASYMMETRIC: BY_PIECES}
    assert extracted(block.tabulated(), 65_530)[0]["way"] == beyond.get(way, way)


PROGRAM = """
import sys, numpy as np
from nnuelab import build
from nnuelab.features import batch, parse
from nnuelab.features.tables import compiled
records = np.load(sys.argv[1])
print(build.SIMD, build.CHECKED)
for expression in sys.argv[2:]:
    features = parse(expression)
    out = [np.empty((len(records), features.max_active), np.int32) for _ in range(2)]
    out += [np.empty(len(records), np.int64) for _ in range(2)]
    batch(compiled(features), records, *out)
    for rows, n in zip(out[:2], out[2:]):
        for row, count in zip(rows, n):
            sys.stdout.write(row[:count].tobytes().hex())
"""


@pytest.mark.parametrize(
    "settings_",
    [
        {"NNUELAB_SIMD": "portable"},
        pytest.param({"NNUELAB_SIMD": "avx2"}, marks=pytest.mark.slow),
        {"NNUELAB_CHECKED": "1"},
    ],
    ids=str,
)
def test_every_build_writes_the_same_bytes(settings_, tmp_path):
    """The order within a list, too: a sum of floats depends on it."""
    here = llvmlite.binding.get_host_cpu_features()
    if not all(here.get(n) for n in build.SIMD_PATHS[settings_.get("NNUELAB_SIMD", "portable")]):
        pytest.skip("not on this CPU")
    expressions = [*WAYS, "KING+V+PAIR+ALL", "RINGED+H", "KP+ALL+PH+KB(2)"]
    records = check.pack(boards())
    np.save(tmp_path / "records.npy", records)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tmp_path / "records.npy", *expressions],
        env={**os.environ, **settings_},
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
    )
    head, _, found = done.stdout.partition("\n")
    assert head == f"{settings_.get('NNUELAB_SIMD', build.SIMD)} {'NNUELAB_CHECKED' in settings_}"
    wanted = b"".join(row for e in expressions for row in active(lists(parse(e), records)))
    assert hashlib.sha256(bytes.fromhex(found)).digest() == hashlib.sha256(wanted).digest()


def apart(records: np.ndarray) -> np.ndarray:
    """The same records, each with others between."""
    wide = np.zeros((len(records), 3), records.dtype)
    wide[:, 1] = records
    return wide[:, 1]


def unaligned(records: np.ndarray) -> np.ndarray:
    """The same records at an odd address."""
    memory = np.zeros(records.nbytes + 1, np.uint8)
    view = memory[1:].view(records.dtype)
    view[:] = records
    return view


def shuffled_fields(records: np.ndarray) -> np.ndarray:
    """The same records with their fields in another order, and others between."""
    fields = [(name, check.PLACEMENT.fields[name][0]) for name in reversed(check.PLACEMENT.names)]
    other = np.zeros(len(records), np.dtype([("before", "u1"), *fields, ("after", "<u2")]))
    for name in check.PLACEMENT.names:
        other[name] = records[name]
    return other


def in_dataset(records: np.ndarray) -> np.ndarray:
    other = np.zeros(len(records), RECORD)
    for name in check.PLACEMENT.names:
        other[name] = records[name]
    return other


def backwards(records: np.ndarray) -> np.ndarray:
    return records[::-1].copy()[::-1]


@pytest.mark.parametrize("expression", ["ALL", "D1+KING+KP", "ALL+PH"])
@pytest.mark.parametrize("layout", [apart, unaligned, shuffled_fields, in_dataset, backwards])
def test_records_may_lie_in_any_way(expression, layout):
    features, records = parse(expression), check.pack(boards())
    wanted = lists(features, records)
    assert active(lists(features, layout(records))) == active(wanted)


@pytest.mark.parametrize("expression", ["ALL", "D1+KING+KP", "ALL+PH"])
def test_lists_may_lie_in_any_way_and_nothing_beside_them_is_touched(expression):
    features, records = parse(expression), check.pack(boards())
    wanted = lists(features, records)
    n, width = wanted[0].shape
    frames = [
        (np.full((n + 2, width + 7), 77, np.int32), np.s_[1:-1, 3 : 3 + width]),
        (np.full((2 * n, width + 1), 77, np.int32), np.s_[::2, 1:]),
        (np.full((n, width), 77, np.int32), np.s_[::-1]),
    ]
    for frame, part in frames:
        memory = [frame.copy() for _ in range(2)]
        counts = [np.full(2 * n, 77, np.int64) for _ in range(2)]
        found = [array[part] for array in memory] + [array[::2] for array in counts]
        batch(compiled(features), records, *found)
        assert active(found) == active(wanted)
        for array, view in zip([*memory, *counts], found, strict=True):
            view[:] = 77
            assert (array == 77).all()


def test_the_lists_of_both_sides_may_be_rows_of_one_array():
    features, records = parse("ALL+D1"), check.pack(boards())
    wanted = lists(features, records)
    both = np.full((len(records), 2, features.max_active), -2, np.int32)
    counts = np.full((len(records), 2), -2, np.int64)
    found = both[:, 0], both[:, 1], counts[:, 0], counts[:, 1]
    batch(compiled(features), records, *found)
    assert active(list(found)) == active(wanted)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 1100), st.sampled_from(["ALL", "D1+KING+KP"]))
def test_batches_of_any_length_are_their_parts(n, expression):
    """Around the lengths at which loops and chunks end, too."""
    features = parse(expression)
    records = np.resize(check.pack(boards()), n)
    whole = lists(features, records)
    for part in (slice(0, n // 3), slice(n // 3, n)):
        wanted = [array[part] for array in whole]
        assert active(lists(features, records[part])) == active(wanted)


@pytest.mark.parametrize("shapes", [((3, 32), (2, 32), 3, 3), ((3, 31),) * 2 + (3, 3)])
def test_lists_that_are_too_small_are_refused(shapes):
    records = check.pack(boards()[:3])
    out = [np.empty(shape, np.int32) for shape in shapes[:2]]
    counts = [np.empty(shape, np.int64) for shape in shapes[2:]]
    with pytest.raises(ValueError, match="fewer or shorter lists"):
        batch(compiled(parse("ALL")), records, *out, *counts)


@pytest.mark.parametrize("part", [np.s_[:, ::2], np.s_[:, ::-1]])
def test_lists_whose_features_lie_apart_are_refused(part):
    records = check.pack(boards()[:3])
    out = [np.empty((3, 2000), np.int32)[part] for _ in range(2)]
    with pytest.raises(ValueError, match="side by side"):
        batch(compiled(parse("ALL+PH")), records, *out, *np.empty((2, 3), np.int64))
