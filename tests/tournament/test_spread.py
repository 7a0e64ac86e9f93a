"""The error to quote: what other experiments know, unequal spreads, many comparisons."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from nnuelab.errors import UserError
from nnuelab.tournament import model, ratings, spread
from nnuelab.tournament.adjusted import dunnett, holm
from nnuelab.tournament.schedule import Settings, pairings
from nnuelab.tournament.spread import Pooling, Spread
from nnuelab.tournament.words import Format
from tests.simulated import by_least_squares

# Variance by games and degrees of freedom of published experiments, when all had two seeds a set.
KNOWN = {"axis": (51, 7), "pairwise": (79, 4), "mobility": (109, 3), "baseline": (36, 9)}
DESIGNS = {
    "axis": (7, 2, 51),
    "pairwise": (4, 2, 79),
    "mobility": (3, 2, 109),
    "beyond": (9, 2, 66),
}


def simulated(rng, sets, seeds, spreads, games, known=None, groups=None, design=Format.ROUND_ROBIN):
    """Ratings of sets of equal strength; ``games`` is a net's variance by them in a round robin."""
    n = sets * seeds
    players = [f"S{i}#{seed}" for i in range(sets) for seed in range(seeds)]
    openings = pairings(players, Settings(200, design, anchor="S0"))
    covariance = 100 * n * games * by_least_squares(players, openings)
    scatter = np.repeat(np.broadcast_to(spreads, sets), seeds) * rng.normal(size=n)
    elo = scatter - scatter.mean() + rng.multivariate_normal(np.zeros(n), covariance)
    fitted = model.Fit(players, elo, covariance, 0.0, 0.0)
    rows = [
        Spread(name, "k", "", (known**2 + w) * rng.chisquare(df) / df, w, df)
        for name, (w, df) in KNOWN.items()
        if known is not None
    ]
    return ratings.sets_of(fitted, "S0", Pooling("new", "k", groups or {}, rows))


def by_two_matches(rng, sets, seeds, training, games, known):
    """As `simulated`, of nets that play twice and tell their spread by both matches.

    ``games``: a net's variance by those of each match, of the first of which are the ratings.
    """
    n = sets * seeds
    players = [f"S{i}#{seed}" for i in range(sets) for seed in range(seeds)]
    scatter = rng.normal(size=n) * training
    fits = [
        model.Fit(
            players,
            scatter - scatter.mean() + rng.multivariate_normal(np.zeros(n), covariance),
            covariance,
            0.0,
            0.0,
        )
        for covariance in (variance * (np.eye(n) - 1 / n) for variance in games)
    ]
    again = ratings.spreads(fits[1], Pooling("new", "k"))
    rows = [
        Spread(name, "k", "", (training**2 + w) * rng.chisquare(df) / df, w, df)
        for name, (w, df) in known.items()
    ]
    return ratings.sets_of(fits[0], "S0", Pooling("new", "k", {}, rows, again))


def coverage(monkeypatch, reps, seed, sets, *design, **more):
    monkeypatch.setattr(ratings, "_adjusted", lambda rows, *_: rows)  # slow, and not of interest
    rng = np.random.default_rng(seed)
    hits = []
    for _ in range(reps):
        found = simulated(rng, sets, *design, **more)
        hits += [abs(found[f"S{i}"].elo) < found[f"S{i}"].elo_error for i in range(1, sets)]
    return np.mean(hits)


@pytest.mark.slow
@pytest.mark.parametrize("training", [6.0, 10.0])
@pytest.mark.parametrize("design", DESIGNS)
def test_the_error_to_quote_covers_95_percent(monkeypatch, design, training):
    sets, seeds, games = DESIGNS[design]
    share = coverage(monkeypatch, 1500, 1, sets, seeds, training, games, known=training)
    assert 0.93 < share < 0.975


@pytest.mark.slow
@pytest.mark.parametrize("design", DESIGNS)
def test_the_error_to_quote_covers_where_most_games_are_the_anchors(monkeypatch, design):
    sets, seeds, games = DESIGNS[design]
    more = {"known": 6.0, "design": Format.ANCHORED}
    assert 0.93 < coverage(monkeypatch, 1500, 5, sets, seeds, 6.0, games, **more) < 0.975


@pytest.mark.slow
@pytest.mark.parametrize("known", [KNOWN, {}], ids=["pooled", "alone"])
@pytest.mark.parametrize("training", [0.0, 6.0, 14.0])
@pytest.mark.parametrize("games", [(51, 51), (51, 1500)])
def test_the_error_to_quote_covers_where_nets_play_twice(monkeypatch, games, training, known):
    monkeypatch.setattr(ratings, "_adjusted", lambda rows, *_: rows)
    rng = np.random.default_rng(6)
    hits = []
    for _ in range(1500):
        found = by_two_matches(rng, 7, 2, training, games, known)
        hits += [abs(found[f"S{i}"].elo) < found[f"S{i}"].elo_error for i in range(1, 7)]
    assert 0.93 < np.mean(hits) < (0.975 if training else 0.995)


