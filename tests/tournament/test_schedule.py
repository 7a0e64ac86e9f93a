"""Who meets whom: what a schedule costs in games, and how well it tells sets from the anchor."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.errors import UserError
from nnuelab.names import NetName
from nnuelab.tournament import model
from nnuelab.tournament.schedule import Settings, check, pairings
from nnuelab.tournament.words import Format
from tests.simulated import by_least_squares, simulate

ANCHORED = Settings(2000, Format.ANCHORED, anchor="S0")


def nets(sets: int, seeds: int) -> list[str]:
    return [f"S{i}#{seed}" for i in range(sets) for seed in range(seeds)]


def variance(names: list[str], openings: dict[tuple[str, str], float]) -> float:
    """Of a set's mean less the anchor's."""
    sets = np.array([NetName.parse(name).entry for name in names])
    contrast = (sets == "S1") / np.sum(sets == "S1") - (sets == "S0") / np.sum(sets == "S0")
    return float(contrast @ by_least_squares(names, openings) @ contrast)


@given(st.integers(2, 9), st.integers(1, 3))
def test_anchored_games_tell_most_of_sets_and_are_as_many(sets: int, seeds: int) -> None:
    names = nets(sets, seeds)
    found = pairings(names, ANCHORED)
    everyone = dict.fromkeys(combinations(names, 2), 1000)
    assert sum(found.values()) == pytest.approx(sum(everyone.values()), rel=1e-2)
    best = variance(names, found)
    assert best <= 1.0001 * (np.sqrt(sets) + sets - 2) ** 2 / (2 * (sets - 1)) / sum(found.values())
    with_anchor = {pair for pair in found if pair[0].startswith("S0#")}
    for more in (0.5, 0.8, 1.25, 2.0, 1e9):  # the last is the gauntlet of the anchor
        other = {
            pair: count * (more if pair in with_anchor else 1) for pair, count in found.items()
        }
        scale = sum(found.values()) / sum(other.values())
        assert (
            variance(names, {pair: scale * count for pair, count in other.items()}) > 0.999 * best
        )
    assert variance(names, everyone) > 0.999 * best


def test_nets_of_one_set_do_not_meet() -> None:
    for first, second in pairings(nets(4, 3), ANCHORED):
        assert NetName.parse(first).entry != NetName.parse(second).entry


@pytest.mark.parametrize("anchor", [None, "S9"])
def test_an_anchor_has_to_play(anchor: str | None) -> None:
    with pytest.raises(UserError, match="the sets are S0, S1"):
        check(nets(2, 2), Settings(2, Format.ANCHORED, anchor=anchor))
    with pytest.raises(UserError, match="the sets are S0"):
        check(nets(1, 2), ANCHORED)


def test_errors_relative_to_the_anchor_shrink_as_foretold() -> None:
    """By the fits of simulated games of seven sets: 25 % less variance for as many games."""
    rng = np.random.default_rng(7)
    names = nets(7, 2)
    of_sets = np.repeat(np.eye(7), 2, axis=1) / 2
    contrasts = of_sets[1:] - of_sets[0]
    squares = []
    for settings in (Settings(40), Settings(40, Format.ANCHORED, anchor="S0")):
        openings = pairings(names, settings)
        counts = np.array([openings.get(pair, 0) for pair in combinations(names, 2)])
        fitted = model.fit(simulate(rng, np.zeros(14), counts, opening=60))
        squares.append(np.mean(model.error95(contrasts, fitted.covariance) ** 2))
    assert squares[1] / squares[0] == pytest.approx(0.75, abs=0.08)
