"""What the page says would decide an open question: as `nnuelab power` foretells it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from nnuelab.report import advice, table
from nnuelab.report.results import Experiment, Results
from nnuelab.tournament import power
from nnuelab.tournament.power import Design
from nnuelab.tournament.schedule import Settings, pairings
from nnuelab.tournament.spread import Pooling, Spread
from nnuelab.tournament.words import Format
from nnuelab.tournament.yardsticks import COST, NODES

OWN = Spread("axis", "nodes 400", "", 100.0, 60.0, 4)
FORMAT = {"format": "round-robin", "games_per_pairing": 100}


def row(name, elo, p):
    empty = dict.fromkeys(table.COLUMNS, "")
    return empty | {"feature_set": name, "seeds": "2", "elo": elo, "p_adjusted": p}


ROWS = [row("ALL", "0.0", ""), row("A", "-30.0", "0.2"), row("B", "0.4", "0.9"),
        row("C", "90.0", "0.001")]  # fmt: skip


@pytest.fixture
def found(tmp_path):
    games = tmp_path / "results" / "tournament"
    games.mkdir(parents=True)
    details = {"spread": [vars(OWN)], "draw_rate_of_equals": 0.3}
    (games / "axis_details.json").write_text(json.dumps(details))
    records = {"results/tournament/axis.pgn": {"parameters": FORMAT}}
    return Results(tmp_path / "results", [Experiment("axis", ROWS, "ALL")], records)


def test_seeds_are_the_first_whose_forecast_sees_the_difference(found):
    needed = advice.seeds(found, found.experiments[0], NODES)
    assert list(needed) == ["A", "B"]  # C is decided
    assert needed["B"] is None
    design = Design(["ALL", "A", "B", "C"], "ALL", needed["A"], 100.0)
    pooling = Pooling("axis", "nodes 400")
    variance = OWN.variance - OWN.games
    assert power.forecast(design, pooling, variance).detects <= 30
    before = Design(design.sets, "ALL", needed["A"] - 1, 100.0)
    assert needed["A"] > 2
    assert power.forecast(before, pooling, variance).detects > 30


def test_games_that_were_all_drawn_foretell_nothing(found):
    path = found.details(found.experiments[0], NODES)
    path.write_text(json.dumps({"spread": [vars(OWN)], "draw_rate_of_equals": 1.0}))
    assert advice.seeds(found, found.experiments[0], NODES) == {}


def test_advice_counts_the_seeds_to_add(found):
    (said,) = advice.in_words(found, found.experiments[0])
    more = advice.seeds(found, found.experiments[0], NODES)["A"] - 2
    assert said.startswith(
        f"At fixed nodes {more} more seeds would tell A from the anchor; B would"
    )


@pytest.mark.parametrize(("form", "games"), [("round-robin", 100), ("anchored", 46)])
def test_who_met_tells_the_format_where_the_record_of_the_games_is_gone(found, form, games):
    played = {"format": form, "games_per_pairing": games}
    found.records["results/tournament/axis.pgn"]["parameters"] = played
    needed = advice.seeds(found, found.experiments[0], NODES)
    found.records.clear()
    assert advice.seeds(found, found.experiments[0], NODES) == {}
    path = found.details(found.experiments[0], NODES)
    names = [f"{row['feature_set']}#{seed}" for row in ROWS for seed in (1, 2)]
    met = pairings(names, Settings(games, Format(form), anchor="ALL"))
    told = json.loads(path.read_text()) | {
        "players": [{"name": name} for name in names],
        "head_to_head": [
            {"player": a, "opponent": b, "games": 2 * openings} for (a, b), openings in met.items()
        ],
    }
    path.write_text(json.dumps(told))
    assert advice.seeds(found, found.experiments[0], NODES) == needed != {}
    told["head_to_head"][0]["games"] += 30  # of no format that is known
    path.write_text(json.dumps(told))
    assert advice.seeds(found, found.experiments[0], NODES) == {}


def test_one_more_seed_is_a_seed(found, monkeypatch):
    monkeypatch.setattr(power, "seeds_needed", lambda *given: dict.fromkeys(given[-1], 3))
    (said,) = advice.in_words(found, found.experiments[0])
    assert "1 more seed would tell A and B from" in said


@pytest.mark.parametrize(
    ("is_", "within", "error", "said"),
    [
        ("equivalent", 40.0, "5.0", advice.SETTLED),
        ("weaker", None, "5.0", advice.SETTLED),
        ("stronger", None, "5.0", advice.SETTLED),
        ("equivalent", 40.0, "50.0", None),
    ],
)
def test_advice_is_about_the_hypothesis_while_it_is_open(found, is_, within, error, said):
    asked = {"set": "A", "is": is_, "within": within, "column": "elo"}
    rows = [{**row, "elo_error": error} for row in ROWS]
    experiment = replace(found.experiments[0], rows=rows, hypothesis=asked)
    assert advice.in_words(found, experiment) == ([said] if said else [])


def test_advice_on_an_open_hypothesis_is_of_its_set_alone(found):
    asked = {"set": "A", "is": "stronger", "within": None, "column": "elo"}
    experiment = replace(found.experiments[0], hypothesis=asked)
    (said,) = advice.in_words(found, experiment)
    assert "A from the anchor" in said
    assert "B" not in said


def test_nothing_is_advised_where_nothing_can_be_foretold(found):
    experiment = found.experiments[0]
    assert advice.seeds(found, experiment, COST) == {}  # nobody played
    found.records["results/tournament/axis.pgn"]["parameters"] = {**FORMAT, "format": "gauntlet"}
    assert advice.seeds(found, experiment, NODES) == {}
    found.records["results/tournament/axis.pgn"]["parameters"] = FORMAT
    path = found.folder / "tournament" / "axis_details.json"
    groups = [vars(OWN), {**vars(OWN), "group": "few"}]
    path.write_text(json.dumps({"spread": groups, "draw_rate_of_equals": 0.3}))
    assert advice.seeds(found, experiment, NODES) == {}
    path.write_text("{")
    assert advice.in_words(found, experiment) == []