@pytest.mark.slow
def test_unequal_spreads(monkeypatch):
    uneven = [3, 3, 6, 6, 6, 12, 12]
    assert 0.93 < coverage(monkeypatch, 1500, 2, 7, 2, uneven, 51, known=6.0) < 0.975
    few = {"S2": "few", "S3": "few"}
    share = coverage(monkeypatch, 2000, 3, 4, 2, [6, 6, 40, 40], 84, known=6.0, groups=few)
    assert 0.92 < share < 0.97


def test_the_error_to_quote_covers_in_a_few_tournaments(monkeypatch):
    assert 0.90 < coverage(monkeypatch, 80, 4, 7, 2, 8.0, 51, known=8.0) < 0.99


def test_one_row_gives_its_variance_less_that_of_the_games():
    found = spread.estimate([Spread("a", "k", "", 90.0, 40.0, 8)])
    assert found.variance == pytest.approx(50)
    assert found.freedom(games=40.0) == pytest.approx(8)
    assert spread.estimate([Spread("a", "k", "", 30.0, 40.0, 8)]).variance == 0


def test_rows_of_the_same_nets_count_once():
    twice = [Spread("a", "k", "", 90.0, 40.0, 8), Spread("a", "k", "", 50.0, 60.0, 8)]
    variance, games = (np.average(of, weights=[60**2, 40**2]) for of in ([90, 50], [40, 60]))
    found = spread.together(twice)
    assert (found.variance, found.games) == pytest.approx((variance, games))
    assert found == replace(twice[0], variance=found.variance, games=found.games)
    assert Pooling("new", "k", {}, twice).others() == [spread.together(twice)]
    own = Spread("new", "k", "", 10.0, 20.0, 3)
    elsewhere = Spread("new", "k", "few", 1e6, 20.0, 3)
    pooling = Pooling("new", "k", {}, (), [replace(own, variance=30.0), elsewhere])
    assert pooling.with_again(own) == replace(own, variance=20.0)


def test_a_few_games_do_not_blur_what_many_say():
    many, few = Spread("a", "k", "", 290.0, 160.0, 9), Spread("a", "k", "", 5600.0, 4200.0, 9)
    alone, both = (spread.estimate([row]) for row in (many, spread.together([many, few])))
    assert both.information > 0.9 * alone.information


def test_the_estimate_is_the_likeliest():
    rows = [Spread("a", "k", "", 90.0, 40.0, 8), Spread("b", "k", "", 120.0, 100.0, 3)]

    def likelihood(tau2):
        return sum(
            stats.chi2.logpdf(r.freedom * r.variance / (tau2 + r.games), r.freedom)
            - np.log(tau2 + r.games)
            for r in rows
        )

    grid = np.linspace(0, 200, 20001)
    best = grid[np.argmax([likelihood(x) for x in grid])]
    assert spread.estimate(rows).variance == pytest.approx(best, abs=0.02)


def test_other_experiments_make_one_seed_enough():
    fitted = model.Fit(["A#1", "B#1"], np.array([10.0, -10.0]), 50 * (np.eye(2) - 1 / 2), 0.0, 0.0)
    known = [Spread("other", "k", "", 86.0, 50.0, 30), Spread("other", "unlike", "", 1e6, 50.0, 30)]
    row = ratings.sets_of(fitted, "A", Pooling("new", "k", {}, known))["B"]
    assert row.elo_error == pytest.approx(stats.t.ppf(0.975, 30) * np.sqrt(2 * 86), rel=1e-3)
    assert row.elo_error_seeds is None
    # Neither what this experiment said before, nor games of another kind, count.
    assert ratings.sets_of(fitted, "A", Pooling("other", "k", {}, known))["B"].elo_error is None


def test_what_scatters_more_than_elsewhere_is_not_pooled(capsys):
    own, others = Spread("new", "k", "", 900.0, 50.0, 4), [Spread("a", "k", "", 86.0, 50.0, 30)]
    assert spread.pooled(own, others) == spread.estimate([own])
    assert "new (k): equal trainings scatter more than elsewhere" in capsys.readouterr().err


def test_holm_by_hand():
    assert holm(np.array([0.02, 0.5, 0.01])) == pytest.approx([0.04, 0.5, 0.03])


def test_dunnett_agrees_with_scipy():
    rng = np.random.default_rng(5)
    groups = [rng.normal(shift, 1, 6) for shift in (0, 1.5, 0.5, -0.3)]
    expected = stats.dunnett(*groups[1:], control=groups[0], random_state=np.random.default_rng(2))
    found = dunnett(expected.statistic, 0.5 * (np.eye(3) + 1), 4 * 5)
    first = np.argmax(np.abs(expected.statistic))
    assert found[first] == pytest.approx(expected.pvalue[first], abs=2e-3)
    own = 2 * stats.t.sf(np.abs(expected.statistic), 20)
    assert np.all(found <= expected.pvalue + 2e-3)  # stepping down never loses
    assert np.all(found >= own - 1e-12)


def test_a_file_of_spreads_comes_back(tmp_path):
    path = tmp_path / "spread.csv"
    rows = [Spread("axis", "nodes 400, train.epochs 12", "", 49.25, 51.5, 7)]
    path.write_text(spread.to_csv(rows))
    assert spread.read(path) == rows
    path.write_text(spread.to_csv(rows).replace("49.25", "many"))
    with pytest.raises(UserError, match="line 2: no row of experiment,kind"):
        spread.read(path)
