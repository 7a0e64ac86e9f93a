"""A user's own blocks: what they may be, and what is said when they are wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nnuelab.errors import UserError
from nnuelab.features import add_files, parse
from nnuelab.features.tables import compiled

GOOD = '''
from nnuelab.features import *

@piece_square("CENTRE", ROLES, COLORS, aliases=("MIDDLE",))
def centre(square, role, color):
    """A piece of role r and colour c stands on one of the four squares in the centre."""
    return (role, color) if file_of(square) in (3, 4) and rank_of(square) in (3, 4) else None
'''


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.fixture(autouse=True)
def no_user_blocks(monkeypatch):
    monkeypatch.setenv("NNUELAB_BLOCKS", "")


def test_a_block_in_a_file_of_ones_own_is_used_like_the_others(tmp_path):
    path = write(tmp_path, GOOD)
    add_files([path])
    features = parse("middle+all*centre")
    assert features.name == "CENTRE+ALL*CENTRE"
    assert features.feature_name(2) == "own knight"
    assert parse("CENTRE").blocks[0].file == path


def test_files_are_handed_to_child_processes_as_absolute_paths(tmp_path, monkeypatch):
    write(tmp_path, GOOD)
    monkeypatch.chdir(tmp_path)
    add_files([Path("mine.py"), Path("mine.py")])
    assert os.environ["NNUELAB_BLOCKS"] == str(tmp_path / "mine.py")


def function(body: str, name: str = "MINE", concepts: str = "FILES, COLORS") -> str:
    return (
        "from nnuelab.features import *\n\n"
        f"@piece_square({name!r}, {concepts})\n"
        "def mine(square, role, color):\n"
        f'    """Mine."""\n    {body}\n'
    )


LINE = """from nnuelab.features import *

@neighbours("LINE", RANKS, along=RANKS)
def line_pairs(line, role, color, other_role, other_color):
"""


PAIR = """from nnuelab.features import *

@piece_pairs("PAIR")
def pair():
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def broken(:\n", "mine.py, line 1: "),
        ("import math\nmath.nothing\n", "mine.py, line 2: AttributeError"),
        ("x = 1\n", "defines no feature block"),
        (
            function("return square, color"),
            "block MINE, own pawn on a2: 8 is not a value of FILES (0..7)",
        ),
        (function("return -1, color"), "-1 is not a value of FILES"),
        (function("return 0.5, color"), "0.5 is not a value of FILES"),
        (function("return color"), "returned (0,), not one value for each of FILES, COLORS"),
        (
            function("return 1 // square, color"),
            "own pawn on a1: ZeroDivisionError: integer division or modulo by zero (line 6)",
        ),
        (function("return 0, 0", name="my block"), "'my block' can't name a block"),
        (function("return 0, 0", name="H"), "the name H is taken by the block H of"),
        (function("return 0, 0", name="HV"), "the name HV is taken by the block ALL of"),
        (function("return 0, 0", concepts=""), "name at least one concept"),
        (function("file_of(square), color"), "block MINE: no feature is ever active; let mine ret"),
        (function("return (0, 0) if role == PAWN and square < 8 else None"), "no feature is ever"),
        (f"{LINE}    line\n", "block LINE: no feature is ever active; let line_pairs return"),
        (
            f"{PAIR}    return [((PAWN, OWN, 8.5), (PAWN, OWN, 9))]\n",
            "PAIR: there is no (role, col",
        ),
        ("from nnuelab.features import *\n\nNONE = Concept('NONE', ())\n", "mine.py, line 3: "),
        (function("raise ValueError('one\\ntwo')"), "own pawn on a1: ValueError: one two (line 6)"),
        ("import sys\n\nsys.exit(3)\n", "mine.py, line 3: it ends the program"),
        ("raise RuntimeError('one\\n  two')\n", "mine.py, line 1: RuntimeError: one two"),
        ("x = 1\0\n", "null bytes"),
        ("'\ud800'\n", "mine.py"),
    ],
)
def test_a_wrong_file_is_named_with_what_is_wrong(text, message, tmp_path):
    path = tmp_path / "mine.py"
    path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(UserError) as error:
        add_files([path])
    assert str(path) in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_king_s_block_that_is_never_active_is_told_when_it_is_used(tmp_path):
    text = """
from nnuelab.features import *

@king_piece("NEAR", COLORS)
def near(king, square, role, color):
    color
"""
    add_files([write(tmp_path, text)])
    with pytest.raises(UserError, match=r"mine\.py: block NEAR: no feature is ever active"):
        compiled(parse("NEAR"))


def test_a_file_may_name_and_import_blocks_of_the_package(tmp_path):
    text = """
from nnuelab.features import named, parse
from nnuelab.features.blocks.kings import half_kp

both = named("BOTH", parse("H+V"), "Files and ranks.")
more = named("MORE", half_kp + both, "Half-KP, files and ranks.")
"""
    add_files([write(tmp_path, text)])
    assert parse("BOTH").size == parse("H+V").size
    assert parse("MORE").size == parse("KP+H+V").size


def test_a_mistake_in_a_file_that_is_imported_is_told_with_that_file(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    write(tmp_path, "def broken(:\n", "my_helpers.py")
    with pytest.raises(UserError, match=r"my_helpers\.py, line 1: ") as error:
        add_files([write(tmp_path, "import my_helpers\n" + GOOD)])
    assert "mine.py" not in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match=r"no file of feature blocks .*nowhere\.py"):
        add_files([tmp_path / "nowhere.py"])


def test_two_files_may_not_define_one_name(tmp_path):
    with pytest.raises(UserError, match=r"other\.py: the name CENTRE is taken .*mine\.py"):
        add_files([write(tmp_path, GOOD), write(tmp_path, GOOD, "other.py")])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("return {}[n]", r"mine\.py: ODD\(3\): own fails: KeyError: 3"),
        ("return n", r"mine\.py: ODD\(3\): own returns no block: 3"),
        ("raise ValueError('n is odd')", r"ODD\(n\): n is odd"),
    ],
)
def test_a_family_that_fails_is_told_in_a_line(body, message, tmp_path):
    text = "from nnuelab.features import *\n\n"
    text += '@family("ODD", Number("n", range(9)), examples=())\n'
    add_files([write(tmp_path, f"{text}def own(n):\n    {body}\n")])
    with pytest.raises(UserError, match=message):
        parse("ALL+ODD(3)")
