"""A page of results that are missing, damaged or changed: it says so in their place."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from nnuelab.cli import page as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.report import page, results
from nnuelab.report.answered import PUBLISHED
from tests import report_results


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = report_results.make(tmp_path_factory.mktemp("project"))
    report_results.make_sequential(found)
    return found


def edit(path: Path, **values: object) -> None:
    """Changes values of a JSON object."""
    path.write_text(json.dumps(json.loads(path.read_text()) | values))


def cell(path: Path, column: str, text: str) -> None:
    """Changes a cell in the first row of a table."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows.loc[0, column] = text
    rows.to_csv(path, index=False)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda f: (f / "axis_table.csv").unlink(), "axis_table.csv isn&#39;t there"),
        (
            lambda f: (f / "axis_table.csv").write_text("feature_set,elo\n"),
            "cut off or has no rows",
        ),
        (lambda f: (f / "tournament/axis.pgn").write_text(""), "axis.pgn is empty"),
        (lambda f: (f / "tournament/axis.pgn").unlink(), "axis.pgn isn&#39;t there"),
        (lambda f: (f / "tournament/axis.pgn").write_text('[White "a"]\n'), "no Black tag"),
        (lambda f: (f / "nets/ALL/1/net.nnue").write_bytes(b"NNUELAB\0"), "not a usable net"),
        (lambda f: (f / "nets/ALL/1/net.nnue").unlink(), "net.nnue; train them"),
        (lambda f: (f / "nets/ALL/1/history.csv").unlink(), "history.csv"),
        (lambda f: (f / "nets/ALL/1/verify.json").write_text("{"), "verify.json is damaged"),
        (lambda f: (f / "data/validation.npy").unlink(), "there is no dataset"),
        (
            lambda f: np.load(f / "data/validation.npy", "r+")["occupied"].fill(2**64 - 1),
            "its pieces are impossible",
        ),
        (lambda f: shutil.rmtree(f / "statistics"), "were not counted yet"),
        (lambda f: cell(f / "sprt/axis.csv", "verdict", "won"), "axis.csv is damaged (no verdict"),
        (
            lambda f: (f / "sprt/axis.csv").unlink(),
            "sequential tests at fixed nodes have no table yet; finish them: snakemake "
            "results/sprt/axis.csv",
        ),
        (lambda f: (f / "nets/ALL/1/net.nnue.json").write_text("["), "net.nnue.json is damaged"),
        (lambda f: (f / "nets/ALL/1/history.csv.json").write_text("["), "csv.json is damaged"),
        (lambda f: shutil.rmtree(f / "nets"), "There is no net here yet"),
        (lambda f: (f / "nets/ALL/1/puzzles.csv").unlink(), "ALL/1/puzzles.csv"),
        (lambda f: (f / "nets/ALL/1/puzzles.csv").write_text("kind\nall\n"), "puzzles.csv of ALL"),
        (
            lambda f: [path.unlink() for path in f.glob("nets/*/*/puzzles.csv")],
            "solved no puzzles yet",
        ),
        (lambda f: (f / "data/sample_report.json").unlink(), "sample_report.json"),
        (
            lambda f: (f / "data/sample_report.json").write_text('{"mobility": {}}'),
            "has no legal_moves",
        ),
        (lambda f: (f / "tournament/time/axis_ratings.csv").unlink(), "time/axis_ratings.csv"),
        # What can be read and holds something else than it should.
        (lambda f: edit(f / "axis_table.csv.json", inputs=None), "axis_table.csv.json is damaged"),
        (lambda f: edit(f / "axis_table.csv.json", inputs={"a": {}}), "(inputs.a.path: "),
        (lambda f: edit(f / "axis_table.csv.json", parameters=None), "(parameters: "),
        (lambda f: edit(f / "axis_table.csv.json", sha256=5), "(sha256: "),
        (lambda f: edit(f / "axis_table.csv.json", command=["a"]), "(command: "),
        (lambda f: edit(f / "axis_table.csv.json", parameters={"anchor": ["x"]}), "axis-elo"),
        (lambda f: cell(f / "axis_table.csv", "elo", "abc"), "elo in line 2 is &#39;abc&#39;"),
        (lambda f: cell(f / "axis_table.csv", "elo", "nan"), "elo in line 2 is &#39;nan&#39;"),
        (lambda f: cell(f / "axis_table.csv", "elo", "5.0"), "no row is the anchor&#39;s"),
        (lambda f: cell(f / "axis_table.csv", "elo_error", "-5"), "elo_error in line 2 is -5"),
        (lambda f: cell(f / "axis_table.csv", "feature_set", "H+PH+MC"), "has a row already"),
        (lambda f: (f / "tournament/axis_ratings.csv").write_text("a\n1\n"), "no column name"),
        (
            lambda f: cell(f / "nets/ALL/1/history.csv", "validation_loss", "nan"),
            "is &#39;nan&#39;",
        ),
        (lambda f: (f / "nets/ALL/1/history.csv").write_text("loss\n1\n"), "no column epoch"),
        (lambda f: edit(f / "nets/ALL/1/verify.json", rms_cp=float("nan")), "NaN is not a number"),
        (lambda f: edit(f / "nets/ALL/1/verify.json", worst=[{"fen": "8/8"}]), "nets-neurons"),
        (lambda f: edit(f / "nets/ALL/1/verify.json", worst=[{}]), "nets-neurons"),
        (lambda f: edit(f / "nets/ALL/1/verify.json", histogram=7), "the plots can&#39;t be shown"),
        (lambda f: (f / "statistics/ALL.csv").write_text("a\n1\n"), "no column feature_set"),
        (lambda f: cell(f / "statistics/ALL.csv", "active", "x"), "active in line 2"),
        (
            lambda f: edit(f / "data/sample_report.json", mobility=[]),
            "the sample can&#39;t be shown",
        ),
        (
            lambda f: edit(f / "statistics/pqr/axis.json", nets=[{}]),
            "the triplets can&#39;t be shown",
        ),
    ],
)
def test_a_damaged_input_costs_its_own_place_only(folder, tmp_path, damage, words):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("report.html*"))
    damage(copy)
    page = tmp_path / "report.html"
    command = ["report", "axis", "--results", str(copy), "--output", str(page)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert words in page.read_text()
    specs = re.search(r'id="specs">(.*?)</script>', page.read_text(), re.DOTALL)[1]
    json.loads(specs, parse_constant=pytest.fail)  # a browser knows no NaN


def test_a_failed_job_is_quoted(folder, tmp_path):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    (copy / "axis_table.csv").unlink()
    log = tmp_path / "logs" / "tournament" / "axis.log"
    log.parent.mkdir(parents=True)
    log.write_text("playing\nnnuelab: error: the book is too small\n\n")
    found = results.gather(copy, ["axis"])
    assert "logs/tournament/axis.log ends with: nnuelab: error: the book is too small" in (
        found.experiments[0].problems
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("axis: Played once more since.", ""),
        ("nothing: Played.", "there is no table of nothing"),
        ("axis: [1]", "must have a text for each name"),
        ("axis: {", "remarks.yaml is no YAML: line 1: expected the node content"),
    ],
)
def test_remarks_stand_behind_the_answer(text, problem, tmp_path):
    shutil.copyfile(PUBLISHED / "axis_table.csv", tmp_path / "axis_table.csv")
    (tmp_path / "remarks.yaml").write_text(text)
    found = results.gather(tmp_path, [])
    html = page.build(found).html
    assert ("Played once more since." in html) == (not problem)
    assert (problem in html) if problem else not found.problems


