"""Expressions, index arithmetic, names and dead features."""

from __future__ import annotations

import math
import pickle
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.errors import UserError
from nnuelab.features import UnknownBlock, parse, registry
from tests.naive.features import SIZES

no_deadline = settings(deadline=None)  # the first use of a block is slower than the others
names = st.sampled_from(sorted(name for name, size in SIZES.items() if size < 5000))
terms = st.lists(names, min_size=1, max_size=2).map("*".join)
expressions = st.lists(terms, min_size=1, max_size=4, unique=True).map("+".join)


@no_deadline
@given(expressions)
def test_canonical_text_round_trips_and_keeps_the_order(text):
    assert parse(text).name == text
    assert parse(parse(text).name).name == text


@no_deadline
@given(expressions)
def test_size_and_offsets_follow_from_the_blocks(text):
    features = parse(text)
    sizes = [math.prod(SIZES[name] for name in term.split("*")) for term in text.split("+")]
    assert features.size == sum(sizes)
    assert list(features.offsets) == [sum(sizes[:i]) for i in range(len(sizes))]


@no_deadline
@given(expressions, st.data())
def test_every_index_belongs_to_one_term_and_has_a_name(text, data):
    features = parse(text)
    index = data.draw(st.integers(0, features.size - 1))
    term, local = features.term_of(index)
    assert features.offsets[features.terms.index(term)] + local == index
    assert features.feature_name(index)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("all", "ALL"),
        ("hv", "ALL"),
        ("Piece", "ALL"),
        (" h + V\t", "H+V"),
        ("V+H", "V+H"),
        ("H*(V+D1)", "H*V+H*D1"),
        ("(H+V)*D1", "H*D1+V*D1"),
        ("(H+V)*(D1+D2)", "H*D1+H*D2+V*D1+V*D2"),
        ("((H))", "H"),
        ("H+V*D1", "H+V*D1"),
        ("H*H", "H*H"),
    ],
)
def test_canonical_form(text, canonical):
    assert parse(text).name == canonical


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a block is missing before the end at column 1"),
        ("ALL+", "a block is missing before the end at column 5"),
        ("ALL++H", "a block is missing before '+' at column 5"),
        ("ALL H", "unexpected 'H' at column 5"),
        ("ALL+ $", "unexpected '$' at column 6"),
        ("(ALL", "a closing parenthesis is missing at column 5"),
        ("ALL)", "unexpected ')' at column 4"),
        ("H+ALL+HV", "the term ALL occurs twice"),
        ("ALL*ALL*ALL", "452,984,832 features"),
        ("KB(16,2)", "2 parameters are given; write KB(n)"),
        # In a parameter: the place in the whole text.
        ("H+PHASE(4,)", "'H+PHASE(4,)': a block is missing before ')' at column 11"),
        ("PHASE(2,PHASE(3,H*))", "PHASE(3,H*))': a block is missing before ')' at column 19"),
        ("PHASE(4,H V)", "'PHASE(4,H V)': unexpected 'V' at column 11"),
        pytest.param("(" * 5000 + "ALL" + ")" * 5000, "nested too deeply", id="nested"),
    ],
)
def test_what_is_not_an_expression_is_refused_with_the_place(text, message):
    with pytest.raises(UserError) as error:
        parse(text)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("PIECES", "PIECE"),
        ("al", "ALL"),
        ("D3", "D2"),
        ("HALF-KP", "HALFKP"),
        ("KING-ALL", "KINGALL"),
    ],
)
def test_unknown_block_names_the_nearest(wrong, right):
    with pytest.raises(UnknownBlock, match=f"{wrong}.*did you mean {right}"):
        parse(f"H+{wrong}")


def test_objects_compose_like_text():
    blocks = registry.load()
    assert blocks["ALL"] + blocks["H"] * blocks["V"] == parse("ALL+H*V")
    assert blocks["H"] * (blocks["V"] + blocks["D1"]) == parse("H*(V+D1)")


def test_a_set_goes_to_other_processes():
    features = parse("ALL*H+BISHOP_PAIR+KB(16)")  # of a table, a function and a parameter
    assert pickle.loads(pickle.dumps(features)) == features


@pytest.mark.parametrize(("name", "size"), SIZES.items())
def test_sizes_of_the_study(name, size):
    assert parse(name).size == size


@pytest.mark.parametrize(
    ("text", "index", "name"),
    [
        ("ALL", (4 * 8 + 3) * 12, "own pawn on e4"),
        ("H", 7 * 12 + 5 * 2 + 1, "enemy king on file h"),
        ("V", 96 - 1, "enemy king on rank 8"),
        ("D1", 7 * 12 + 2 * 2, "own bishop on diagonal a8-h1"),
        ("D2", 7 * 12 + 2 * 2, "own bishop on diagonal a1-h8"),
        ("D2", 6, "own rook on diagonal a8"),
        ("ALL+H", 768 + 6, "own rook on file a"),
        ("H*V", 6 * 96 + 7, "own rook on file a and enemy rook on rank 1"),
    ],
)
def test_names_say_what_the_index_means(text, index, name):
    assert parse(text).feature_name(index) == name


def test_index_outside_the_set_has_no_name():
    for index in (-1, 96):
        with pytest.raises(IndexError):
            parse("H").feature_name(index)


@pytest.mark.parametrize(
    ("text", "dead"),
    [
        ("H", 0),
        ("ALL", 2 * 2 * 8),  # own and enemy pawns on two ranks of eight squares
        ("V", 2 * 2),
        ("D1", 2 * 2),  # both corners
        ("D2", 2 * 2),
    ],
)
def test_only_pawns_on_the_outer_ranks_are_dead(text, dead):
    found = parse(text).dead
    assert len(found) == dead
    assert all("pawn" in parse(text).feature_name(int(index)) for index in found)


@pytest.mark.parametrize(
    ("one", "other", "dead"),
    [
        ("own pawn on e4", "enemy pawn on e4", True),
        ("own king on e1", "own king on e2", True),
        ("own king on e4", "enemy king on e5", True),
        ("own pawn on e1", "own king on a1", True),
        ("own pawn on e4", "own pawn on e4", False),  # one pawn is both
        ("own king on e4", "enemy king on e6", False),
        ("own rook on e4", "own rook on e5", False),
    ],
)
def test_dead_pairs_are_those_that_contradict_each_other(one, other, dead):
    single = parse("ALL")
    index = {single.feature_name(i): i for i in range(single.size)}
    assert (index[one] * single.size + index[other] in dead_pairs()) == dead


@cache
def dead_pairs() -> set[int]:
    return set(parse("ALL*ALL").dead.tolist())
