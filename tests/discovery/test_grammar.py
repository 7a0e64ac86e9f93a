"""Sets that a search writes are sets, within its limits, and none comes twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab import features
from nnuelab.discovery.grammar import Grammar, key_of, text_of
from nnuelab.errors import UserError
from nnuelab.settings.search import Searching

SETTINGS = Searching(
    terms=["ALL", "H", "V", "KING*V", "MC"], factors=["KING"], max_terms=3, max_features=7000
)


@given(st.integers(0, 2**32 - 1))
def test_children_are_new_sets_within_the_limits(seed):
    grammar = Grammar(SETTINGS)
    rng = np.random.default_rng(seed)
    known = dict.fromkeys(grammar.first())
    seen = {frozenset(features.parse(text_of(terms)).name.split("+")) for terms in known}
    for _ in range(20):
        child = grammar.child(rng, list(known), set(map(key_of, known)))
        if child is None:
            break
        terms, _, parents = child
        found = features.parse(text_of(terms))
        assert found.size <= 7000
        assert 1 <= len(found.terms) <= 3
        assert set(parents) <= set(known)
        parts = frozenset(found.name.split("+"))
        assert parts not in seen
        seen.add(parts)
        known[terms] = None
    assert len(known) > 8


def test_the_same_draws_give_the_same_child():
    grammar = Grammar(SETTINGS)
    first = grammar.first()
    keys = set(map(key_of, first))
    one, other = (grammar.child(np.random.default_rng(3), first, keys) for _ in range(2))
    assert one == other


def test_a_grammar_ends():
    grammar = Grammar(replace(SETTINGS, terms=["H", "V"], factors=[]))
    known = {*grammar.first(), (("H", ""), ("V", ""))}
    keys = set(map(key_of, known))
    assert grammar.child(np.random.default_rng(1), list(known), keys) is None


def test_a_set_under_two_names_is_one():
    sums = Grammar(replace(SETTINGS, terms=["H", "V", "H+V", "KING*H"]))
    known: dict[frozenset[str], object] = {}
    for terms in sums.alone(sums.factors):
        known.setdefault(key_of(terms), terms)
    rng = np.random.default_rng(1)
    while child := sums.child(rng, list(known.values()), known):
        known[key_of(child[0])] = child[0]
    names = [features.parse(text_of(terms)).name for terms in known.values()]
    parts = [frozenset(name.split("+")) for name in names]
    assert len(parts) == len(set(parts))
    assert {"H", "V"} in parts
    assert {"KING*H", "V"} in parts


def test_every_move_can_be_drawn():
    grammar = Grammar(SETTINGS)
    parents = [*grammar.first(), (("ALL", ""), ("V", ""))]
    rng = np.random.default_rng(1)
    keys = set(map(key_of, parents))
    moves = {grammar.child(rng, parents, keys)[1] for _ in range(200)}
    assert moves == {"add", "drop", "swap", "unite", "multiply"} - {
        "drop"
    }  # to a set that is known


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"terms": []}, "terms: there are none"),
        ({"terms": ["H", "KING*ALL"]}, r"terms: KING\*ALL makes no set of at most 7,000 features"),
        ({"factors": ["KING", "TH"]}, "factors: TH makes no set of at most 7,000 features"),
        ({"terms": ["H", "h"]}, "terms: H is there twice"),
        ({"terms": ["HH"]}, "there is no block 'HH'"),
    ],
)
def test_a_grammar_of_nothing_is_refused(change, message):
    with pytest.raises(UserError, match=message):
        Grammar(replace(SETTINGS, **change))
