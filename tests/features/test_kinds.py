"""What is special about each kind of block, and what is said when one is used wrongly."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import chess
import chess.pgn
import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.features import UnknownBlock, add_files, check, parse
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.kernels.lists import sort, subtract
from nnuelab.features.tables import compiled
from nnuelab.jit import address
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import read_net, write_net
from tests import feature_sets
from tests.naive import features as naive
from tests.nnue_nets import random_net

START = notation.from_fen(chess.STARTING_FEN)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """No blocks of a user's; the current folder has a list for TOPK."""
    monkeypatch.setenv("NNUELAB_BLOCKS", "")
    monkeypatch.chdir(tmp_path)
    feature_sets.pair_file(tmp_path)
    return tmp_path


def names(expression, fen, perspective=0):
    features = parse(expression)
    found = check.extracted(features, notation.from_fen(fen), perspective)
    return [features.feature_name(index) for index in found]


def changed(features, old, new, perspective=0):
    lists = np.empty((2, features.max_active), np.int32)
    counts = kernels.changes(compiled(features).record, old, new, perspective, *lists)
    return tuple(
        [features.feature_name(i) for i in sorted(found[:n])]
        for found, n in zip(lists, counts, strict=True)
    )


# Text --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("kb( 16 )", "KB(16)"),
        ("hrk(hv)+all", "HRK(HV)+ALL"),
        ("phase(04, piece + h * (v+d1))", "PHASE(4,ALL+H*V+H*D1)"),
        ("Phase(2,phase(3,KB(4)))*h", "PHASE(2,PHASE(3,KB(4)))*H"),
        ("topk( 7 ,pairs.csv)", "TOPK(7,pairs.csv)"),
    ],
)
def test_parameters_have_a_canonical_form(text, canonical):
    assert parse(text).name == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("KB", "KB(n): 0 parameters are given; write KB(n)"),
        ("KB(2,3)", "2 parameters are given"),
        ("KB(5)", "n is '5', should be one of 1, 2, 4, 8, 16, 32"),
        ("KB(-4)", "n is '-4'"),
        ("HRK(D)", "axis is 'D', should be one of H, V, HV"),
        ("PHASE(1,ALL)", "n is '1', should be 2 to 31"),
        ("PHASE(4,ALL", "a closing parenthesis is missing at column 12"),
        ("H(3)", "H has no parameters, unexpected '(' at column 2"),
        ("TOPK(3,nowhere.csv)", "can't read the file nowhere.csv: No such file or directory"),
        ("TOPK(99999,pairs.csv)", "pairs.csv: it has"),
        ("TOPK(3,long.csv)", "long.csv: it is no CSV file (field larger than field limit"),
        ("TOPK(3,my pairs.csv)", "file is 'my pairs.csv', should be a path of letters"),
        ("KA*KA", "2,415,919,104 features, more than 100,000,000"),
        ("PHASE(31,KA*PH)", "features, more than 100,000,000"),
    ],
)
def test_what_is_wrong_with_parameters_is_said_in_a_line(folder, text, message):
    (folder / "long.csv").write_text("x" * 200_000)
    with pytest.raises(UserError) as error:
        parse(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_an_unknown_block_within_parameters_names_the_nearest():
    with pytest.raises(UnknownBlock, match="no block 'KBB'; did you mean KB"):
        parse("PHASE(4,ALL+KBB)")


# Names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "fen", "name"),
    [
        ("PH", "4k3/8/8/8/R4p2/8/8/4K3 w - - 0 1", "own rook left of enemy pawn on rank 4"),
        ("PV", "4k3/8/4p3/8/8/8/8/4K3 w - - 0 1", "own king below enemy pawn on file e"),
        ("PD1", "4k3/B7/8/8/8/4p3/8/4K3 w - - 0 1",
         "own bishop left of enemy pawn on diagonal a7-g1"),
        ("KA", "4k3/8/8/8/8/8/8/4K2R w - - 0 1", "own rook on h1 with the own king on e1"),
        ("HRK(H)", "4k3/8/8/8/8/8/8/4K2R w - - 0 1",
         "own rook on 3 files right of the own king and rank 1"),
        ("KB(16)", "4k3/8/8/8/8/8/8/R5K1 w - - 0 1", "own rook on h1 (mirrored: own king on b1)"),
        ("PP", "4k3/4p3/8/8/8/8/4P3/4K3 w - - 0 1", "own pawn on e2 and enemy pawn on e7"),
        ("YACGE", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "own piece on e2"),
        ("YACGE", "4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "pawn on e2"),
        ("PHASE(4,H)", "4k3/8/8/8/8/8/8/4K3 w - - 0 1", "own king on file e, with 2-9 pieces"),
    ],
)  # fmt: skip
def test_names_say_what_is_on_the_board(expression, fen, name):
    assert name in names(expression, fen)


# Lines -------------------------------------------------------------------------------------------


def test_equal_pairs_on_a_line_are_one_feature_until_the_last_goes():
    features = parse("PH")
    old = notation.from_fen("4k3/8/8/8/PPPP4/8/8/4K3 w - - 0 1")  # three pairs of two pawns
    found = names("PH", notation.to_fen(old))
    assert found == ["own pawn left of own pawn on rank 4"]
    new = notation.from_fen("4k3/8/8/8/P1PP4/8/8/4K3 w - - 0 1")
    assert changed(features, old, new) == ([], [])
    last = notation.from_fen("4k3/8/8/8/P2K4/8/8/8 w - - 0 1")
    assert changed(features, new, last)[1] == found


@pytest.fixture(scope="module")
def real_positions(shared):
    """20,000 positions of real games, for python-chess and for us."""

    def positions():
        with open(shared / "data" / "games" / "fixture_evals_200.pgn") as file:
            for game in iter(lambda: chess.pgn.read_game(file), None):
                board = game.board()
                for move in game.mainline_moves():
                    board.push(move)
                    yield board.copy(stack=False)
        for game in check.random_games(400, seed=3):
            for position in game.positions:
                yield chess.Board(notation.to_fen(position))

    return list(islice(positions(), 20_000))


@pytest.mark.slow
@pytest.mark.parametrize("expression", ["PH", "PV", "PD1", "PD2"])
def test_pairs_are_those_that_python_chess_counts(expression, real_positions):
    assert len(real_positions) == 20_000
    features = parse(expression)
    for board in real_positions:
        position = notation.from_fen(board.fen())
        for perspective, color in enumerate((chess.WHITE, chess.BLACK)):
            wanted = naive.active(expression, board, color)
            assert check.extracted(features, position, perspective) == wanted


LOOSE = '''
from nnuelab.features import *

@neighbours("LOOSE", ROLES, ROLES, along=FILES)
def loose(line, role, color, other_role, other_color):
    """A piece of role r stands below one of role s, on whatever file; kings don't count."""
    return None if KING in (role, other_role) else (role, other_role)

@neighbours("HALF", FILES, ROLES, COLORS, along=FILES)
def half(line, role, color, other_role, other_color):
    """An own piece of role r stands below a pawn of colour c on file f."""
    return (line, role, other_color) if color == OWN and other_role == PAWN else None
'''


@pytest.mark.parametrize("name", check.PROPERTIES)
@pytest.mark.parametrize("expression", ["LOOSE", "HALF", "LOOSE*HALF"])
def test_pairs_of_a_user_s_that_share_features_or_have_none(expression, name, tmp_path):
    (tmp_path / "mine.py").write_text(LOOSE)
    add_files([tmp_path / "mine.py"])
    check.PROPERTIES[name](parse(expression), check.random_games(10, 5))


# Kings and phases --------------------------------------------------------------------------------


def test_the_board_is_mirrored_with_the_king_on_the_other_wing():
    assert names("KB(8)", "4k3/8/8/8/8/8/PPP5/1K6 w - - 0 1") == names(
        "KB(8)", "3k4/8/8/8/8/8/5PPP/6K1 w - - 0 1"
    )


@pytest.mark.parametrize(
    ("expression", "move", "due"),
    [
        ("KB(16)", "g1h1", True),  # another bucket
        ("KB(1)", "g1h1", False),
        ("KB(1)", "e1d1", True),  # the other wing
        ("HRK(H)", "e1e2", False),
        ("HRK(V)", "e1e2", True),
        ("PHASE(2,H)", "e1e2", False),
        ("PHASE(31,H)", "e1d2", True),  # takes a piece
        ("PHASE(2,KA)", "e1e2", True),
        ("ALL+PH+PP", "e1e2", False),
    ],
)
def test_a_refresh_is_due_where_all_rows_change(expression, move, due):
    king = move[:2]
    board = chess.Board("4k3/8/8/8/8/8/3p4/8 w - - 0 1")
    board.set_piece_at(chess.parse_square(king), chess.Piece.from_symbol("K"))
    old = notation.from_fen(board.fen())
    new = notation.after(old, notation.parse_uci(old, move))
    features = parse(expression)  # owns what the record points to
    tables = compiled(features).record
    assert [kernels.needs_refresh(tables, old, new, p) for p in range(2)] == [
        due,
        due and expression.startswith("PHASE(31"),
    ]


# Lists of pairs ----------------------------------------------------------------------------------


def test_a_net_carries_the_list_that_its_features_were_read_from(folder):
    net = random_net("ALL+TOPK(40,pairs.csv)", l1=16)
    object.__setattr__(net, "files", parse(net.feature_set).contents)
    write_net("net.nnue", net)
    wanted = Engine(NetEvaluator(net), 1).evaluate(START)
    (folder / "pairs.csv").write_text("first,second,views\nPa2,Pb2,1\n")
    read = read_net("net.nnue")
    assert read.feature_set == "ALL+TOPK(40,pairs.csv)"
    assert Engine(NetEvaluator(read), 1).evaluate(START) == wanted
    write_net("again.nnue", read)
    assert Path("again.nnue").read_bytes() == Path("net.nnue").read_bytes()


def test_an_edited_list_is_another_block(folder):
    before = parse("TOPK(2,pairs.csv)")
    (folder / "pairs.csv").write_text("first,second,views\nPa2,Pb2,2\nPa2,kg8,1\n")
    assert parse("TOPK(2,pairs.csv)") != before
    assert parse("TOPK(2,pairs.csv)").feature_name(1) == "own pawn on a2 and enemy king on g8"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the first line is not first,second,views"),
        ("first,second,views\nPa2,Pb2\n", "line 2 is not a pair: Pa2,Pb2"),
        ("first,second,views\nPa2,Xb2,3\n", "line 2 is not a pair: Pa2,Xb2,3"),
        ("first,second,views\nPa2,Pb9,3\n", "line 2 is not a pair"),
        ("first,second,views\nPa2,Pa2,3\n", "both pieces of a pair stand on a2"),
        ("first,second,views\nPa2,Pb2,3\nPb2,Pa2,3\n", "is listed twice"),
    ],
)
def test_a_broken_list_is_named_with_the_line(content, message, folder):
    (folder / "pairs.csv").write_text(content)
    with pytest.raises(UserError) as error:
        parse(f"TOPK({max(content.count(chr(10)) - 1, 1)},pairs.csv)")
    assert "pairs.csv" in str(error.value)
    assert message in str(error.value)