def test_a_net_beyond_its_bound_is_quoted(folder, tmp_path):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("report.html*"))
    (copy / "nets/ALL/2/verify.json").unlink()
    log = tmp_path / "logs" / "verify" / "ALL" / "2.log"
    log.parent.mkdir(parents=True)
    log.write_text("nnuelab: error: beyond the bounds\n")
    page = tmp_path / "report.html"
    command = ["report", "axis", "--results", str(copy), "--output", str(page)]
    CliRunner().invoke(app, command, catch_exceptions=False)
    assert "logs/verify/ALL/2.log ends with: nnuelab: error: beyond the bounds" in page.read_text()
    assert "axis-errors" in page.read_text()  # of the other nets


def test_an_input_that_changed_is_told(folder, tmp_path):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    assert results.outdated(results.gather(copy, [])) == []
    record = copy / "tournament" / "axis.pgn.json"
    record.write_text(record.read_text().replace('"sha256": "', '"sha256": "0', 1))
    told = list(map(str, results.outdated(results.gather(copy, []))))
    assert told == ["results/tournament/axis.pgn was changed after it was made"] + [
        f"results/{made} was made from others than are there now: results/tournament/axis.pgn"
        for made in ("axis_table.csv", "tournament/axis_ratings.csv")
    ]


def test_published_tables_are_no_results_of_the_folder(folder, tmp_path):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    published = copy / "published"
    published.mkdir()
    shutil.copy(copy / "axis_table.csv", published / "other_table.csv")
    record = json.loads((copy / "axis_table.csv.json").read_text())
    for source in record["inputs"].values():
        source["sha256"] = "0" * 64
    (published / "other_table.csv.json").write_text(json.dumps(record))
    found = results.gather(copy, [])
    assert [experiment.name for experiment in found.experiments] == ["axis"]
    assert results.outdated(found) == []
    assert found.records == results.gather(folder, []).records


