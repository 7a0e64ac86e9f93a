"""Intervals cover the truth as often as they say, in tournaments of known strength."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from nnuelab.tournament import model, ratings
from tests.simulated import simulate

SETS = {"ALL": 0.0, "H": -60.0, "D": 25.0, "V": -20.0}
SEEDS = 3


@pytest.mark.parametrize(
    ("tournaments", "low", "high"),
    [
        pytest.param(60, 0.90, 0.985, id="fast"),
        pytest.param(500, 0.93, 0.97, id="500", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("opening", [0.0, 80.0], ids=["fair-openings", "biased-openings"])
def test_intervals_of_games_cover_the_truth(
    tournaments: int, low: float, high: float, opening: float
) -> None:
    rng = np.random.default_rng(20)
    elo = np.array([60.0, 10.0, 0.0, -70.0])
    free, anchored = [], []
    for _ in range(tournaments):
        fitted = model.fit(simulate(rng, elo, 120, opening=opening))
        found, error = fitted.relative_to(np.full(4, 1 / 4))
        free.append(np.abs(found - elo) < error)
        found, error = fitted.relative_to(np.eye(4)[2])
        anchored.append((np.abs(found - elo) < error)[[0, 1, 3]])
    assert low < np.mean(free) < high
    assert low < np.mean(anchored) < high


def coverage_with_taste(rng: np.random.Generator, book: int | None, tournaments: int) -> np.ndarray:
    """Shares of intervals that hold, clustered by opening and by opening pair."""
    elo = np.array([20.0, 0.0, 0.0, 0.0, -20.0])
    hits = []
    for _ in range(tournaments):
        results = simulate(rng, elo, 40, opening=60, taste=100, book=book)
        for clusters in (results.cluster, results.pair):
            fitted = model.fit(replace(results, cluster=clusters))
            rated, error = fitted.relative_to(np.eye(5)[2])
            hits.append((np.abs(rated - elo) < error)[[0, 1, 3, 4]])
    return np.reshape(hits, (tournaments, 2, 4)).mean(axis=(0, 2))


def test_an_opening_that_several_pairings_play_tells_no_more_of_a_player() -> None:
    by_opening, by_pair = coverage_with_taste(np.random.default_rng(24), 40, 60)
    assert 0.91 < by_opening < 0.98
    assert by_pair < by_opening - 0.03


@pytest.mark.slow
@pytest.mark.parametrize("book", [None, 70, 40], ids=["own-openings", "overlapping", "shared"])
def test_openings_that_suit_a_player_are_in_the_error(book: int | None) -> None:
    by_opening, by_pair = coverage_with_taste(np.random.default_rng(23), book, 500)
    assert 0.93 < by_opening < 0.97
    assert book is None or by_pair < 0.93


def play_sets(
    rng: np.random.Generator, spread: float, pairs: int, taste: float = 0.0
) -> tuple[dict[str, ratings.SetRating], dict[str, float]]:
    """Ratings of sets whose nets vary by ``spread``, and what these very nets are worth."""
    names = [f"{name}#{seed}" for name in SETS for seed in range(SEEDS)]
    elo = np.repeat(list(SETS.values()), SEEDS) + rng.normal(0, spread, len(names))
    results = simulate(rng, elo, pairs, taste=taste, alike=SEEDS)
    nets = dict(zip(SETS, elo.reshape(-1, SEEDS).mean(axis=1), strict=True))
    fitted = model.fit(results)
    fitted = model.Fit(
        names, fitted.elo, fitted.covariance, fitted.white_advantage, fitted.white_advantage_error
    )
    return ratings.sets_of(fitted, "ALL"), {name: nets[name] - nets["ALL"] for name in SETS}


@pytest.mark.parametrize(
    ("tournaments", "low", "high"),
    [
        pytest.param(60, 0.89, 0.99, id="fast"),
        pytest.param(500, 0.93, 0.97, id="500", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("spread", "taste"),
    [(10.0, 0.0), (10.0, 50.0), (40.0, 0.0)],
    ids=["games-matter", "openings-suit-sets", "seeds-matter"],
)
def test_intervals_of_seeds_cover_the_truth(
    tournaments: int, low: float, high: float, spread: float, taste: float
) -> None:
    rng = np.random.default_rng(21)
    hits: dict[str, list[bool]] = {"games": [], "seeds": [], "both": []}
    for _ in range(tournaments):
        sets, nets = play_sets(rng, spread, 12, taste)
        for name, truth in SETS.items():
            row = sets[name]
            if name == "ALL":
                continue
            assert row.elo_error_seeds is not None
            assert row.elo_error is not None
            hits["games"].append(abs(row.elo - nets[name]) < row.elo_error_games)
            hits["seeds"].append(abs(row.elo - truth) < row.elo_error_seeds)
            hits["both"].append(abs(row.elo - truth) < row.elo_error)
    share = {kind: np.mean(covered) for kind, covered in hits.items()}
    assert low < share["games"] < high
    assert low < share["seeds"] < high
    # Never less than the games' error, it errs on the safe side where seeds hardly matter.
    assert low < share["both"] < 0.99


def test_the_error_of_games_alone_is_too_small_for_new_trainings() -> None:
    """What the study printed: the reason for two errors."""
    rng = np.random.default_rng(22)
    hits = []
    for _ in range(40):
        sets, _nets = play_sets(rng, 40.0, 12)
        hits += [abs(sets[n].elo - SETS[n]) < sets[n].elo_error_games for n in SETS if n != "ALL"]
    assert np.mean(hits) < 0.75


def test_the_combination_is_both_variances() -> None:
    """By hand, in the balanced design where each is simple."""
    covariance = 25.0 * (np.eye(4) - 1 / 4)  # games: 5 points for a net
    players = ["ALL#1", "ALL#2", "H#1", "H#2"]
    wide = model.Fit(players, np.array([30.0, 10.0, -15.0, -25.0]), covariance, 0.0, 0.0)
    row = ratings.sets_of(wide, "ALL")["H"]
    s2 = (200 + 50) / 2
    # In a balanced tournament all of s2 counts, the games' share with it: t of 2 degrees is 4.3027.
    assert row.elo_error_seeds == pytest.approx(4.30265 * np.sqrt(s2), rel=1e-4)
    assert row.elo_error == pytest.approx(row.elo_error_seeds)
    assert row.degrees_of_freedom == pytest.approx(2)
    close = model.Fit(players, np.array([11.0, 10.0, -10.0, -11.0]), covariance, 0.0, 0.0)
    row = ratings.sets_of(close, "ALL")["H"]
    # What came out small by chance leaves doubt: the games' variance with the same 2 degrees.
    assert row.elo_error == pytest.approx(4.30265 * 5, rel=1e-4)
    assert row.degrees_of_freedom == pytest.approx(2)
