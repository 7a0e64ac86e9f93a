"""What a term is worth: the numbers against other formulas, and a real match at tiny scale."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.tournament.ablation import (
    HASH_MB,
    LEAST_PAIRS,
    SPRT_BOUND,
    RemoteEngine,
    Tally,
    ablate,
)

COUNTS = st.lists(st.integers(0, 400), min_size=5, max_size=5)


def points(tally: Tally) -> list[float]:
    """Points per game of each pair, one by one."""
    return [i / 4 for i, n in enumerate(tally.counts) for _ in range(n)]


def expected_score(elo: float) -> float:
    return 1 / (1 + 10 ** (-elo / 400))


@given(COUNTS)
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


@given(COUNTS)
def test_the_log_likelihood_ratio_is_that_of_two_normal_densities(counts: list[int]) -> None:
    tally = Tally(counts)
    if tally.pairs < LEAST_PAIRS or sum(n > 0 for n in counts) < 2:
        return
    scores = points(tally)
    mean, spread = sum(scores) / len(scores), stats.sem(scores, ddof=0)
    densities = [stats.norm(expected_score(elo), spread).logpdf(mean) for elo in (5.0, 0.0)]
    assert tally.llr() == pytest.approx(densities[0] - densities[1], abs=1e-6)


def test_the_other_side_has_the_negative_elo() -> None:
    assert Tally([10, 20, 30, 40, 50]).elo()[0] == pytest.approx(
        -Tally([50, 40, 30, 20, 10]).elo()[0]
    )


def test_nothing_is_decided_by_few_pairs_or_by_pairs_that_all_end_alike() -> None:
    assert not Tally([0, 0, 0, 0, LEAST_PAIRS - 1]).decided
    assert not Tally([0, 0, 5000, 0, 0]).decided
    assert math.isnan(Tally.empty().elo()[0])
    assert Tally([10, 20, 300, 400, 200]).llr() > SPRT_BOUND


def test_an_engine_against_itself_splits_every_pair(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n")
    assert ablate([], book, games=2, nodes=200, net=None, processes=1).counts == [0, 0, 1, 0, 0]


def test_the_other_engine_lacks_the_term() -> None:
    position = notation.from_fen(notation.STARTING_FEN)
    whole, remote = RemoteEngine(None, []), RemoteEngine(None, ["transposition", "aspiration"])
    here = Engine(hash_mb=HASH_MB).search(position, nodes=5000)
    assert whole.search(position, [], nodes=5000).pv == here.pv
    assert remote.search(position, [], nodes=5000).pv != here.pv
    remote._process.kill()
    with pytest.raises(UserError, match="without transposition,aspiration"):
        remote.new_game()
    assert whole._process.stdin is not None
    whole._process.stdin.close()
    assert whole._process.wait(30) == 0


def test_a_term_is_measured_by_games(tmp_path: Path) -> None:
    book = tmp_path / "book.epd"
    book.write_text(
        "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n"
        "rnbqkbnr/pppp1ppp/4p3/8/4P3/8/PPPP1PPP/RNBQKBNR w KQkq -\n"
    )
    command = [sys.executable, "-m", "nnuelab.cli", "ablate", "futility", "--book", str(book)]
    done = subprocess.run(
        [*command, "--games", "4", "--nodes", "50"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    header, row = done.stdout.splitlines()
    assert header == "term,elo,error,games,llr"
    assert row.startswith("futility,")
    assert row.split(",")[3] == "4"
    refused = subprocess.run([*command, "futlity"], capture_output=True, text=True)
    assert refused.returncode == 2
