"""The view of the ladder: what it says, draws and lists, and how it tells what is damaged."""

from __future__ import annotations

import csv

import pytest

from nnuelab.report import ladder
from tests import report_results


@pytest.fixture
def path(tmp_path):
    return report_results.make_ladder(tmp_path)


def view(path):
    return ladder.section(path.parent, str)


def test_the_numbers_are_those_of_the_file(path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    found = view(path)
    (grid,), (drawn,) = found.grids, found.figures
    assert [dict(zip(rows[0], row, strict=True)) for row in grid.rows] == rows
    values = {value["player"]: value for value in drawn.spec["data"]["values"]}
    for row in rows:
        elo, error = float(row["elo"]), float(row["error"])
        assert values[row["name"]]["elo"] == elo
        assert values[row["name"]]["high"] - elo == pytest.approx(error)
        assert elo - values[row["name"]]["low"] == pytest.approx(error)


def test_it_says_who_is_first_and_where_the_anchor_stands(path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    place = 1 + [row["name"] for row in rows].index("nnuelab")
    games = sorted(int(row["games"]) for row in rows)
    (said,) = view(path).said
    assert said.startswith(f"Of 4 players {rows[0]['name']} is rated highest, nnuelab is number ")
    assert f"number {place}. Each played {games[0]} to {games[-1]} games;" in said
    path.write_text("name,elo,error,points,games,score\na,1,2,3,40,1\nb,0,2,3,40,1\n")
    path.with_name("ladder.csv.json").unlink()
    found = view(path)
    assert "a is rated highest. Each played 40 games;" in found.said[0]
    assert found.grids[0].caption == "Elo relative to the mean of all"


def test_no_ladder_is_no_view_and_damage_is_told(path, tmp_path):
    assert ladder.section(tmp_path / "none", str) is None
    path.write_text("name,elo\na,1\n")
    found = view(path)
    assert not found.grids
    assert "has no column error" in found.problems[0]
