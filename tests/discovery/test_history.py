"""Fronts of loss and cost, against the definition."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from nnuelab.discovery.history import Row, best_first, front, layers, to_csv


def row(number, loss, cost, rung=0):
    return Row(number, 0, rung, f"S{number}", "block", "", 1, 2.0, cost, loss)


ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(0, 1)), min_size=1, max_size=12
).map(
    lambda found: [row(i, loss / 10, 1 + cost, rung) for i, (loss, cost, rung) in enumerate(found)]
)


def beats(one, other):
    """No worse in both, better in one."""
    pairs = [(one.loss, other.loss), (one.cost, other.cost)]
    return all(a <= b for a, b in pairs) and any(a < b for a, b in pairs)


@given(ROWS)
def test_layers_are_fronts_of_what_is_left(rows):
    left, layer = list(rows), 0
    found = dict(zip((each.number for each in rows), layers(rows), strict=True))
    while left:
        first = [each for each in left if not any(beats(other, each) for other in left)]
        assert {each.number for each in first} == {n for n, of in found.items() if of == layer}
        left = [each for each in left if each not in first]
        layer += 1


@given(ROWS)
def test_the_front_is_of_the_longest_screen(rows):
    last = max(each.rung for each in rows)
    longest = [each for each in rows if each.rung == last]
    expected = [each for each in longest if not any(beats(other, each) for other in longest)]
    assert front(rows) == sorted(expected, key=lambda each: (each.cost, each.number))
    assert best_first(longest)[0] in expected


def test_what_was_not_trained_is_on_no_front_and_has_no_loss():
    rows = [row(0, 0.5, 1.0), row(1, math.inf, 0.5)]
    assert front(rows) == rows[:1]
    assert to_csv(rows).splitlines()[2].endswith(",0.5000,")
