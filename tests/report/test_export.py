"""The figures and numbers of the page as files, for Snakemake's report and for DVC."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnuelab import artifacts
from nnuelab.cli import page as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.report import export, reading, table
from nnuelab.report.results import Experiment
from tests import report_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = report_results.make(tmp_path_factory.mktemp("project"))
    files = made / "report"
    command = ["report", "axis", "--results", str(made), "--output", str(made / "report.html")]
    command += ["--figures", str(files / "figures"), "--metrics", str(files / "metrics")]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return made


def test_metrics_are_the_numbers_of_the_table(folder):
    found = sorted((folder / "report" / "metrics").rglob("*"))
    assert [path.name for path in found] == ["axis", "ALL.json", "H+PH+MC.json"]
    for row in reading.read_table(folder / "axis_table.csv"):
        told = json.loads((found[0] / f"{row['feature_set']}.json").read_text())
        assert told == {name: float(row[name]) for name in export.METRICS if row[name]}
        assert {"val_loss_mean", "elo", "elo_error"} <= told.keys()
    assert len(export.METRICS) < 8  # each is a column of `dvc exp show`, for each row


def test_figures_are_pictures_with_the_numbers_of_the_page(folder):
    found = sorted((folder / "report" / "figures").iterdir())
    page = (folder / "report.html").read_text()
    drawn = re.findall('data-spec="([^"]+)"', page)
    # Curves of a set alone are in those of experiments.
    drawn = [name for name in drawn if not name.startswith("set-")]
    assert sorted(path.stem for path in found) == sorted(drawn)
    for path in found:
        text = path.read_text()
        assert text.startswith("<svg")
        assert text.count("<path") > 2, path
    with open(folder / "axis_table.csv", newline="") as file:
        names = [row["feature_set"] for row in csv.DictReader(file)]
    elo = (folder / "report" / "figures" / "axis-elo.svg").read_text()
    assert all(name in elo for name in names)


def test_the_record_of_the_page_has_their_hashes(folder):
    told = json.loads((folder / "report.html.json").read_text())["also"]
    files = [path for path in (folder / "report").rglob("*") if path.is_file()]
    assert told == {path.as_posix(): artifacts.sha256(path) for path in files}
    assert len(told) > len(report_results.SETS)


def test_variants_and_names_that_are_no_file_names_have_their_own(tmp_path):
    rows = [
        dict.fromkeys(table.WITH_VARIANT, "") | {"feature_set": name, "variant": v, "elo": elo}
        for name, v, elo in (("ALL", "l1-64", "1.5"), ("ALL", "", "2.5"), ("KING*ALL/a", "", "3"))
    ]
    export.metrics([Experiment("grid", rows), Experiment("none")], tmp_path)
    told = {
        path.relative_to(tmp_path).as_posix(): json.loads(path.read_text())
        for path in tmp_path.rglob("*.json")
    }
    assert told == {
        "grid/ALL,l1-64.json": {"elo": 1.5},
        "grid/ALL.json": {"elo": 2.5},
        "grid/KING%2AALL%2Fa.json": {"elo": 3.0},
    }


def test_a_folder_that_is_a_file_is_one_line(folder, tmp_path):
    (tmp_path / "taken").write_text("")
    command = ["report", "axis", "--results", str(folder), "--output", str(tmp_path / "page.html")]
    done = CliRunner().invoke(app, [*command, "--figures", str(Path(tmp_path, "taken"))])
    assert done.exit_code == 1
    assert "the folder" in str(done.exception) or "the folder" in done.output
