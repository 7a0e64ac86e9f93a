"""The table of a match as BayesElo prints it: its layout, and the numbers in it."""

from __future__ import annotations

import numpy as np
import pytest

from nnuelab.tournament import model
from nnuelab.tournament.bayeselo import ELO, Row, rows, to_text
from nnuelab.tournament.headers import Results
from tests.simulated import simulate

# Of the post on the Texel method, with BayesElo's own layout.
POST = """\
Rank Name                       Elo    +    - games score oppo. draws
   1 iCE 2.0 v1543 x64/popcnt    11    5    5 14117   53%   -11   31%
   2 ice-g741                   -11    5    5 14117   47%    11   31%
"""
ICE, TEXEL = "iCE 2.0 v1543 x64/popcnt", "ice-g741"


def match(wins: int, draws: int, losses: int) -> Results:
    """Of ICE against TEXEL, colours by turns, each game alone."""
    points = np.repeat([1.0, 0.5, 0.0], [wins, draws, losses])
    swapped = np.arange(len(points)) % 2 == 1
    white = np.where(swapped, 1, 0)
    return Results(
        [ICE, TEXEL],
        white,
        1 - white,
        np.where(swapped, 1 - points, points),
        np.arange(len(points)),
    )


def test_the_layout_is_that_of_the_post() -> None:
    table = [
        Row(ICE, 11.1, 4.8, 4.8, 14117, 0.532, -11.1, 0.31),
        Row(TEXEL, -11.1, 4.8, 4.8, 14117, 0.468, 11.1, 0.31),
    ]
    assert to_text(table) == POST


def test_the_games_of_the_post_give_its_numbers() -> None:
    """14117 games, 31 % draws, 53 %: errors of +-5."""
    draws = round(0.31 * 14117)
    wins = round(0.532 * 14117 - draws / 2)
    results = match(wins, draws, 14117 - draws - wins)
    assert to_text(rows(results, model.fit(results))) == POST


def test_short_names_and_zero_keep_the_columns() -> None:
    told = to_text([Row("a", 0.4, 1, 1, 2, 0.5, -0.4, 1), Row("b", -0.4, 1, 1, 2, 0.5, 0.4, 1)])
    assert told == (
        "Rank Name   Elo    +    - games score oppo. draws\n"
        "   1 a        0    1    1     2   50%     0  100%\n"
        "   2 b        0    1    1     2   50%     0  100%\n"
    )


def test_two_players_differ_by_the_logistic_elo_of_their_score() -> None:
    results = match(600, 200, 200)
    first, second = rows(results, model.fit(results))
    assert first.elo - second.elo == pytest.approx(400 * np.log10(0.7 / 0.3), abs=0.01)
    assert (first.score, first.draws, first.games) == (0.7, 0.2, 1000)


def test_opponents_are_weighted_by_how_often_they_were_met() -> None:
    rng = np.random.default_rng(5)
    results = simulate(rng, np.array([0.0, 60.0, 200.0]), 300)
    fitted = model.fit(results)
    half = np.flatnonzero((results.white != 0) | (results.black != 1))
    fewer = Results(
        results.players,
        results.white[half],
        results.black[half],
        results.points[half],
        results.cluster[half],
    )
    by_name = {row.name: row for row in rows(fewer, fitted)}
    elo = dict(zip(results.players, ELO * fitted.elo, strict=True))
    assert sum(row.elo for row in by_name.values()) == pytest.approx(0, abs=1e-9)
    expected = (300 * elo["p1"] + 600 * elo["p2"]) / 900
    assert by_name["p0"].opponents == pytest.approx(expected)
    contrast = np.array([[1.0, -1 / 3, -2 / 3]])
    error = ELO * model.error95(contrast, fitted.covariance)[0]
    assert by_name["p0"].plus == by_name["p0"].minus == pytest.approx(error)