def test_a_table_of_other_nets_than_those_that_wait_for_games_is_told(folder, tmp_path):
    """As where its nets were trained again, but haven't played."""
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    for pgn in copy.rglob("*.pgn"):
        pgn.unlink()
    net = "results/nets/ALL/2/net.nnue"
    record = json.loads((copy / "axis_table.csv.json").read_text())
    (changed,) = (source for source in record["inputs"].values() if source["path"] == net)
    changed["sha256"] = "0" * 64
    (copy / "axis_table.csv.json").write_text(json.dumps(record))
    told = [f"results/axis_table.csv was made from others than are there now: {net}"]
    assert list(map(str, results.outdated(results.gather(copy, [])))) == told


def test_a_file_that_was_changed_by_hand_is_told(folder, tmp_path):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy)
    cell(copy / "axis_table.csv", "puzzle_accuracy", "0.9")
    told = ["results/axis_table.csv was changed after it was made"]
    assert list(map(str, results.outdated(results.gather(copy, [])))) == told


def test_a_missing_folder_is_one_line():
    done = CliRunner().invoke(app, ["report", "--results", "nowhere"])
    assert done.exit_code == 1


def test_a_report_of_nothing_that_is_there_is_refused(folder, tmp_path):
    page = tmp_path / "report.html"
    command = ["report", "--results", str(folder), "--output", str(page)]
    done = CliRunner().invoke(app, [*command, "axsi"])
    assert done.exit_code == 1
    assert f"no table of axsi; did you mean axis?: {folder}/axsi_table.csv isn't" in done.stderr
    assert "snakemake" not in done.stderr, "no settings, so no target"
    assert not page.exists()
    published = tmp_path / "published"
    published.mkdir()
    (problem,) = results.gather(published, ["axis"]).experiments[0].problems
    assert problem == f"{published}/axis_table.csv isn't there"
    (problem, *_) = results.gather(folder, ["axsi"]).experiments[0].problems
    assert problem.endswith("isn't there; make it: snakemake results/axsi_table.csv")
    done = CliRunner().invoke(app, [*command, "axis", "axsi"])
    assert done.exit_code == 0
    assert "not made yet: axsi; did you mean axis?" in done.stderr


@pytest.mark.parametrize("is_told", [True, False])
def test_of_a_net_made_elsewhere_nothing_is_missed(folder, tmp_path, is_told):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("report.html*"))
    for seed in report_results.SEEDS:
        for name in ("history.csv", "history.csv.json", "verify.json", "verify.json.json"):
            (copy / "nets/ALL" / str(seed) / name).unlink(missing_ok=True)
    if is_told:
        record = copy / "axis_table.csv.json"
        said = json.loads(record.read_text())["parameters"]
        edit(record, parameters={**said, "imported": ["ALL"]})
    page = tmp_path / "report.html"
    command = ["report", "axis", "--results", str(copy), "--output", str(page)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    missing = [f"{copy}/nets/ALL/1/{name}" for name in ("history.csv", "verify.json")]
    text = page.read_text()
    assert ["read " + file in text for file in missing] == [not is_told] * 2


def test_many_problems_of_one_kind_are_folded(folder, tmp_path):
    copy = tmp_path / "results"
    shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("report.html*"))
    histories = sorted(copy.glob("nets/*/*/history.csv"))
    for path in histories:
        path.unlink()
    page = tmp_path / "report.html"
    command = ["report", "axis", "--results", str(copy), "--output", str(page)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    section = page.read_text().partition('id="/experiment/axis"')[2].partition("</section>")[0]
    shown, folded, rest = section.partition('<details class="missing"><summary>')
    assert folded
    assert shown.count('<p class="missing"') == 3
    assert int(rest.split()[0]) == rest.partition("</details>")[0].count("<li>")
    assert all(str(path) in section for path in histories)
