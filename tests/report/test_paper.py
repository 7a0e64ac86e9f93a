"""Tables and figures of a paper: their numbers are the results', and their bytes don't change."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess

import pytest
from typer.testing import CliRunner

from nnuelab.cli import page as _commands  # noqa: F401 (registers it)
from nnuelab.cli.app import app
from nnuelab.report import paper
from tests import report_results


def make(results, folder):
    command = ["paper", "axis", "--results", str(results), "--output", str(folder)]
    return CliRunner().invoke(app, command)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return report_results.make(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def made(results, tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    done = make(results, folder)
    assert done.exit_code == 0, done.output
    return folder


def rows(path):
    with open(path) as file:
        return list(csv.DictReader(file))


def test_the_table_has_the_numbers_of_the_results(results, made):
    ours, theirs = rows(made / "axis_table.csv"), rows(results / "axis_table.csv")
    assert [row["elo"] for row in ours] == [row["elo"] for row in theirs]
    printed = (made / "axis_table.tex").read_text().split("\\midrule\n")[1].splitlines()
    for row, line in zip(ours, printed, strict=False):
        cells = line.removesuffix(r" \\").replace("$-$", "-").replace("\\_", "_").split(" & ")
        assert cells == list(row.values())


def test_a_figure_draws_the_numbers_of_the_results(results, made):
    drawn = {(r["set"], r["limit"]): r["elo"] for r in rows(made / "axis_elo.csv")}
    for row in rows(results / "axis_table.csv"):
        assert float(drawn[row["feature_set"], "fixed nodes"]) == float(row["elo"])


def test_figures_are_vectors_with_one_embedded_font(made):
    found = list(made.glob("*.pdf"))
    assert {"axis_elo", "axis_loss", "axis_errors"} <= {path.stem for path in found}
    for path in found:
        content = path.read_bytes()
        assert content.startswith(b"%PDF")
        assert b"/FontFile" in content
        assert b"/Subtype /Image" not in content
        assert b"Date" not in content
        assert len(set(re.findall(rb"/BaseFont /(\S+)", content))) == 1


def test_the_document_includes_every_file(made):
    text = (made / "paper.tex").read_text()
    assert set(re.findall(r"\{(\w\S*\.pdf)\}", text)) == {p.name for p in made.glob("*.pdf")}
    for name in re.findall(r"\\input\{(\S+?)\}", text):
        assert (made / f"{name}.tex").is_file()
    opened, closed = (re.findall(rf"\\{word}\{{(\S+?)\}}", text) for word in ("begin", "end"))
    assert sorted(opened) == sorted(closed)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex isn't installed")
def test_the_document_compiles_without_a_warning(made, tmp_path):
    for _ in range(2):  # once more for references
        command = ["pdflatex", "-halt-on-error", "-output-directory", tmp_path, "paper.tex"]
        done = subprocess.run(command, cwd=made, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stdout[-2000:]
    said = (tmp_path / "paper.log").read_text(errors="replace")
    assert re.findall(r".*(?:[Ww]arning|Overfull|Underfull).*", said) == []
    assert "Output written" in said


def test_the_same_results_give_the_same_bytes(results, made, tmp_path):
    make(results, tmp_path)
    for path in made.iterdir():
        if path.suffix != ".json":
            assert (tmp_path / path.name).read_bytes() == path.read_bytes()


def test_text_is_escaped():
    assert paper.escaped("A_1 & 5% \\x") == r"A\_1 \& 5\% \textbackslash{}x"


@pytest.mark.parametrize(
    ("damage", "said"),
    [("{", "verify.json is damaged"), ("an edge", "a figure of axis can't be shown")],
)
def test_a_damaged_net_is_told(results, tmp_path, damage, said):
    shutil.copytree(results, tmp_path / "results")
    path = tmp_path / "results/nets/ALL/1/verify.json"
    if damage != "{":
        damage = re.sub(r'("edges_cp": \[)\s*[^,]+,', r"\1null,", path.read_text())
    path.write_text(damage)
    done = make(tmp_path / "results", tmp_path / "paper")
    assert done.exit_code == 1
    assert said in done.output


def test_nothing_is_made_where_no_experiment_is(tmp_path):
    done = CliRunner().invoke(app, ["paper", "--results", str(tmp_path)])
    assert done.exit_code == 1
    assert "snakemake" in done.output