def test_the_most_frequent_pairs_are_those_that_one_counts_by_hand(folder):
    from nnuelab.features import pair_list

    fens = ["4k3/8/8/8/8/8/4P3/4K3 w - - 0 1", "4k3/4p3/8/8/8/8/8/4K3 w - - 0 1"]
    records = check.pack([notation.from_fen(fen) for fen in [*fens, fens[0]]])
    pairs = pair_list.most_frequent([records[:2], records[2:]], 5)
    lines = pair_list.text_of(pairs).splitlines()
    # The second position is the first one turned over: three views of each player's side.
    assert lines[:2] == ["first,second,views", "Ke1,ke8,6"]
    assert set(lines[2:]) == {"Pe2,Ke1,3", "Pe2,ke8,3", "pe7,ke8,3", "pe7,Ke1,3"}
    assert len(pair_list.read("\n".join(lines), 5)) == 5
    with pytest.raises(UserError, match="there are 5 different pairs, fewer than 6"):
        pair_list.most_frequent([records], 6)


# Functions of a user's own -----------------------------------------------------------------------

COUNTS = '''
from nnuelab.features import *
from nnuelab.jit import jit, popcount

NUMBERS = Concept("NUMBERS", tuple(f"{n} of them" for n in range(9)))

@jit
def number(position, color):
    return min(popcount(position.roles[KNIGHT] & position.colors[color]), 8)

def changed(old, new):
    return HINT

@computed("KNIGHTS", COLORS, NUMBERS, at_most=2, changed=changed)
def knights(position, out):
    """Colour c has n knights."""
    for color in range(2):
        out[color] = color * 9 + number(position, color)
    return 2

@computed("MOVES", COLORS, at_most=1)
def moves(position, out):
    """It is colour c's move."""
    out[0] = position.turn
    return 1

@computed("RIGHTS", COLORS, at_most=4)
def rights(position, out):
    """Colour c may castle on the king's side."""
    n = 0
    for color in range(2):
        if position.castling & (1 << 2 * color):
            out[n] = color
            n += 1
    return n

@computed("TOO_MANY", COLORS, NUMBERS, at_most=1)
def too_many(position, out):
    """Two features, where one was announced."""
    out[0], out[1] = 0, 1
    return 2

@computed("BROKEN", COLORS, at_most=1)
def broken(position, out):
    """It adds a bitboard and a text."""
    return position.roles[0] + "text"
'''
RIGHT_HINT = "number(old, 0) != number(new, 0) or number(old, 1) != number(new, 1)"


