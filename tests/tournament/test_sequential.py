"""The sequential test between sets: its bounds, its error rates, and the files of its rounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from typer.testing import CliRunner

from nnuelab.cli.__main__ import application
from nnuelab.errors import UserError
from nnuelab.settings.sequential import Stopping
from nnuelab.tournament import power, sequential
from nnuelab.tournament.sequential import Round, bounds, intervals, looks, normal_bounds


def simulated(rng, difference, deviation, settings, reps):
    """Rounds [reps, rounds] of sets that differ so much; ``deviation`` is that of a round."""
    return difference + deviation * rng.normal(size=(reps, settings.rounds))


def ended(differences, settings):
    """First round [reps] where each verdict fell: stronger, weaker, equivalent; or `rounds`."""
    low, high = intervals(differences, settings)
    inside = (-settings.equivalence < low) & (high < settings.equivalence)
    fell = [low > 0, high < 0, inside & (low <= 0) & (high >= 0)]
    return [np.where(f.any(1), f.argmax(1), settings.rounds) for f in fell]


def shares(differences, settings):
    """How often each of the three verdicts comes, before the others."""
    first = np.stack(ended(differences, settings))
    decided = first.min(0) < settings.rounds
    return [float(np.mean(decided & (first.argmin(0) == i))) for i in range(3)]


def test_bounds_are_those_of_lan_and_demets():
    # Published for five equal steps at .05, two-sided; a look at the first hardly spends anything.
    found = normal_bounds(Stopping(rounds=5))
    assert np.isinf(found[0])
    assert found[1:] == pytest.approx([3.357, 2.680, 2.290, 2.031], abs=2e-3)


@pytest.mark.parametrize("rounds", [3, 8, 20])
def test_known_variances_spend_alpha_as_planned(rounds):
    settings = Stopping(rounds=rounds)
    rng = np.random.default_rng(1)
    sums = np.cumsum(rng.normal(size=(40_000, rounds)), axis=1)
    out = np.abs(sums) > normal_bounds(settings) * np.sqrt(np.arange(1, rounds + 1))
    crossed = np.mean(np.maximum.accumulate(out, axis=1), axis=0)
    planned = sequential.spent(np.arange(1, rounds + 1) / rounds, settings)
    assert crossed[1:] == pytest.approx(planned[1:], abs=3.5 * np.sqrt(0.05 / 40_000))


@pytest.mark.parametrize("rounds", [4, 10, 16])
def test_estimated_variances_keep_alpha(rounds):
    settings = Stopping(rounds=rounds)
    stronger, weaker, _ = shares(
        simulated(np.random.default_rng(2), 0.0, 12.6, settings, 40_000), settings
    )
    assert stronger + weaker == pytest.approx(0.05, abs=0.004)


def test_intervals_miss_the_truth_no_more_often_than_alpha():
    settings = Stopping(rounds=10)
    low, high = intervals(
        simulated(np.random.default_rng(3), 7.0, 12.6, settings, 20_000), settings
    )
    assert np.mean(((low > 7) | (high < 7)).any(1)) == pytest.approx(0.05, abs=0.005)


def test_a_planted_difference_of_15_elo_is_found_in_80_percent():
    """1,000 games a round, where equal trainings scatter by 6 Elo."""
    games = power.games_variance(power.Design(["A", "B"], "A", 1, 1000))
    deviation = np.sqrt(2 * (6.0**2 + games))
    settings = Stopping()
    differences = simulated(np.random.default_rng(4), 15.0, deviation, settings, 20_000)
    stronger, weaker, _ = shares(differences, settings)
    assert stronger > 0.8
    assert weaker < 0.001
    assert np.mean(ended(differences, settings)[0] + 1) < 0.85 * settings.rounds


def test_sets_that_differ_by_the_bound_are_seldom_called_equivalent():
    settings = Stopping(rounds=12, equivalence=15.0)
    rng = np.random.default_rng(5)
    assert shares(simulated(rng, 15.0, 12.6, settings, 20_000), settings)[2] < 0.03
    assert shares(simulated(rng, 0.0, 12.6, settings, 20_000), settings)[2] > 0.8


def test_an_interval_by_hand():
    settings = Stopping(rounds=4)
    low, high = intervals(np.array([10.0, 20.0, 12.0]), settings)
    assert np.isinf([low[0], high[0]]).all()
    width = bounds(settings)[2] * np.std([10, 20, 12], ddof=1) / np.sqrt(3)
    assert (low[2], high[2]) == pytest.approx((14 - width, 14 + width))
    # Student's quantile at the level of the bound for a known variance, a few percent wider.
    student = stats.t.isf(stats.norm.sf(normal_bounds(settings)[2]), 2)
    assert 1 < bounds(settings)[2] / student < 1.1


def test_what_was_played_beyond_a_decision_does_not_count():
    settings = Stopping(rounds=6)
    rounds = [Round(seed, 100, 50.0 + seed % 2) for seed in range(1, 7)]
    found = looks(rounds, settings)
    assert found[-1].verdict == "stronger"
    assert len(found) < 6
    assert looks([*rounds[: len(found)], Round(9, 100, -900.0)], settings) == found
    # Rounds come one by one, on any day: each look is that of the rounds before it.
    for k in range(1, len(found)):
        assert looks(rounds[:k], settings) == found[:k]
    level = [replace(each, elo=(-1.0) ** each.seed * 30) for each in rounds]
    assert [look.verdict for look in looks(level, settings)] == [""] * 5 + ["undecided"]


def write_round(path, seed, wins, losses, other="B"):
    """A match, each opening played twice with colours swapped, half of the pairs won both ways."""
    games = []
    for number, result in enumerate(["1-0"] * wins + ["0-1"] * losses):
        for part, (white, black) in enumerate([("A", other), (other, "A")], 1):
            told = result if part == 1 else "1/2-1/2"
            names = f'[White "{white}#{seed}"]\n[Black "{black}#{seed}"]\n'
            games.append(
                f'{names}[Round "{number + 1}.{part}"]\n[Result "{told}"]\n\n1. e4 {told}\n\n'
            )
    path.write_text("".join(games))
    return path


def test_the_state_is_in_the_files_of_the_rounds(tmp_path):
    rounds = ((1, 33, 27), (2, 36, 24), (3, 32, 28))
    files = [write_round(tmp_path / f"{seed}.pgn", seed, *won) for seed, *won in rounds]
    call = [
        "sequential",
        *map(str, reversed(files)),
        "--set",
        "A",
        "--anchor",
        "B",
        "--rounds",
        "3",
    ]
    shown = CliRunner().invoke(application(), call)
    assert shown.exit_code == 0, shown.output
    head, *rows = shown.stdout.splitlines()
    assert head == "seed,games,elo,mean,low,high,verdict"
    assert [row.split(",")[0] for row in rows] == ["1", "2", "3"]
    first = sequential.read_rounds(files, "A", "B")
    assert first[0].elo > 0
    mirrored = sequential.read_rounds(files, "B", "A")
    assert mirrored[1].elo == pytest.approx(-first[1].elo)


def test_rounds_that_are_none_are_refused(tmp_path):
    one = write_round(tmp_path / "1.pgn", 1, 3, 2)
    three = write_round(tmp_path / "3.pgn", 3, 3, 2)
    longer = write_round(tmp_path / "2.pgn", 2, 4, 2)
    with pytest.raises(UserError, match="seed 3 comes after seed 1"):
        sequential.read_rounds([one, three], "A", "B")
    with pytest.raises(UserError, match="seed 1 comes after seed 1"):
        sequential.read_rounds([one, one], "A", "B")
    with pytest.raises(UserError, match="different numbers of games"):
        sequential.read_rounds([one, longer], "A", "B")
    with pytest.raises(UserError, match="a round is a match of A#N and C#N"):
        sequential.read_rounds([one], "A", "C")
