"""Tables on a terminal of any width: no number and no short text is broken, and all are there."""

from __future__ import annotations

from io import StringIO
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from nnuelab.report import render
from nnuelab.report.inspect import Summary

ROWS = 3
WORDS = st.text("abcdefgh", min_size=1, max_size=render.SHORT)
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
