"""Differences within variants and within sets, on the page of an experiment that has several."""

from __future__ import annotations

import csv
import io
import shutil

import pytest
from typer.testing import CliRunner

from nnuelab.cli import tournament as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.report import results, within
from nnuelab.report.table import entry
from tests.conftest import ROOT

PUBLISHED = ROOT / "results/published"


def found_in(folder, name):
    found = results.gather(folder, [name])
    return found, found.experiments[0]


@pytest.mark.parametrize(
    ("name", "across", "along"),
    [
        ("hungry", 5, 8),
        ("modern", 9, 8),
        ("filtered", 9, 8),
        ("rows", 2, 2),
        ("size", 0, 0),
        ("axis", 0, 0),
    ],
)
def test_sets_are_compared_within_a_variant_and_variants_within_a_set(name, across, along):
    _, experiment = found_in(PUBLISHED, name)
    found = within.pairs(experiment)
    assert (len(found[0]), len(found[1])) == (across, along)
    rows = {entry(row): row for row in experiment.rows}
    for pair in found[0]:
        one, other = rows[pair.plus], rows[pair.minus]
        assert one["variant"] == other["variant"]
        assert pair.differ == f"{one['feature_set']} less {other['feature_set']}"
        assert pair.share in one["variant"]
    for pair in found[1]:
        one, other = rows[pair.plus], rows[pair.minus]
        assert one["feature_set"] == other["feature_set"] == pair.share
        assert one["variant"] != other["variant"] == rows[experiment.anchor]["variant"]


def test_numbers_are_those_of_the_table_and_of_contrast():
    found, experiment = found_in(PUBLISHED, "hungry")
    across, along = within.pairs(experiment)
    rows = {entry(row): row for row in experiment.rows}
    known = within.differences(found, experiment, [*across, *along])
    assert [kind.column for kind in known] == ["elo"]
    details = [
        str(PUBLISHED / "tournament" / place)
        for place in ("hungry_details.json", "deep/hungry_details.json")
    ]
    for pair, told in next(iter(known.values())).items():
        assert told.elo == pytest.approx(
            float(rows[pair.plus]["elo"]) - float(rows[pair.minus]["elo"]), abs=0.11
        )
        if pair.minus == experiment.anchor:
            assert told.error == float(rows[pair.plus]["elo_error"])
            continue
        call = ["contrast", *details, "--plus", pair.plus, "--minus", pair.minus]
        said = CliRunner().invoke(app, call, catch_exceptions=False).stdout
        row, _ = csv.DictReader(io.StringIO(said))
        numbers = [float(row[name]) for name in ("elo", "elo_error_games", "elo_error")]
        assert numbers == pytest.approx(list(told), rel=1e-3)


def test_a_view_says_and_lists_them():
    found, experiment = found_in(PUBLISHED, "hungry")
    tables = []
    (said,) = within.add(found, experiment, tables)
    (grid,) = tables
    assert said.startswith(
        "ALL+MB less ALL at fixed nodes: +34.4\u00a0\u00b124.4 (games_share-0.0625), "
    )
    assert said.endswith("+0.3\u00a0\u00b119.3 (games_share-1.0); 95\u00a0% each.")
    assert [row[:3] for row in grid.rows[:1]] == [["ALL+MB less ALL", "games_share-0.0625", "34.4"]]
    first, last = (grid.bars["elo"][i] for i in (0, 4))
    assert (first.verdict, last.verdict) == ("stronger", "undecided")
    left, width = last.seeds
    assert left < last.at == pytest.approx(left + width / 2, abs=0.01)


def test_what_is_missing_or_damaged_is_told(tmp_path):
    folder = tmp_path / "published"
    shutil.copytree(
        PUBLISHED,
        folder,
        ignore=lambda _, names: {n for n in names if n[:4] not in ("tour", "deep", "rows")},
    )
    details = folder / "tournament" / "rows_details.json"
    details.write_text("{}")
    found, experiment = found_in(folder, "rows")
    with pytest.raises(UserError, match="it has no players"):
        within.differences(found, experiment, within.pairs(experiment)[0])
    shutil.rmtree(folder / "tournament")
    assert within.add(*found_in(folder, "rows"), tables := []) == tables == []
