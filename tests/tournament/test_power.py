"""What is foretold of a tournament, and what simulated and published ones then told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from nnuelab.errors import UserError
from nnuelab.tournament import model, power, ratings, spread
from nnuelab.tournament.adjusted import critical, dunnett
from nnuelab.tournament.power import Design
from nnuelab.tournament.spread import Pooling, Spread
from tests.simulated import simulate

ROOT = Path(__file__).resolve().parents[2]
# Sets, and games of a pairing, of published experiments with two seeds.
PUBLISHED = {"axis": (7, 130), "pairwise": (4, 130), "mobility": (3, 130), "baseline": (9, 100)}


def design(sets: int, seeds: int, games: float, draws: float = power.DRAWS) -> Design:
    return Design([f"S{i}" for i in range(sets)], "S0", seeds, games, draws)


def quoted(experiment: str, kind: str, sets: int) -> float:
    """elo_error of the table of an experiment, from what resources/spread.csv says of it."""
    known = spread.read(ROOT / "resources/spread.csv")
    own = next(row for row in known if (row.experiment, row.kind) == (experiment, kind))
    fitted = power.imagined(design(sets, 2, 100), own.variance - own.games)
    scale = own.games / (fitted.covariance[0, 0] - fitted.covariance[0, 1])
    elo = np.tile([-1.0, 1.0], sets) * np.sqrt(own.variance / 2)
    made = replace(fitted, elo=elo, covariance=fitted.covariance * scale)
    error = ratings.sets_of(made, "S0", Pooling(experiment, kind, {}, known))["S1"].elo_error
    assert error is not None
    return error


@pytest.mark.parametrize("experiment", PUBLISHED)
def test_the_errors_of_published_tables_are_foretold_from_the_others(experiment):
    sets, games = PUBLISHED[experiment]
    pooling = Pooling(
        experiment, "nodes 400", {}, spread.read(ROOT / "resources/spread.csv")
    )
    training = power.expected_spread(pooling).variance
    foretold = power.forecast(design(sets, 2, games), pooling, training)
    assert foretold.error == pytest.approx(quoted(experiment, "nodes 400", sets), rel=0.2)


def test_the_table_of_axis_says_what_the_spreads_do():
    assert quoted("axis", "nodes 400", 7) == pytest.approx(19.7, abs=0.7)  # 19.4 to 20.4


@pytest.mark.parametrize("draws", [0.2, 0.6])
def test_covariances_are_those_of_simulated_games(draws):
    rng = np.random.default_rng(1)
    players, pairs = 5, 60
    found = [
        model.fit(simulate(rng, np.zeros(players), pairs, 0.0, davidson=draws)).elo
        for _ in range(60)
    ]
    expected = power.covariance(2 * pairs * (1 - np.eye(players)), draws)
    # The mean square of (players - 1) independent contrasts, 60 times.
    ratio = np.var(found, axis=0).sum() / np.trace(expected)
    assert ratio == pytest.approx(1, abs=3 * np.sqrt(2 / 60 / (players - 1)))


def test_a_round_robin_by_hand():
    found = power.covariance(100.0 * (1 - np.eye(4)), draws=0.5)
    each = 4 * 0.5 / (model.SLOPE**2 * 100 * 4)
    assert found == pytest.approx(each * (np.eye(4) - 1 / 4))


def test_the_critical_value_is_that_of_dunnetts_test():
    for comparisons, freedom in ((1, 7.0), (2, 4.0), (6, 27.0), (8, 300.0)):
        bound = critical(comparisons, freedom)
        statistic = np.zeros(comparisons)
        statistic[0] = bound
        p = dunnett(statistic, (np.eye(comparisons) + 1) / 2, freedom)
        assert p[0] == pytest.approx(0.05, abs=5e-4)
    assert critical(1, 7.0) == pytest.approx(stats.t.ppf(0.975, 7), abs=1e-3)


def share_found(planned: Design, pooling: Pooling, training: float, reps: int) -> float:
    """How often a set is told from the anchor that is `detects` stronger, all else equal."""
    rng = np.random.default_rng(2)
    strength = power.forecast(planned, pooling, training).detects
    fitted = power.imagined(planned, training)
    n, root = len(fitted.players), np.linalg.cholesky(fitted.covariance + 1e-9 * np.eye(14))
    hits = 0
    for _ in range(reps):
        elo = np.sqrt(training) * rng.normal(size=n) + root @ rng.normal(size=n)
        elo[-planned.seeds :] += strength
        known = [replace(r, variance=r.variance * rng.chisquare(9) / 9) for r in pooling.known]
        rows = ratings.sets_of(
            replace(fitted, elo=elo - elo.mean()), "S0", replace(pooling, known=known)
        )
        p = rows[planned.sets[-1]].p_adjusted
        hits += p is not None and p < 0.05
    return hits / reps


@pytest.mark.slow
def test_the_difference_foretold_is_found_in_80_percent():
    pooling = Pooling("new", "k", {}, [Spread(f"e{i}", "k", "", 86.0, 50.0, 9) for i in range(3)])
    assert share_found(design(7, 2, 130), pooling, 36.0, 400) == pytest.approx(0.8, abs=0.06)


def test_more_games_and_seeds_tell_more():
    pooling = Pooling("new", "k", {}, [Spread("e", "k", "", 86.0, 50.0, 30)])
    few = power.forecast(design(4, 2, 100), pooling, 36.0)
    for more in (design(4, 3, 100), design(4, 2, 200), design(4, 2, 100, 0.6)):
        found = power.forecast(more, pooling, 36.0)
        assert found.error < few.error
        assert found.detects < few.detects
    assert few.detects_primary < few.detects
    assert few.error < few.detects_primary


def test_the_games_that_are_needed_suffice_and_are_few():
    pooling = Pooling("new", "k", {}, [Spread("e", "k", "", 86.0, 50.0, 30)])
    games = power.games_needed(design(4, 6, 2), pooling, 36.0, 15.0)
    assert games is not None
    assert power.forecast(design(4, 6, games), pooling, 36.0).detects < 15.05
    assert power.forecast(design(4, 6, games * 0.9), pooling, 36.0).detects > 15
    assert power.games_needed(design(4, 2, 2), pooling, 100.0, 15.0) is None


def test_without_experiments_of_the_kind_a_spread_is_assumed_and_nothing_known():
    other = [Spread("e", "another", "", 86.0, 50.0, 30)]
    assert power.expected_spread(Pooling("new", "k", {}, other)) == spread.Estimate(
        pytest.approx(36), 0.0
    )
    with pytest.raises(UserError, match="--training-sd"):
        power.expected_spread(Pooling("e", "k", {}, other))
    with pytest.raises(UserError, match="one seed"):
        power.forecast(design(3, 1, 100), Pooling("new", "k", {}, other), 36.0)
