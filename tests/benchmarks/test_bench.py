"""Every benchmark runs, and what it prints can be read in 80 columns."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from benchmarks import harness
from nnuelab.chess import notation
from nnuelab.cli import bench
from nnuelab.cli.__main__ import application
from nnuelab.engine.bench import POSITIONS
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from tests.nnue_nets import random_net

QUICK: dict[str, dict[str, Any]] = {
    "perft": {
        "ROUNDS": 1,
        "PYTHON_DEPTH": 1,
        "PLACES": {"start": (POSITIONS[0], 3, 1.3, 2.0)},
    },
    "layers": {"ROUNDS": 1, "CALLS": 1},
    "search": {"ROUNDS": 1, "NODES": 500},
    "selfplay": {"GAMES": 1, "PAIRS": 1, "FAST_PAIRS": 1, "QUIET": 100},
    "texel": {"ROUNDS": 1, "FEW_ROUNDS": 1, "POSITIONS": 3000, "TRACED": 500},
    "train": {"ROUNDS": 1, "BATCHES": 1, "L1": 16, "L2": 8},
}


@pytest.mark.parametrize("name", QUICK)
def test_every_row_is_measured(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module(f"benchmarks.{name}")
    for constant, value in QUICK[name].items():
        monkeypatch.setattr(module, constant, value)
    found = list(module.rows(64) if name == "train" else module.rows())
    assert len({row["name"] for row in found}) == len(found) > 0
    assert all(row["ours"] > 0 and len(row["name"]) <= 80 for row in found)


def test_a_row_has_medians_and_the_median_of_the_ratios() -> None:
    found = harness.row("a", "s", [1.0, 2.0, 4.0], [1.0, 4.0, 2.0], less_is_better=True)
    assert (found["ours"], found["reference"], found["ratio"]) == (2.0, 2.0, 1.0)
    found = harness.row("a", "s", [1.0, 2.0, 9.0], [2.0, 1.0, 3.0])
    assert (found["ours"], found["reference"], found["ratio"]) == (2.0, 2.0, 2.0)
    assert harness.row("a", "s", 3.0)["ratio"] is None


def test_sides_take_turns_and_the_first_round_does_not_count() -> None:
    calls: list[str] = []

    def side(name: str) -> float:
        calls.append(name)
        return float(len(calls))

    found = harness.in_turn({"a": lambda: side("a"), "b": lambda: side("b")}, 2)
    assert calls == ["a", "b"] * 3
    assert found == {"a": [3.0, 5.0], "b": [4.0, 6.0]}


LONG = harness.row("x" * 80, "positions/CPU-s", 123_456_789.0, 123_456_789.0, 0.15, 1000.0)
SHORT = harness.row("short", "s", 0.5)


def test_the_table_fits_80_columns_with_a_line_for_the_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.import_module("benchmarks.search"), "rows", lambda: [LONG, SHORT])
    lines = CliRunner().invoke(application(), ["bench", "search"]).stdout.splitlines()
    assert lines[0].split() == ["ours", "reference", "unit", "ratio", "at", "least", "aim"]
    assert (lines[1], lines[3]) == (LONG["name"], "short")
    figures = ["123,456,789", "123,456,789", "positions/CPU-s", "1.00", "0.15", "1,000"]
    assert (lines[2].split(), lines[4].split()) == (figures, ["0.50", "s"])
    assert max(map(len, lines)) == 80
    assert lines[-1] == "all ratios reach what is asked: 1"


def test_what_is_too_slow_is_told_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [LONG, harness.row("slow", "s", 1.0, 2.0, 0.9), SHORT]
    monkeypatch.setattr(importlib.import_module("benchmarks.search"), "rows", lambda: rows)
    said = CliRunner().invoke(application(), ["bench", "search"]).stdout
    assert said.splitlines()[-1] == "1 of 2 ratios are below what is asked: slow"


def test_json_is_an_object_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.import_module("benchmarks.search"), "rows", lambda: [LONG, SHORT])
    said = CliRunner().invoke(application(), ["bench", "search", "--json"]).stdout
    found = [json.loads(line) for line in said.splitlines()]
    assert found == [LONG, SHORT]
    assert list(found[0]) == list(bench.COLUMNS)


def test_an_installed_package_says_where_the_benchmarks_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "CLONE", tmp_path)
    result = CliRunner().invoke(application(), ["bench", "search"])
    assert result.exit_code == 1
    assert "clone it" in result.stderr


@pytest.mark.parametrize("copies", [1, 2, 3])
def test_a_widened_net_evaluates_the_same(copies: int) -> None:
    net = random_net("ALL+H", l1=16, l2_shift=8)
    wide = harness.widened(net, 16 * copies)
    assert wide.l1 == 16 * copies
    for fen in POSITIONS:
        position = notation.from_fen(fen)
        assert Engine(NetEvaluator(wide), 1).evaluate(position) == Engine(
            NetEvaluator(net), 1
        ).evaluate(position)
    with pytest.raises(ValueError, match="no multiple"):
        harness.widened(net, 24)