def write_counts(folder, hint):
    (folder / "counts.py").write_text(COUNTS.replace("HINT", hint))
    add_files([folder / "counts.py"])


@pytest.mark.parametrize("name", check.PROPERTIES)
@pytest.mark.parametrize("expression", ["KNIGHTS", "MOVES", "RIGHTS*ALL+KNIGHTS*MOVES"])
def test_a_function_of_one_s_own_has_all_properties(expression, name, folder):
    write_counts(folder, RIGHT_HINT)
    check.PROPERTIES[name](parse(expression), check.random_games(10, 5))


def test_a_wrong_hint_is_found_with_position_move_and_features(folder):
    write_counts(folder, "old.roles[PAWN] != new.roles[PAWN]")
    with pytest.raises(check.PropertyFailed) as failure:
        check.PROPERTIES["incremental = refresh after every move"](
            parse("KNIGHTS"), check.random_games(10, 5)
        )
    assert "seen by" in str(failure.value)
    assert "move " in str(failure.value)
    assert "of them)" in str(failure.value)


def test_more_features_than_announced_are_found(folder):
    write_counts(folder, RIGHT_HINT)
    told = "2 features are active, more than at_most, or max_active of a kind, says: 1"
    with pytest.raises(check.PropertyFailed, match=told):
        check.PROPERTIES["indices and bounds"](parse("TOO_MANY"), check.random_games(1, 5))


