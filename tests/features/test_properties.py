"""Blocks by registration, products and sums: the properties that every feature set must have."""

from __future__ import annotations

import os
import random
from contextlib import suppress
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.errors import UserError
from nnuelab.features import check, parse
from tests import feature_sets

BLOCKS = feature_sets.blocks()
SMALL = [name for name in BLOCKS if "TOPK" in name or parse(name).size <= feature_sets.LARGEST]
SUMS = feature_sets.sums(SMALL, 30)
PAIRS = ["+".join(pair) for pair in combinations(SMALL, 2)]
DRAWN = 5  # positions of a game


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    """The list that the examples of TOPK name lies in the current folder."""
    before, here = Path.cwd(), tmp_path_factory.mktemp("lists")
    feature_sets.pair_file(here)
    os.chdir(here)
    yield here
    os.chdir(before)


@pytest.fixture(scope="module")
def games():
    return check.random_games(2 * len(check.STARTS), seed=7)


@pytest.fixture(scope="module")
def fifty_games():
    return check.random_games(50, seed=8)


@pytest.fixture(scope="module")
def two_thousand_games(shared):
    folder = shared / "data" / "games"
    real = [
        game
        for name in ("fixture_clk_200.pgn", "fixture_evals_200.pgn")
        for game in feature_sets.real_games(folder / name, 200)
    ]
    return real + check.random_games(2000 - len(real), seed=9)


@pytest.fixture(scope="module")
def drawn_positions(two_thousand_games):
    """Some positions of each of them: a definition in plain Python takes milliseconds."""
    rng = random.Random(10)
    return [
        check.Game([position], [])
        for game in two_thousand_games
        for position in rng.sample(game.positions, min(DRAWN, len(game.positions)))
    ]


def test_random_games_have_every_special_move(games, fifty_games):
    for played in (games, fifty_games):
        counts = check.census(played)
        assert all(counts.values()), counts


def holds(expression, games, names=tuple(check.PROPERTIES)):
    features = parse(expression)
    for name in names:
        check.PROPERTIES[name](features, games)


@pytest.mark.parametrize("name", check.PROPERTIES)
@pytest.mark.parametrize("expression", BLOCKS)
def test_block(expression, name, games):
    check.PROPERTIES[name](parse(expression), games)


@pytest.mark.parametrize("expression", feature_sets.PRODUCTS)
def test_product(expression, games):
    holds(expression, games)


@pytest.mark.parametrize("expression", SUMS)
def test_sum(expression, games):
    holds(expression, games)


@pytest.mark.slow
@pytest.mark.parametrize("expression", [*SUMS, *PAIRS])
def test_sums_and_every_pair_of_blocks(expression, fifty_games):
    holds(expression, fifty_games)


BY_DEFINITION = [name for name in check.PROPERTIES if "definition" in name or "bounds" in name]
KERNELS_ALONE = [
    name for name in check.PROPERTIES if "incremental" in name or name == "colour flip"
]


def test_two_thousand_games_try_every_property():
    """But the names, in which games have no part."""
    assert set(check.PROPERTIES) == {"names are unique", *BY_DEFINITION, *KERNELS_ALONE}


@pytest.mark.slow
@pytest.mark.parametrize("expression", [*BLOCKS, *feature_sets.PRODUCTS])
def test_two_thousand_games(expression, two_thousand_games, drawn_positions):
    holds(expression, two_thousand_games, KERNELS_ALONE)
    holds(expression, drawn_positions, BY_DEFINITION)


LEAVES = st.sampled_from(["ALL", "H", "V", "KING", "PH", "PD1", "KB(2)", "PP", "YACGE"])
COMPOSITIONS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("+".join),
        st.tuples(st.sampled_from(["H", "KING", "V"]), inner).map("({0[0]})*({0[1]})".format),
        st.tuples(st.integers(2, 5), inner).map("PHASE({0[0]},{0[1]})".format),
    ),
    max_leaves=4,
)


def is_possible(text):
    """Not what has a term twice, or explodes."""
    with suppress(UserError):
        return parse(text).size < feature_sets.LARGEST
    return False


@settings(max_examples=25)
@given(COMPOSITIONS.filter(is_possible))
def test_compositions(games, text):
    composed = parse(text)
    assert parse(composed.name) == composed
    assert parse(composed.name).name == composed.name
    names = [name for name in check.PROPERTIES if name != "names are unique"]
    holds(composed.name, games[:5], names)
