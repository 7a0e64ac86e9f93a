"""The commands as a user calls them: output, exit status, messages."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from nnuelab.features import Block, check, registry
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "adding-a-feature-set.md"
START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"


def call(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nnuelab.cli", "features", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_active_prints_two_ascending_lines():
    done = call("active", "h", "--fen", "4k3/8/8/8/8/8/4P1P1/4K3 b - - 0 1")
    assert done.returncode == 0
    # Black moves: its king on file e, then the enemy's pawns on e and g and king on e.
    assert done.stdout == "stm: 49 58 59 73\nother: 48 58 59 72\n"


def test_active_with_names():
    done = call("active", "ALL", "--names", "--fen", "4k3/8/8/8/8/8/8/4K3 w - - 0 1")
    assert re.sub(" +", " ", done.stdout).splitlines() == [
        "stm: 394 479",
        " 394 own king on e1",
        " 479 enemy king on e8",
        "other: 394 479",
        " 394 own king on e1",
        " 479 enemy king on e8",
    ]


def test_list_shows_every_block_with_size_and_definition():
    rows = json.loads(call("list", "--json").stdout)
    sizes = {row["name"]: row["size"] for row in rows}
    assert sizes["ALL"] == 768
    assert sizes["KA"] == 49152
    assert sizes["KB(n)"] is None  # it depends on the parameter
    assert set(sizes) == {
        known.name if isinstance(known, Block) else known.usage
        for known in registry.load().values()
    }
    lines = call("list").stdout.splitlines()
    for row, line in zip(rows, lines, strict=True):
        assert line.startswith(row["name"])
        assert row["definition"] in line
        assert row["size"] is None or str(row["size"]) in line.split()


def test_a_formula_is_a_product_only_where_the_product_is_the_size():
    blocks = [known for known in registry.load().values() if isinstance(known, Block)]
    products = [b for b in blocks if b.formula == " x ".join(c.name for c in b.concepts)]
    assert len(products) > len(blocks) / 2
    for block in products:
        assert block.size == math.prod(concept.size for concept in block.concepts), block.name


def test_check_prints_a_line_for_each_property():
    done = call("check", "H+V", "--games", "5")
    assert done.returncode == 0
    assert "H+V: 192 features, 4 of them dead, at most 64 active" in done.stdout
    assert done.stdout.count("\nok ") == len(check.PROPERTIES)
    cost = done.stdout.splitlines()[-1]
    assert re.fullmatch(
        r"cost    an accumulator's update takes \d+ ns, [\d.]+ times .* ALL.*", cost
    )


def test_check_fails_with_position_and_features_when_a_property_does_not_hold(tmp_path):
    """Two features of one name: what a careless concept of one's own leads to."""
    path = tmp_path / "twins.py"
    path.write_text(
        "from nnuelab.features import *\n"
        'HALVES = Concept("HALVES", ("a half", "a half"))\n'
        '@piece_square("HALF", HALVES)\n'
        "def half(square, role, color):\n"
        '    """A piece stands on this half."""\n'
        "    return file_of(square) // 4\n"
    )
    done = call("check", "HALF", "--games", "2", "--blocks", path)
    assert done.returncode == 1
    assert "\ncost " not in done.stdout
    assert "FAILED  names are unique: features 0 and 1 of HALF are both 'piece on a half'" in (
        done.stdout
    )


COMPUTED = '''
from nnuelab.features import *
from nnuelab.jit import jit

@jit
def has_pawns(position, color=OWN):
    return (position.roles[PAWN] & position.colors[color]) != 0

@computed("PAWNS", COLORS, at_most=1)
def pawns(position, out):
    """There are own pawns."""
    out[0] = OWN
    return 1 if has_pawns(position) else 0

@computed("FEW", SQUARES, at_most=1)
def few(position, out):
    """Four where one was announced: an update would overwrite what lies behind its lists."""
    for i in range(4):
        out[i] = i
    return 4

@computed("FIELD", COLORS, at_most=1)
def field(position, out):
    """A field that a position doesn't have."""
    return 0 if position.colours[OWN] else 0

@computed("MANY", COLORS, at_most=2)
def many(position, out):
    """Writes far beyond its list."""
    for i in range(100_000):
        out[i] = i
    return 2
'''


def test_check_of_a_function_takes_defaults_and_stops_before_memory_is_overwritten(tmp_path):
    path = tmp_path / "computed.py"
    path.write_text(COMPUTED)
    assert call("check", "PAWNS", "--games", "1", "--blocks", path).returncode == 0
    done = call("check", "MANY", "--games", "1", "--blocks", path)
    assert done.returncode == 1
    assert "block MANY: many fails when Python runs it: IndexError" in done.stderr
    assert "as White in rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1" in done.stderr
    assert "Traceback" not in done.stderr


def test_check_skips_what_builds_on_a_property_that_failed(tmp_path):
    path = tmp_path / "computed.py"
    path.write_text(COMPUTED)
    done = call("check", "FEW", "--games", "1", "--blocks", path)
    assert done.returncode == 1
    verdicts = [line.split()[0] for line in done.stdout.splitlines()[2:]]
    assert verdicts == ["ok", "FAILED", *["skipped"] * 6]
    assert (
        "4 features are active, more than at_most, or max_active of a kind, says: 1" in done.stdout
    )
    assert "skipped colour flip, for it builds on indices and bounds" in done.stdout


def test_a_wrong_field_of_a_position_names_the_nearest(tmp_path):
    path = tmp_path / "computed.py"
    path.write_text(COMPUTED)
    for command in (("check", "FIELD", "--games", "1"), ("active", "FIELD", "--fen", START)):
        done = call(*command, "--blocks", path)
        assert done.returncode == 1
        (line,) = done.stderr.splitlines()
        assert "did you mean colors? (a position has roles, colors, key" in line


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("active", "ALL+KNIG", "--fen", START), 1, "did you mean"),
        (("active", "ALL", "--fen", "nonsense"), 1, "nonsense"),
        (("active", "ALL"), 2, "--fen"),
        (("check", "ALL", "--games", "0"), 2, "--games"),
        (("list", "--blocks", "nowhere.py"), 1, "nowhere.py"),
        (("topk", PAGE, "--output", "out.csv"), 1, "adding-a-feature-set.md is not a dataset"),
        (("topk", PAGE, "--output", "out.csv", "-k", "100001"), 2, "100000"),
    ],
)
def test_wrong_calls_say_what_is_wrong(arguments, status, message):
    done = call(*arguments)
    assert done.returncode == status
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
