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
    games = sorted(int(row["games"]) for row in rows)
    (said,) = view(path).said
    assert f". Each played {games[0]} to {games[-1]} games;" in said
    path.write_text("name,elo,error,points,games,score\na,9,2,3,40,1\nnnuelab,0,0,3,40,1\n")
    (said,) = view(path).said
    assert said.startswith("Of 2 players a is rated highest, nnuelab is number 2. Each played 40 ")
    path.write_text("name,elo,error,points,games,score\na,5,2,3,40,1\nb,0,2,3,40,1\n")
    path.with_name("ladder.csv.json").unlink()
    found = view(path)
    assert "a is rated highest. Each played 40 games;" in found.said[0]
    assert found.grids[0].caption == "Elo relative to the mean of all"


def test_all_whose_intervals_overlap_that_of_the_first_are_rated_highest(path):
    lines = ["a,9,3,3,40,1", "b,5,2,3,40,1", "nnuelab,0,0,3,40,1"]
    path.write_text("\n".join(["name,elo,error,points,games,score", *lines]) + "\n")
    (said,) = view(path).said
    assert "a and b are rated highest (their intervals overlap), nnuelab is number 3." in said


def test_no_ladder_is_no_view_and_damage_is_told(path, tmp_path):
    assert ladder.section(tmp_path / "none", str) is None
    path.write_text("name,elo\na,1\n")
    found = view(path)
    assert not found.grids
    assert "has no column error" in found.problems[0]
