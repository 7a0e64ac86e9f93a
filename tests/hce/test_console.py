"""The console block is that of the post, to the letter."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest

from nnuelab.hce import console, history

POST = """\
     Convergence:  79.35% (0.088%)     Entropy:  57.93 (-0.175)
 155 +█
     |█                                                █
     |█                                                █
     |█▄▄                                         ▄    █
   0 +-----+----+----+----+----+----+----+----+----+----+
      0   0.1  0.2  0.3  0.4  0.5  0.6  0.7  0.8  0.9   1
"""


def bits(end: float, middle: float) -> np.ndarray:
    """515 probabilities under the bars of the post; where in their column is chosen."""
    counts = np.zeros(50, np.int64)
    counts[[0, 1, 2, 44, 49]] = 155, 29, 29, 29, 116
    counts[9:18], counts[32], counts[33:41] = 9, 4, 9
    left = (np.arange(50) + middle) / 50
    places = np.where(np.arange(50) < 25, left, 1 - left[::-1])
    places[0], places[49] = end, 1 - end
    return np.repeat(places, counts)


def test_the_block_of_the_post() -> None:
    now, before = bits(0.01471, 0.84592), bits(0.01477, 0.88905)
    assert len(now) == 515
    assert console.block(now, before) == POST


def test_the_first_generation_has_no_change() -> None:
    assert "(0.000%)" in console.block(bits(0.01471, 0.84592)).splitlines()[0]


def test_a_histogram_has_51_columns_of_0_02() -> None:
    lines = console.histogram(np.array([0.0, 0.02, 0.019999, 0.58, 0.979999, 0.98, 0.999, 1.0]))
    bars = lines[3][6:]
    assert [place for place, bar in enumerate(bars) if bar != " "] == [0, 1, 29, 48, 49, 50]
    assert len(lines[4]) == 6 + console.COLUMNS
    assert [i for i, c in enumerate(lines[4][6:]) if c == "+"] == list(range(5, 51, 5))


@pytest.mark.parametrize(
    ("count", "rows"), [(155, "████"), (116, "███ "), (29, "▄   "), (9, "    ")]
)
def test_heights_are_halves_of_a_row(count: int, rows: str) -> None:
    lines = console.histogram(np.repeat([0.01, 0.5], [155, count]))
    assert "".join(line[6:].ljust(51)[25] for line in reversed(lines[:4])) == rows


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def row(generation: int, p: np.ndarray) -> dict:
    errors = {"best": 0.12, "mean": 0.13, "reference": 0.125, "validation": None}
    return {"generation": generation, **errors, **history.of_bits(p), "zero_weights": 3}


def test_a_log_gets_a_line_for_each_generation() -> None:
    stream = io.StringIO()
    shown = console.Console(3, stream=stream)
    for generation in (1, 2, 3):
        shown.show(row(generation, np.full(8, 0.5)), np.full(8, 0.5))
    lines = stream.getvalue().splitlines()
    assert [line.split()[1] for line in lines] == ["1/3", "2/3", "3/3"]
    assert "ETA" in lines[0]
    assert "ETA" not in lines[2]
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_shows_one_picture_that_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setattr(console, "_INTERVAL", 0.0)
    stream = Terminal()
    shown = console.Console(3, stream=stream)
    p = np.full(8, 0.5)
    shown.show(row(1, p), p)
    shown.show(row(2, p), p, last=True)
    first, up, second = re.split(r"(\x1b\[\d+A\x1b\[J)", stream.getvalue())
    assert up == "\x1b[8A\x1b[J"
    assert first.count("\n") == second.count("\n") == 8
    assert all(len(line) < 60 for line in second.splitlines())
