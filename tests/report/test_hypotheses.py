"""What a table and its page say of a hypothesis."""

from __future__ import annotations

import pytest

from nnuelab import artifacts
from nnuelab.report import hypotheses
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
