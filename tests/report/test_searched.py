"""The view of a search: what it says, draws and lists, and how it tells what is damaged."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nnuelab import artifacts
from nnuelab.report import searched
from tests import report_results

SCREEN = {"positions": 600_000, "epochs": 2, "l1": 256}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return report_results.make_searched(tmp_path)


def test_the_best_set_that_costs_little_more_is_named(folder: Path) -> None:
    found = searched.section(folder, "results/search")
    assert found is not None
    assert found.said == [
        "8 sets were proposed in 2 generations, 7 of them within the limits, and trained. "
        "Of those that cost at most 1.2 times as much as ALL, "
        "ALL+MC has the lowest loss: 10.0 % less, at a foretold cost of 1.15."
    ]
    (grid,) = found.grids
    assert [row[0] for row in grid.rows] == ["ALL", "ALL+H", "ALL+MC"]
    assert [row[3] for row in grid.rows] == ["0.0", "3.3", "10.0"]


def test_sets_that_have_a_view_are_links_to_it(folder: Path) -> None:
    found = searched.section(folder, "results/search", ["ALL+H"])
    assert found is not None
    assert found.grids[0].links == [(), ("set", "ALL+H"), ()]


def test_all_sets_but_those_not_trained_are_drawn(folder: Path) -> None:
    found = searched.section(folder, "results/search")
    assert found is not None
    dots, line = (
        next(layer["data"]["values"] for layer in found.figures[0].spec["layer"]
             if layer["mark"]["type"] == kind)
        for kind in ("point", "line")
    )  # fmt: skip
    # Blocks of several times the loss are only in the table of all sets.
    assert {dot["set"] for dot in dots} == {"ALL", "ALL+H", "ALL+MC", "ALL+PH"}
    assert {dot["made"] for dot in dots if dot["set"] == "ALL+H"} == {"add and ALL"}
    assert [point["set"] for point in line] == ["ALL", "ALL+H", "ALL+MC"]
    assert "3 of 7 sets have a larger loss than it shows." in found.figures[0].caption


def test_a_long_front_names_at_least_the_anchor_and_the_set_to_take() -> None:
    """As that of the published search, where there is no room for the names of all."""
    published = Path(__file__).parents[2] / "results" / "published" / "search"
    found = searched.section(published, "results/search")
    assert found is not None
    (low, high) = next(
        layer["encoding"]["y"]["scale"]["domain"]
        for layer in found.figures[0].spec["layer"]
        if layer["mark"]["type"] == "line"
    )
    losses = [float(row[2]) for row in found.grids[0].rows[1:]]  # one is worse than the anchor
    assert max(losses) - min(losses) > (high - low) / 2, "blocks flatten the front"
    named = {
        value["set"]
        for layer in found.figures[0].spec["layer"]
        if layer["mark"]["type"] == "text"
        for value in layer["data"]["values"]
    }
    front = [row[0] for row in found.grids[0].rows]
    assert {"ALL", front[-1]} < named <= set(front)
    assert any(name in found.said[0] for name in named)


def test_what_screens_do_not_tell_apart_is_no_winner_and_no_step(folder: Path) -> None:
    """ALL, ALL+H 3.3 % below it and ALL+MC 10 %: with 6 % only the last is a step."""
    lines = ["H,1,1.02", "V,2,1.96", "D1,3,3.078", "D2,4,3.896"]
    (folder / "check.csv").write_text("\n".join(["feature_set,screen,full", *lines, ""]))
    found = searched.section(folder, "results/search")
    assert found is not None
    assert "differ by less than 7 %" in found.said[1]
    assert "ALL are ALL+H and ALL+MC, by 3.3 to 10.0 %. These" in found.said[0]
    (line,) = (
        [point["set"] for point in layer["data"]["values"]]
        for layer in found.figures[0].spec["layer"]
        if layer["mark"]["type"] == "line"
    )
    assert line == ["ALL", "ALL+MC"]
    assert "in steps of at least 7 %" in found.figures[0].caption


def test_it_says_how_far_losses_of_its_own_screen_are_sure(folder: Path) -> None:
    """Ratios of the losses scatter by 2 %, so two sets by that times 1.96 and the root of 2."""
    rng = np.random.default_rng(1)
    screens = rng.uniform(1, 9, 4000)
    fulls = screens * np.exp(0.02 * rng.standard_normal(4000))
    lines = [f"H,{one:.8f},{other:.8f}" for one, other in zip(screens, fulls, strict=True)]
    (folder / "check.csv").write_text("\n".join(["feature_set,screen,full", *lines, ""]))
    artifacts.provenance(folder / "history.csv", module="discovery.history", parameters=SCREEN)
    artifacts.provenance(folder / "check.csv", module="discovery.trust", parameters=SCREEN)
    found = searched.section(folder, "results/search")
    assert found is not None
    assert "differ by less than 6 %, either may have" in found.said[1]
    assert "by 4000 sets" in found.said[1]
    artifacts.provenance(
        folder / "check.csv", module="discovery.trust", parameters={**SCREEN, "epochs": 3}
    )
    other = searched.section(folder, "results/search")
    assert other is not None
    assert len(other.said) == 1, "a check of another screen"


def test_nothing_searched_is_no_view_and_damage_is_told(folder: Path, tmp_path: Path) -> None:
    assert searched.section(tmp_path / "none", "results/search") is None
    (folder / "front.csv").write_text("number\n")
    found = searched.section(folder, "results/search")
    assert found is not None
    assert "front.csv is cut off" in found.problems[0]
    assert not found.figures
