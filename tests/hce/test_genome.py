"""Weights as bits, and back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.errors import UserError
from nnuelab.hce import genome
from nnuelab.hce.genome import ENCODINGS, Genome, design
from tests.naive import hce as naive


@st.composite
def genomes(draw: st.DrawFn) -> Genome:
    encoding = draw(st.sampled_from(ENCODINGS))
    fields = draw(
        st.lists(
            st.tuples(st.integers(2, 12), st.sampled_from([1, 2, 8]), st.sampled_from([1, -1])),
            min_size=1,
            max_size=6,
        )
    )
    return Genome(encoding, *(np.array(column) for column in zip(*fields, strict=True)))


@given(genomes(), st.data())
def test_decoding_what_was_encoded(made: Genome, data: st.DataObject) -> None:
    numbers = np.array(
        [
            step * data.draw(st.integers(low // step, high // step))
            for low, high, step in zip(made.lowest, made.highest, made.steps, strict=True)
        ]
    )
    string = made.encode(numbers)
    assert string.shape == (made.bits,)
    assert made.decode(string).tolist() == numbers.tolist()


@given(genomes(), st.data())
def test_strings_are_read_as_the_twin_reads_them(made: Genome, data: st.DataObject) -> None:
    string = np.array(data.draw(st.lists(st.booleans(), min_size=made.bits, max_size=made.bits)))
    found = made.decode(string)
    fields = zip(made.widths.tolist(), made.steps.tolist(), made.signs.tolist(), strict=True)
    assert found.tolist() == naive.decoded(string.tolist(), list(fields), made.encoding)
    assert ((found >= made.lowest) & (found <= made.highest)).all()
    # All strings of a population at once.
    assert made.decode(np.stack([string, ~string]))[0].tolist() == found.tolist()


def test_a_number_that_a_field_does_not_have() -> None:
    made = design(np.array([0.0, 100.0]))
    with pytest.raises(ValueError, match="its field"):
        made.encode(np.array([64, 0]))
    assert made.nearest(np.array([64, -3.4])).tolist() == [63, -3]


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_all_zero_bits(encoding: str) -> None:
    """In magnitudes they are a weight of 0: the eliminated terms of the post."""
    made = design(np.array([50.0, -50.0]), encoding)
    found = made.decode(np.zeros(made.bits, bool)).tolist()
    assert found == ([-128, -128] if encoding == "offset" else [0, 0])


def test_a_magnitude_keeps_the_sign_of_its_start() -> None:
    made = design(np.array([50.0, -50.0]), "magnitude")
    assert made.decode(np.ones(made.bits, bool)).tolist() == [127, -127]


def test_widths_reach_beyond_the_start() -> None:
    made = design(np.array([0.0, 82.0, -1025.0]))
    assert made.widths.tolist() == [7, 8, 12]
    assert made.highest.tolist() == [63, 127, 2047]


@pytest.mark.parametrize("total", [515, 300, 180, 900])
def test_a_total_is_met_by_steps_or_ranges(total: int) -> None:
    start = np.random.default_rng(1).integers(-500, 1100, 60).astype(float)
    natural, made = design(start), design(start, total=total)
    assert made.bits == total
    assert (made.widths >= 2).all()
    needed = np.maximum(genome.HEADROOM * np.abs(start), genome.SHORT_RANGE)
    # A field is as long as it has to be, but for less than a step, and then coarser.
    assert (made.highest + made.steps > needed).all()
    assert ((made.steps == 1) | (made.highest < natural.highest + 1)).all()


def test_widths_that_are_given_reach_beyond_the_start() -> None:
    made = design(np.array([1000.0, 100.0, 5.0]), given={0: 8, 1: 8, 2: 4})
    assert made.steps.tolist() == [16, 2, 2]
    assert made.highest.tolist() == [2032, 254, 14]


def test_widths_that_do_not_sum_to_the_total() -> None:
    start = np.array([10.0, 20.0])
    with pytest.raises(UserError, match="sum to 17 bits, not 16: 2 weights, 2 of them"):
        design(start, total=16, given={0: 8, 1: 9})
    with pytest.raises(UserError, match="can have 4 to 32 bits"):
        design(start, total=515)
    with pytest.raises(UserError, match="takes 2 to 16"):
        design(start, given={0: 1})
    assert design(start, total=17, given={0: 8, 1: 9}).bits == 17
    assert design(start, total=16, given={0: 8}).widths.tolist() == [8, 8]
    assert genome.WIDEST == 16
