"""What is foretold of a tournament, and what simulated and published ones then told."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from nnuelab.errors import UserError
from nnuelab.settings.games import DRAWS
from nnuelab.tournament import model, power, ratings, schedule, spread
from nnuelab.tournament.adjusted import critical, dunnett
from nnuelab.tournament.power import Design
from nnuelab.tournament.spread import Pooling, Spread
from nnuelab.tournament.words import Format
from tests.simulated import simulate

ROOT = Path(__file__).resolve().parents[2]
# Sets, seeds of each, and games of a pairing of published experiments.
PUBLISHED = {
    "axis": (7, 5, 24),
    "pairwise": (4, 2, 130),
    "mobility": (3, 4, 130),
    "baseline": (9, 2, 100),
}


def design(sets: int, seeds: int, games: float, draws: float = DRAWS) -> Design:
    return Design([f"S{i}" for i in range(sets)], "S0", seeds, games, draws)


def made(sets: int, seeds: int, games: float, elo: np.ndarray) -> model.Fit:
    """Ratings of a round robin, whose variance by games is known."""
    n = sets * seeds
    players = [f"S{i}#{seed}" for i in range(sets) for seed in range(seeds)]
    return model.Fit(players, elo - elo.mean(), games * (np.eye(n) - 1 / n), 0.0, 0.0)


def quoted(experiment: str, kind: str, sets: int, seeds: int) -> float:
    """elo_error of the table of an experiment, from what resources/spread.csv says of it."""
    known = spread.read(ROOT / "resources/spread.csv")
    own = next(row for row in known if (row.experiment, row.kind) == (experiment, kind))
    elo = np.resize([-1.0, 1.0], sets * seeds) * np.sqrt(own.variance * (seeds - 1) / seeds)
    pooling = Pooling(experiment, kind, {}, known)
    error = ratings.sets_of(made(sets, seeds, own.games, elo), "S0", pooling)["S1"].elo_error
    assert error is not None
    return error


def test_the_file_of_spreads_has_what_published_details_tell():
    lines = (ROOT / "resources/spread.csv").read_text().splitlines()
    for path in sorted((ROOT / "results/published/tournament").rglob("*_details.json")):
        rows = [spread.of_row(row, path.name) for row in json.loads(path.read_text())["spread"]]
        for line in spread.to_csv(rows).splitlines():
            # they would count as trainings of params.yaml, at other rates or twice
            assert line in lines or line.startswith(("rates,", "pqr,", "rows,"))


@pytest.mark.parametrize("experiment", PUBLISHED)
def test_the_errors_of_published_tables_are_foretold_from_the_others(experiment):
    sets, seeds, games = PUBLISHED[experiment]
    pooling = Pooling(experiment, "nodes 400", {}, spread.read(ROOT / "resources/spread.csv"))
    training = power.expected_spread(pooling).variance
    foretold = power.forecast(design(sets, seeds, games), pooling, training)
    assert foretold.error == pytest.approx(quoted(experiment, "nodes 400", sets, seeds), rel=0.2)


def test_the_published_errors_of_axis_follow_from_its_details_and_the_spreads():
    known = spread.read(ROOT / "resources/spread.csv")
    pooling = Pooling("axis", "nodes 400", {}, known)
    fits = {}
    for column, name in (("elo", "axis_details.json"), ("elo_cost", "cost/axis_details.json")):
        told = json.loads((ROOT / "results/published/tournament" / name).read_text())
        players, elo = zip(*((row["name"], row["elo"]) for row in told["players"]), strict=True)
        covariance = np.array(told["covariance"])
        fits[column] = model.Fit(list(players), np.array(elo), covariance, 0.0, 0.0)
    with open(ROOT / "results/published/axis_table.csv", newline="") as file:
        table = list(csv.DictReader(file))
    for column, other in (("elo", "elo_cost"), ("elo_cost", "elo")):
        again = ratings.spreads(fits[other], pooling)
        sets = ratings.sets_of(fits[column], "ALL", replace(pooling, again=again))
        for row in table:
            assert row[column] == f"{sets[row['feature_set']].elo:.1f}"
            assert row[f"{column}_error"] == f"{sets[row['feature_set']].elo_error:.1f}"


@pytest.mark.parametrize("draws", [0.2, 0.6])
def test_the_variance_by_games_is_that_of_simulated_ones(draws):
    rng = np.random.default_rng(1)
    players, pairs, reps = 5, 60, 60
    found = [
        model.fit(simulate(rng, np.zeros(players), pairs, 0.0, davidson=draws)).elo
        for _ in range(reps)
    ]
    expected = power.games_variance(design(players, 1, 2 * pairs, draws))
    ratio = np.var(found, axis=0, ddof=1).sum() / (players - 1) / expected
    assert ratio == pytest.approx(1, abs=3 * np.sqrt(2 / reps / (players - 1)))


@pytest.mark.parametrize("format", [Format.ROUND_ROBIN, Format.ANCHORED])
@pytest.mark.parametrize(("sets", "seeds"), [(2, 1), (3, 2), (7, 2), (9, 8)])
def test_the_variance_of_a_difference_is_that_of_least_squares(sets, seeds, format):
    planned = replace(design(sets, seeds, 20_000), format=format)
    names = [f"{name}#{seed}" for name in planned.sets for seed in range(seeds)]
    meetings = schedule.pairings(names, schedule.Settings(20_000, format, anchor="S0"))
    laplacian = np.zeros((len(names), len(names)))
    for players, openings in meetings.items():
        i, j = map(names.index, players)
        laplacian[[i, j], [i, j]] += 2 * openings
        laplacian[[i, j], [j, i]] -= 2 * openings
    weights = np.repeat(np.eye(sets)[1] - np.eye(sets)[0], seeds) / seeds
    points = 4 * (1 - planned.draws) / model.SLOPE**2
    expected = points * weights @ np.linalg.pinv(laplacian) @ weights
    assert power.difference_variance(planned) == pytest.approx(expected, rel=1e-3)


def test_the_critical_value_is_that_of_dunnetts_test():
    for comparisons, freedom in ((1, 7.0), (2, 4.0), (6, 27.0), (8, 300.0)):
        bound = critical(comparisons, freedom)
        statistic = np.zeros(comparisons)
        statistic[0] = bound
        p = dunnett(statistic, (np.eye(comparisons) + 1) / 2, freedom)
        assert p[0] == pytest.approx(0.05, abs=5e-4)
    assert critical(1, 7.0) == pytest.approx(stats.t.ppf(0.975, 7), abs=1e-3)


def share_found(planned: Design, pooling: Pooling, training: float, reps: int) -> float:
    """How often a set is called stronger that is stronger by what is said to be detected."""
    rng = np.random.default_rng(2)
    sets, seeds = len(planned.sets), planned.seeds
    strength = (
        np.repeat(np.eye(sets)[-1], seeds) * power.forecast(planned, pooling, training).detects
    )
    games = power.games_variance(planned)
    p = []
    for _ in range(reps):
        elo = strength + np.sqrt(training + games) * rng.normal(size=sets * seeds)
        rows = ratings.sets_of(made(sets, seeds, games, elo), "S0", pooling)
        p.append(rows[planned.sets[-1]].p_adjusted)
    return float(np.mean(np.array(p) < 0.05))


@pytest.mark.parametrize(
    ("reps", "tolerance"),
    [pytest.param(60, 0.16, id="fast"), pytest.param(800, 0.045, id="800", marks=pytest.mark.slow)],
)
@pytest.mark.parametrize("others", [0, 3], ids=["alone", "pooled"])
def test_the_difference_foretold_is_found_in_80_percent(others, reps, tolerance):
    known = [Spread(f"e{i}", "k", "", 86.0, 50.0, 9) for i in range(others)]
    found = share_found(design(4, 3, 130), Pooling("new", "k", {}, known), 36.0, reps)
    assert found == pytest.approx(0.8, abs=tolerance)


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