def test_a_function_in_another_file_is_refused_since_no_edit_there_would_be_noticed(
    folder, monkeypatch
):
    (folder / "helpers.py").write_text(
        "from nnuelab.jit import jit\n\n@jit\ndef number(position, color):\n    return 1\n"
    )
    monkeypatch.syspath_prepend(folder)
    own = COUNTS[COUNTS.index("@jit\ndef number") : COUNTS.index("def changed")]
    text = COUNTS.replace(own, "from helpers import number\n\n").replace("HINT", "True")
    (folder / "counts.py").write_text(text)
    with pytest.raises(UserError, match=r"number comes from .*helpers.py.*the block's own file"):
        add_files([folder / "counts.py"])


def test_what_numba_cannot_compile_is_said_in_a_line(folder):
    write_counts(folder, RIGHT_HINT)
    with pytest.raises(UserError) as error:
        compiled(parse("BROKEN"))
    assert "counts.py" in str(error.value)
    assert "numba can't compile broken" in str(error.value)
    assert "\n" not in str(error.value)


def test_an_edited_function_is_compiled_anew_and_else_taken_from_the_cache(folder, monkeypatch):
    """Each call is a process of its own."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "cache"))

    fen = "4k3/8/8/8/8/8/8/NN2K3 w - - 0 1"
    command = f"{sys.executable} -m nnuelab.cli features active KNIGHTS --blocks counts.py --fen"

    def stm():
        done = subprocess.run([*command.split(), fen], capture_output=True, text=True, check=True)
        return done.stdout.splitlines()[0]

    write_counts(folder, RIGHT_HINT)
    assert [stm(), stm()] == ["stm: 2 9"] * 2
    content = (folder / "counts.py").read_text()
    (folder / "counts.py").write_text(content.replace("roles[KNIGHT]", "roles[KING]"))
    assert stm() == "stm: 1 10"


# Lists of features -------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [0, 1, 2, 9, 500])
def test_lists_are_sorted_and_subtracted(n):
    rng = np.random.default_rng(n)
    values = rng.permutation(n).astype(np.int32)
    sort(values)
    assert values.tolist() == list(range(n))
    one, other = (rng.permutation(2 * n)[:n].astype(np.int32) for _ in range(2))
    left, right = set(one.tolist()), set(other.tolist())
    counts = subtract(address(one), n, address(other), n)
    assert one[: counts[0]].tolist() == sorted(left - right)
    assert other[: counts[1]].tolist() == sorted(right - left)
