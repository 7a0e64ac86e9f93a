"""Scales of marks: what is on them stands where its number is, what isn't at their ends."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.report.bars import Scale
from nnuelab.tournament.yardsticks import NODES

ELO = st.floats(-2000, 2000).map(lambda value: f"{value:.1f}")
ROWS = st.lists(st.fixed_dictionaries({"elo": ELO}, optional={"elo_error": st.just("12.5")}))


def every_end(rows):
    found = []
    for row in rows:
        elo = float(row["elo"])
        found += [elo, *(elo + part * float(row[e]) for e in row if e != "elo" for part in (-1, 1))]
    return np.array(found)


@given(ROWS)
def test_a_whole_scale_has_room_for_everything(rows):
    scale = Scale.over(rows, [NODES])
    assert all(scale.low < value < scale.high for value in [0, *every_end(rows)])


@given(ROWS)
def test_most_of_many_rows_is_on_their_scale(rows):
    scale, values = Scale.of_most(rows, [NODES]), every_end(rows)
    assert scale.low < 0 < scale.high
    outside = (values < scale.low) | (values > scale.high)
    assert outside.sum() <= 0.05 * len(values)
    whole = Scale.over(rows, [NODES])
    assert whole.low <= scale.low
    assert scale.high <= whole.high


@given(st.floats(-500, 0), st.floats(1, 500), st.floats(-1000, 1000))
def test_places_are_linear_and_end_at_the_ends(low, high, value):
    place = Scale(low, high).place(value)
    assert abs(place - 100 * np.interp(value, [low, high], [0, 1])) < 0.01
