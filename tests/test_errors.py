"""Messages: one line each, whatever they quote."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.chess import notation
from nnuelab.errors import LONGEST, LONGEST_QUOTE, UserError
from nnuelab.report import render


@given(st.lists(st.text(st.characters(exclude_characters="\n")), min_size=1))
def test_a_message_is_lines_that_a_terminal_can_show(lines: list[str]) -> None:
    error = UserError("\n".join(lines))
    said = str(error).split("\n")
    assert len(said) == len(lines)
    for line, read in zip(lines, said, strict=True):
        assert read.isprintable()
        assert read == line or not (line.isprintable() and len(line) <= LONGEST)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_long_line_is_told_by_its_ends() -> None:
    with pytest.raises(UserError, match="broken FEN 'xx") as caught:
        notation.from_fen("x" * 50_000)
    assert len(str(caught.value)) < 3 * LONGEST_QUOTE


def test_a_cell_of_a_table_is_clipped_too() -> None:
    assert len(render._literal("x" * 4_000_000)) < 2 * LONGEST
