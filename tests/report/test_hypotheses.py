"""What a table and its page say of a hypothesis."""

from __future__ import annotations

from pathlib import Path

import pytest

from nnuelab import artifacts
from nnuelab.report import grids, hypotheses, sets, table, words
from nnuelab.report.results import Experiment, Results
from nnuelab.tournament.yardsticks import COST, NODES

ASKED = {"set": "ALL+MB", "is": "stronger", "within": None, "column": "elo_cost"}


def files(folder, began, now, asked=ASKED):
    """Games that began under one hash, and the hypothesis as it is now."""
    games = folder / "axis.pgn"
    games.write_text("games\n")
    artifacts.provenance(games, parameters={"fixed": {"sha256": began}} if began else {})
    return {"hypothesis": asked, "sha256": now}, {NODES: folder / "missing.pgn", COST: games}


@pytest.mark.parametrize(
    ("began", "before"), [("a", True), ("b", False), (None, False)], ids=["same", "other", "none"]
)
def test_it_was_fixed_before_if_the_games_began_with_its_hash(tmp_path, began, before):
    told = hypotheses.told(*files(tmp_path, began, "a"))
    assert told == {"hypothesis": {**ASKED, "sha256": "a", "fixed_before": before}}


def test_without_a_hypothesis_nothing_is_told(tmp_path):
    assert hypotheses.told(*files(tmp_path, "a", "a", None)) == {}


@pytest.mark.parametrize(
    ("expected", "within", "elo", "verdict"),
    [
        ("stronger", None, 30, "It holds"),
        ("stronger", None, 10, "These games leave it undecided"),
        ("stronger", None, -30, "It is refuted"),
        ("weaker", None, -30, "It holds"),
        ("weaker", None, 30, "It is refuted"),
        ("equivalent", 25, 3, "It holds"),
        ("equivalent", 15, 3, "These games leave it undecided"),
        ("equivalent", 15, 40, "It is refuted"),
        ("equivalent", 15, -40, "It is refuted"),
    ],
)
def test_the_words_follow_the_interval(expected, within, elo, verdict):
    asked = {**ASKED, "is": expected, "within": within, "fixed_before": True}
    rows = [
        {"feature_set": "ALL", "elo_cost": "0.0", "elo_cost_error": "0.0"},
        {"feature_set": "ALL+MB", "elo_cost": f"{elo:.1f}", "elo_cost_error": "20.0"},
    ]
    said = hypotheses.in_words(asked, rows, "ALL")
    assert f"{verdict}: {elo:+.1f} \u00b120.0" in said
    assert "fixed before the games:" in said
    assert "at equal cost" in said
    is_open = verdict == "These games leave it undecided"
    assert hypotheses.settled(asked, rows) == (None if is_open else ("elo_cost", "ALL+MB"))
    rows[1]["elo_cost_error"] = ""
    assert "Undecided" in hypotheses.in_words({**asked, "fixed_before": False}, rows, "ALL")
    assert "not fixed" in hypotheses.in_words({**asked, "fixed_before": False}, rows, "ALL")


def row(name, elo, error, p):
    found = {"feature_set": name, "elo": elo, "elo_error": error, "p_adjusted": p}
    return dict.fromkeys(table.COLUMNS, "") | found


def test_what_a_hypothesis_found_equivalent_is_called_so():
    """At its yardstick, of its set and within its bound alone; and never what is told apart."""
    near, wide = (row("H", "3.0", error, "0.5") for error in ("11.0", "13.0"))
    told = row("H", "3.0", "2.5", "0.01")
    asked = {"set": "H", "is": "equivalent", "within": 15.0, "column": "elo"}
    found = [words.verdict(each, "ALL", asked=asked) for each in (near, wide, told)]
    assert found == ["equivalent", "undecided", "stronger"]
    for other in ({"set": "V"}, {"column": "elo_cost"}, {"within": 14.0}, {"is": "weaker"}):
        assert words.verdict(near, "ALL", asked=asked | other) == "undecided"
    assert words.why(near, "ALL", asked=asked).startswith("its interval lies within \u00b115 Elo")
    rows = [row("ALL", "0.0", "0.0", ""), near, row("V", "5.0", "", "0.4")]
    assert words.answer(rows, "ALL", asked).endswith("(equivalent: H; undecided: V).")
    experiment = Experiment("axis", rows, "ALL", hypothesis=asked)
    grid = grids.results(Results(Path("results"), [experiment]), experiment)
    place = [name for name, _ in grid.columns].index("verdict")
    assert [cells[place] for cells in grid.rows] == ["anchor", "equivalent", "undecided"]
    assert "\u00b115 Elo" in grid.hints["verdict"][1]
    assert "\u00b115 Elo" in grid.bars["elo"][1].text
    views = sets.views(Results(Path("results"), [experiment]))
    (view,) = (each for each in views if each.title == "H")
    place = [name for name, _ in view.grids[0].columns].index("verdict")
    assert view.grids[0].rows[0][place] == "equivalent"
    assert "\u00b115 Elo" in view.grids[0].hints["verdict"][0]
