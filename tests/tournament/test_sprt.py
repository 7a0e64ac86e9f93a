"""Elo and the sequential test: published cases, other formulas, and its errors in simulation."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from nnuelab.errors import UserError
from nnuelab.tournament.sprt import (
    FARTHEST,
    LEAST_PAIRS,
    MISSING,
    NORMALIZED,
    LiveTest,
    Sprt,
    Tally,
    expected_score,
    read_test,
)
from nnuelab.tournament.words import Model

PENTANOMIAL = st.lists(st.integers(0, 400), min_size=5, max_size=5)
TRINOMIAL = st.lists(st.integers(0, 400), min_size=3, max_size=3)


def points(tally: Tally) -> list[float]:
    """Points per game of each pair, one by one."""
    return [i / 4 for i, n in enumerate(tally.counts) for _ in range(n)]


@given(PENTANOMIAL)
def test_elo_and_its_interval_are_those_of_the_mean(counts: list[int]) -> None:
    tally = Tally(counts)
    if tally.pairs < 30 or sum(n > 0 for n in counts) < 2:
        return
    elo, error = tally.elo()
    scores = points(tally)
    mean = sum(scores) / len(scores)
    assert expected_score(elo) == pytest.approx(mean)
    # The delta method against the interval of the mean itself, turned into Elo.
    spread = stats.sem(scores, ddof=0)
    step = 1e-4
    slope = (expected_score(elo + step) - expected_score(elo - step)) / (2 * step)
    assert error == pytest.approx(1.96 * spread / slope, rel=1e-4)


def test_the_other_side_has_the_negative_elo() -> None:
    assert Tally([10, 20, 30, 40, 50]).elo()[0] == pytest.approx(
        -Tally([50, 40, 30, 20, 10]).elo()[0]
    )
    assert math.isnan(Tally.empty().elo()[0])


@pytest.mark.parametrize(
    ("counts", "elo0", "elo1", "model", "llr"),
    [
        ([365, 16618, 36229, 16974, 390], 0, 2, Model.NORMALIZED, 2.25),
        ([223, 9863, 21279, 10037, 246], 0.5, 2.5, Model.LOGISTIC, -3.07),
        # From the tests of fastchess: losses, draws, wins.
        ([36027, 68692, 36433], 0, 2, Model.NORMALIZED, 0.92),
        ([10650, 20431, 10871], -1.75, 0.25, Model.NORMALIZED, 2.30),
    ],
)
def test_published_cases(
    counts: list[int], elo0: float, elo1: float, model: Model, llr: float
) -> None:
    assert round(Tally(counts).llr(elo0, elo1, model), 2) == llr


def likeliest(counts: list[int], elo: float, model: Model) -> float:
    """The largest log-likelihood under a difference of ``elo``, by a general optimizer."""
    observed = np.maximum(counts, MISSING)
    scores = np.arange(len(counts)) / (len(counts) - 1)
    per_result = math.sqrt(2) if len(counts) == 5 else 1

    def condition(shares: np.ndarray) -> float:
        mean = shares @ scores
        if model is Model.LOGISTIC:
            return mean - expected_score(elo)
        deviation = math.sqrt(shares @ (scores - mean) ** 2)
        return (mean - 0.5) / deviation / per_result - elo / NORMALIZED

    found = optimize.minimize(
        lambda shares: -(observed @ np.log(shares)) / observed.sum(),
        observed / observed.sum(),
        bounds=[(1e-12, 1)] * len(counts),
        constraints=[
            {"type": "eq", "fun": lambda shares: shares.sum() - 1},
            {"type": "eq", "fun": condition},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    assert abs(condition(found.x)) < 1e-7
    return -found.fun * observed.sum()


@pytest.mark.parametrize("model", list(Model))
@given(counts=st.one_of(TRINOMIAL, PENTANOMIAL).map(lambda counts: [n + 5 for n in counts]))
def test_llr_is_the_ratio_of_the_greatest_likelihoods(model: Model, counts: list[int]) -> None:
    expected = likeliest(counts, 12, model) - likeliest(counts, -3, model)
    assert Tally(counts).llr(-3, 12, model) == pytest.approx(expected, abs=1e-3, rel=1e-3)


@given(st.one_of(TRINOMIAL, PENTANOMIAL), st.sampled_from(list(Model)))
def test_llr_turns_its_sign_with_the_players(counts: list[int], model: Model) -> None:
    if sum(counts) == 0:
        return
    assert Tally(counts).llr(-4, 9, model) == pytest.approx(
        -Tally(counts[::-1]).llr(-9, 4, model), abs=1e-6
    )


def decide(test: Sprt, shares: np.ndarray, rng: np.random.Generator) -> str:
    counts = np.zeros(5, int)
    while True:
        counts += rng.multinomial(8, shares)
        tally = Tally(counts.tolist())
        if tally.pairs >= 40 and (verdict := test.verdict(tally)):
            return verdict


@pytest.mark.slow
@pytest.mark.parametrize("elo", [0.0, 40.0])
def test_wrong_decisions_are_as_rare_as_they_shall_be(elo: float) -> None:
    test = Sprt(0, 40, alpha=0.05, beta=0.1)
    rng = np.random.default_rng(7)
    shares = np.array([0.06, 0.22, 0.44, 0.22, 0.06])
    scores = np.arange(5) / 4
    tilt = optimize.brentq(
        lambda x: (shares * np.exp(x * scores)) @ (scores - expected_score(elo)), -5, 5
    )
    shares = shares * np.exp(tilt * scores)
    wrong, n = "elo1" if elo == 0 else "elo0", 1000
    share = sum(decide(test, shares / shares.sum(), rng) == wrong for _ in range(n)) / n
    bound = test.alpha if elo == 0 else test.beta
    assert share <= bound + 2 * math.sqrt(bound * (1 - bound) / n)
    assert share >= bound / 4  # it isn't late, either


def test_a_hundred_tests_decide_wrongly_as_seldom() -> None:
    """The fast version of the above: of a difference of 0, and the one looked for."""
    test = Sprt(0, 60, alpha=0.05, beta=0.05)
    rng = np.random.default_rng(11)
    level = np.array([0.06, 0.22, 0.44, 0.22, 0.06])
    scores = np.arange(5) / 4
    tilt = optimize.brentq(
        lambda x: (level * np.exp(x * scores)) @ (scores - expected_score(60)), -5, 5
    )
    better = level * np.exp(tilt * scores)
    for shares, wrong in ((level, "elo1"), (better / better.sum(), "elo0")):
        assert sum(decide(test, shares, rng) == wrong for _ in range(100)) <= 11


@given(st.permutations(range(80)))
def test_a_live_test_decides_by_the_schedule_not_by_who_ends_first(order: list[int]) -> None:
    points = [4, 3, 2, 3, 4, 2, 3, 3] * 10
    forwards, shuffled = LiveTest(Sprt(0, 50)), LiveTest(Sprt(0, 50))
    for number in range(80):
        forwards.add(number, points[number])
    for number in order:
        shuffled.add(number, points[number])
    assert forwards.end == shuffled.end
    assert forwards.end is not None
    assert LEAST_PAIRS <= forwards.end < 80
    assert forwards.tally == shuffled.tally
    assert forwards.tally.pairs == forwards.end
    assert forwards.told()["verdict"] == "elo1"


@pytest.mark.parametrize("text", ["5", "0;5", "0,5,0.1", "a,b", ""])
def test_a_test_that_is_none_is_told(text: str) -> None:
    with pytest.raises(UserError, match="ELO0,ELO1"):
        read_test(text, Model.LOGISTIC)
    assert read_test("0,5,0.1,0.2", Model.NORMALIZED) == Sprt(0, 5, 0.1, 0.2, Model.NORMALIZED)


def test_hypotheses_and_errors_are_checked() -> None:
    with pytest.raises(UserError, match="must be less than"):
        Sprt(5, 5)
    with pytest.raises(UserError, match="alpha"):
        Sprt(alpha=0.7)
    for elo1, model in ((1000, Model.LOGISTIC), (240, Model.NORMALIZED)):
        with pytest.raises(UserError, match="too far from 0"):
            Sprt(0, elo1, model=model)


@given(st.lists(st.integers(0, 50), min_size=5, max_size=5).filter(any))
def test_the_farthest_hypotheses_have_a_ratio(counts: list[int]) -> None:
    for model, most in FARTHEST.items():
        assert math.isfinite(Tally(counts).llr(-most, most, model))


# --- the command


def sprt(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nnuelab.cli", "sprt", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_command_on_counts() -> None:
    done = sprt("--counts", "365,16618,36229,16974,390", "--elo1", 2, "--model", "normalized")
    assert done.returncode == 0, done.stderr
    header, row = done.stdout.splitlines()
    told = dict(zip(header.split(","), row.split(","), strict=True))
    assert told["llr"] == "2.25"
    assert (told["lower"], told["upper"]) == ("-2.94", "2.94")
    assert told["verdict"] == ""
    assert told["games"] == str(2 * 70576)


@pytest.mark.parametrize("alone", [0, 1])
def test_command_on_a_pgn_pairs_the_games(tmp_path: Path, alone: int) -> None:
    """A game without a partner, as a manager that was killed leaves it, changes nothing."""
    pgn = tmp_path / "games.pgn"
    text = ['[White "A"]\n[Black "B"]\n[Round "99.1"]\n[Result "0-1"]\n\n0-1\n\n'] * alone
    for i, (first, second) in enumerate([("1-0", "0-1"), ("1-0", "1/2-1/2"), ("1-0", "1-0")] * 9):
        for j, (white, black, result) in enumerate([("A", "B", first), ("B", "A", second)], 1):
            text.append(
                f'[White "{white}"]\n[Black "{black}"]\n[Round "{i + 1}.{j}"]\n'
                f'[Result "{result}"]\n\n{result}\n\n'
            )
    pgn.write_text("".join(text))
    done = sprt(pgn, "--player", "A")
    assert done.returncode == 0, done.stderr
    header, row = done.stdout.splitlines()
    told = dict(zip(header.split(","), row.split(","), strict=True))
    assert told["counts"] == "0 0 9 9 9"
    assert float(told["llr"]) == round(Tally([0, 0, 9, 9, 9]).llr(0, 5), 2)
    assert ("1 games without a partner are left out" in done.stderr) == bool(alone)
    other = sprt(pgn, "--player", "B").stdout.splitlines()[1]
    assert "9 9 9 0 0" in other
    refused = sprt(pgn, "--player", "C")
    assert refused.returncode == 1
    assert "no player" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["--counts", "1,2"], 1, "2 counts; there must be 3"),
        (["--counts", "1,x,2"], 1, "1,x,2"),
        (["--counts", "0,0,0"], 1, "numbers of results"),
        (["--counts", "1,2,3", "--elo0", "9"], 1, "must be less than"),
        ([], 2, "--counts"),
    ],
)
def test_command_refuses(arguments: list[str], status: int, said: str) -> None:
    done = sprt(*arguments)
    assert done.returncode == status
    assert said in done.stderr
