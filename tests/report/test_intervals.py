"""95 % intervals of numbers of tables."""

from __future__ import annotations

import numpy as np
import pytest

from nnuelab.errors import UserError
from nnuelab.report import intervals, plots, results, table
from nnuelab.report.grid_plots import grid_plots

EMPTY = dict.fromkeys(table.COLUMNS, "")


def rows(means, sds, seeds):
    return [
        EMPTY | {"feature_set": name, "val_loss_mean": m, "val_loss_sd": sd, "seeds": str(seeds)}
        for name, m, sd in zip(("ALL", "H", "V"), means, sds, strict=True)
    ]


def test_intervals_of_losses_cover_the_truth_as_often_as_they_say():
    """Of three sets, whose losses scatter by 2 % of different means."""
    rng, truth, covered = np.random.default_rng(1), np.array([0.001, 0.004, 0.02]), []
    for _ in range(1500):
        losses = truth * (1 + 0.02 * rng.standard_normal((3, 3)))
        means = losses.mean(axis=0)
        found = rows(map(str, means), map(str, losses.std(axis=0, ddof=1)), 3)
        half = np.array(list(intervals.of_losses(found).values())) * means
        covered += list(abs(means - truth) <= half)
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


def test_one_training_of_each_tells_nothing_of_others():
    assert intervals.of_losses(rows("123", ("", "", ""), 1)) == {}
    assert intervals.of_losses(rows(("", "", ""), ("", "", ""), 3)) == {}
    one = [*rows("123", ("0.1", "", ""), 2)[:1], *rows("123", ("", "", ""), 1)[1:]]
    assert list(intervals.of_losses(one)) == ["ALL"]


def drawn(spec):
    return [layer["data"]["values"] for layer in spec["layer"] if "data" in layer] or [
        spec["data"]["values"]
    ]


def test_a_scatter_has_the_intervals_of_both_axes():
    found = rows("123", ("0.1", "0.1", "0.1"), 3)
    for row, elo in zip(found, ("0.0", "5.0", "9.0"), strict=True):
        row["elo"] = elo
    share = intervals.of_losses(found)
    spec = plots.loss_and_elo(found).spec
    values = {value["set"]: value for value in drawn(spec)[0]}
    for name, loss in (("ALL", 1), ("H", 2), ("V", 3)):
        assert values[name]["from"] == pytest.approx(loss * (1 - share[name]))
        assert values[name]["to"] == pytest.approx(loss * (1 + share[name]))


def test_cells_of_a_map_have_half_of_their_intervals():
    found = [
        EMPTY
        | {"feature_set": "ALL", "variant": f"l1-{l1},l2-{l2}", "seeds": "4", "elo": f"{l1}.0"}
        | {"elo_error": "7.5", "elo_error_games": "3.0", "nps_ratio": "1.5"}
        for l1 in (16, 32)
        for l2 in (8, 16)
    ]
    of = {figure.name: figure.spec for figure in grid_plots(found, {"ALL,l1-16,l2-8": 0.02})}
    assert {value["error"] for value in drawn(of["grid-0-elo"])[0]} == {7.5}
    errors = [value.get("error") for value in drawn(of["grid-0-nps_ratio"])[0]]
    assert errors == [pytest.approx(0.03), None, None, None]


def test_errors_of_prices_are_those_of_the_file(tmp_path):
    (tmp_path / "axis_table.csv").write_text("feature_set\nALL\n")
    found = results.gather(tmp_path, ["axis"])
    assert found.price_errors(found.experiments[0]) == {}
    path = tmp_path / "tournament" / "cost" / "axis.csv"
    path.parent.mkdir(parents=True)
    path.write_text('name,cost,error\nALL,1.0,0.0\n"H,l1-8",2.0,0.01\nV,3.0,\n')
    assert found.price_errors(found.experiments[0]) == {"ALL": 0.0, "H,l1-8": 0.01}
    path.write_text("name,cost,error\nALL,1.0,x\n")
    with pytest.raises(UserError, match="error in line 2"):
        found.price_errors(found.experiments[0])
