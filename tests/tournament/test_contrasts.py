"""Differences between any sets, against rows of ratings and numbers of docs/answers.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from nnuelab.cli import tournament as _tournament  # noqa: F401 (registers the command)
from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.tournament import contrasts
from tests.conftest import ROOT

PUBLISHED = ROOT / "results" / "published" / "tournament"


def details_of(experiment: str) -> dict[str, dict[str, Any]]:
    paths = sorted(PUBLISHED.rglob(f"{experiment}_details.json"))
    return {str(path): json.loads(path.read_text()) for path in paths}


@pytest.mark.parametrize("experiment", ["axis", "baseline", "beyond", "clock", "hungry", "layers"])
def test_a_set_less_the_anchor_is_its_row(experiment: str) -> None:
    found = details_of(experiment)
    assert found
    for path, told in found.items():
        trainings = contrasts.trainings_of({path: told}, [])
        (anchor,) = (row["feature_set"] for row in told["feature_sets"] if row["p"] is None)
        for row in told["feature_sets"]:
            if row["feature_set"] == anchor:
                continue
            weights = contrasts.weights_of([row["feature_set"]], [anchor], mean=False)
            ours = contrasts.contrast(told, weights, trainings[path])
            for name in ("elo", "elo_error_games", "elo_error", "degrees_of_freedom", "p"):
                assert getattr(ours, name) == pytest.approx(row[name], rel=1e-6, abs=1e-12), name


def contrast(experiment: str, *options: str) -> list[dict[str, float]]:
    paths = [str(path) for path in PUBLISHED.rglob(f"{experiment}_details.json")]
    spread = str(ROOT / "resources" / "spread.csv")
    done = CliRunner().invoke(app, ["contrast", *sorted(paths), "--spread", spread, *options])
    assert done.exit_code == 0, done.output
    head, *lines = (line.split(",")[1:] for line in done.stdout.splitlines())
    return [dict(zip(head, map(float, line), strict=True)) for line in lines]


def rounded(row: dict[str, float]) -> str:
    return f"{row['elo']:+.0f} ± {row['elo_error']:.0f}"


RATE = ",learning_rate-0.001"
MIRRORED = [
    *("--plus", f"KB(1),l2-16{RATE}", "--minus", f"ALL,l2-16{RATE}"),
    *("--plus", f"KB(1),l2-32{RATE}", "--minus", f"ALL,l2-32{RATE}"),
]


@pytest.mark.parametrize(
    ("experiment", "options", "told"),
    [
        ("layers", ["--plus", "ALL,l2-16", "--minus", "ALL,l2-32"], ["+17 ± 12", "-2 ± 11"]),
        ("mirroring", [*MIRRORED, "--mean"], ["-2 ± 12", "+5 ± 9", "+35 ± 9", "+14 ± 12"]),
    ],
)
def test_numbers_of_the_answers_are_these(
    experiment: str, options: list[str], told: list[str]
) -> None:
    """At equal cost, there with more nodes, with more nodes, at few; by what is known today."""
    assert [rounded(row) for row in contrast(experiment, *options)] == told


def test_a_sum_of_differences_is_so_many_times_their_mean() -> None:
    sums, means = contrast("mirroring", *MIRRORED), contrast("mirroring", *MIRRORED, "--mean")
    for one, other in zip(sums, means, strict=True):
        assert one["elo"] == pytest.approx(2 * other["elo"], rel=1e-2)
        assert one["elo_error"] == pytest.approx(2 * other["elo_error"], rel=1e-2)
        assert one["p"] == pytest.approx(other["p"], rel=1e-2)


@pytest.mark.parametrize(
    ("plus", "minus", "message"),
    [
        (["A", "B"], ["C"], "2 sets less 1 are no differences"),
        (["A", "B"], ["B", "A"], "the same sets are added and subtracted"),
    ],
)
def test_sets_that_make_no_difference_are_refused(
    plus: list[str], minus: list[str], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        contrasts.weights_of(plus, minus, mean=False)


@pytest.mark.parametrize(
    ("file", "sets", "message"),
    [
        ("layers_details.json", ("ALL,l2-61", "ALL,l2-32"), "; did you mean ALL,l2-16?"),
        ("size_details.json", ("ALL,quarter", "ALL"), "sets don't all scatter alike"),
        ("../layers_table.csv", ("ALL,l2-16", "ALL,l2-32"), "layers_table.csv"),
    ],
)
def test_what_can_t_be_told_is_one_line(file: str, sets: tuple[str, str], message: str) -> None:
    options = ["--plus", sets[0], "--minus", sets[1]]
    done = CliRunner().invoke(app, ["contrast", str(PUBLISHED / file), *options])
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert message in line
    assert not done.stdout


def test_outside_a_project_the_games_alone_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = PUBLISHED / "layers_details.json"
    options = ["--plus", "ALL,l2-16", "--minus", "ALL,l2-32"]
    done = CliRunner().invoke(app, ["contrast", str(path), *options])
    assert done.exit_code == 0, done.output
    (line,) = done.stderr.splitlines()
    assert line.startswith("no params.yaml is here")
    assert "--spread" in line
    (row,) = (
        row
        for row in json.loads(path.read_text())["feature_sets"]
        if row["feature_set"] == "ALL,l2-16"
    )
    assert done.stdout.splitlines()[1].split(",")[1:4] == [
        f"{row[name]:.4g}" for name in ("elo", "elo_error_games", "elo_error")
    ]
