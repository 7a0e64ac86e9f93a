"""The views of feature sets: rows of several experiments beside each other."""

from __future__ import annotations

import re

import pytest

from nnuelab.report import results, sets
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def published():
    """Tables of many experiments without their nets and games."""
    return results.gather(ROOT / "results" / "published", [])


def test_bars_of_all_rows_have_one_scale(published):
    (view,) = (v for v in sets.views(published) if v.title == "ALL+H+V")
    bars = view.grids[0].bars["elo"]
    assert len({row[0] for row in view.grids[0].rows}) > 1
    assert len({bar.zero for bar in bars}) == 1


def test_nets_of_several_experiments_go_by_names_that_tell_them_apart(published):
    for view in sets.views(published):
        for grid in view.grids:
            players = {player for row in grid.rows for player in row[-2:]}
            called = [grid.called[player] for player in players]
            assert len(set(called)) == len(called)
            for player, name in zip(players, called, strict=True):
                assert player.startswith(name.partition(",")[0])


def test_an_anchor_has_no_rows_of_its_own_and_says_where_it_is_one(published):
    for view in sets.views(published):
        of = [e for e in published.experiments if e.anchor.split(",")[0] == view.title]
        said = " ".join(view.said)
        assert said.startswith(f"{view.title} is the anchor, 0 Elo, of ") == bool(of)
        for experiment in of:
            rows = [row for row in experiment.rows if row["feature_set"] == view.title]
            is_one = re.search(rf"\b{experiment.name}(,|\.)", said)
            assert bool(is_one) == (len(rows) == 1), experiment.name
            assert is_one or f"{experiment.name} (as " in said
        for grid in view.grids:
            assert all(row[-1] != row[-2] for row in grid.rows)
            assert "anchor" not in {row[3] for row in grid.rows}


def test_names_that_tell_nothing_are_behind_the_switch(published):
    more = {v.title: v.grids[0].more for v in sets.views(published) if v.grids}
    assert {"anchor", "row"} <= more["ALL+PV"]
    assert not {"anchor", "row"} & more["ALL"]  # several sizes of one experiment


def test_nets_and_games_that_are_elsewhere_are_no_fault(published):
    assert all(e.is_elsewhere and not e.problems for e in published.experiments)
