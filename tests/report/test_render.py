"""Tables on a terminal of any width: no number and no short text is broken, and all are there."""

from __future__ import annotations

import csv
import sys
from io import StringIO
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from nnuelab.report import render
from nnuelab.report.inspect import Summary

ROWS = 3
WORDS = st.text("abcdefgh", min_size=1, max_size=render.SHORT)
PRINTED = st.characters(exclude_categories=["Cc", "Cs"])
NUMBERS = st.integers(-(10**9), 10**9)
CELLS = [st.lists(kind, min_size=ROWS, max_size=ROWS) for kind in (WORDS, NUMBERS)]
COLUMNS = st.tuples(WORDS, st.one_of(CELLS))


@given(
    columns=st.lists(COLUMNS, min_size=1, max_size=25, unique_by=lambda column: column[0]),
    width=st.integers(60, 200),
)
def test_short_cells_stand_on_one_line(columns, width):
    rows = [{name: cells[i] for name, cells in columns} for i in range(ROWS)]
    output = StringIO()
    console = Console(file=output, width=width)
    render.show(Summary(Path(__file__), "rows", {}, {"told": rows}), console)
    _, _, text = output.getvalue().partition("\ntold\n")
    read: list[list[str]] = []
    for number, block in enumerate(text.rstrip().split("\n\n")):
        lines = [line.split() for line in block.splitlines()]
        assert len({len(line) for line in lines}) == 1
        cells = [list(column) for column in zip(*lines, strict=True)]
        read += cells[1:] if number else cells  # the first column stands in every part
    assert read == [
        [name, *(cell if isinstance(cell, str) else f"{cell:,}" for cell in cells)]
        for name, cells in columns
    ]


def test_a_pipe_gets_a_line_for_a_row_and_nothing_cut(tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    hashed, command = "0123456789abcdef" * 4, "nnuelab " + "--option value " * 40
    summary = Summary(Path(__file__), "net", {"sha256": hashed, "command": command.strip()}, {})
    with render.output() as console:
        render.show(summary, console)
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split(maxsplit=1) for line in lines] == [
        ["sha256", hashed],
        ["command", command.strip()],
    ]
    assert all(line == line.rstrip() for line in lines)


@given(rows=st.lists(st.tuples(st.text(PRINTED), st.integers()), max_size=4))
def test_a_pipe_gets_csv(rows):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sys, "stdout", out := StringIO())
        render.print_rows(["name", "number"], rows)
        text = out.getvalue()
        assert list(csv.reader(StringIO(text, newline=""))) == [
            ["name", "number"],
            *([name, str(number)] for name, number in rows),
        ]
        out.truncate(0)
        out.seek(0)
        render.print_csv(text)
        assert out.getvalue() == text


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True

    def words(self) -> list[list[str]]:
        """Of each line since the last call."""
        text = self.getvalue()
        self.truncate(self.seek(0))
        return [line.split() for line in text.splitlines()]


def stdout_of(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as stdout. (Not a fixture: what those set, pytest's own capture sets back.)"""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.setattr(sys, "stdout", terminal := Terminal())
    return terminal


def test_a_terminal_gets_a_table_and_what_is_the_same_in_all_rows_above_it(monkeypatch):
    terminal = stdout_of(monkeypatch)
    render.print_csv("set,games_at,elo\nALL,nodes,0\nH+V,nodes,-12.5\n")
    assert terminal.words() == [
        ["games", "at", "nodes"],
        [],
        ["set", "elo"],
        ["ALL", "0"],
        ["H+V", "-12.5"],
    ]
    render.print_csv("set,games_at,elo\nALL,nodes,0\n")
    assert terminal.words() == [["set", "games", "at", "elo"], ["ALL", "nodes", "0"]]
    render.print_csv("set,elo\n")
    assert terminal.words() == [["set", "elo"]]


def test_rows_that_are_known_are_printed_where_others_are_interrupted(monkeypatch):
    terminal = stdout_of(monkeypatch)

    def rows():
        yield ["null-move", 40]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        render.print_rows(["term", "elo"], rows())
    assert terminal.words() == [["term", "elo"], ["null-move", "40"]]
