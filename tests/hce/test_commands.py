"""`nnuelab texel tune`, `simplify` and `outliers`, from files to files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from nnuelab.cli.__main__ import application
from nnuelab.hce import evaluation, history, outcome
from tests.hce import traces
from tests.naive import hce as naive
from tests.positions import random_fens

N = 200


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An evaluation, and traces of positions whose results follow from it."""
    folder = tmp_path_factory.mktemp("games")
    terms = traces.some_terms(folder)
    for seed, name in ((1, "train"), (2, "validation")):
        place = folder / name
        place.mkdir()
        fens = random_fens(seed, N)
        scores = np.array([naive.score(terms, fen) for fen in fens])
        results = np.random.default_rng(seed).random(N) < 1 / (1 + 10 ** (-scores / 400))
        traces.made(place, terms, fens, results.astype(float).tolist())
    return folder


def call(*words: object) -> Result:
    return CliRunner().invoke(application(), ["texel", *map(str, words)])


def tune(games: Path, folder: Path, *more: object) -> Result:
    held_out, output = games / "validation" / "positions.trace", folder / "tuned.yaml"
    return call(
        "tune", games / "train" / "positions.trace", "--evaluation", games / "some_terms.yaml",
        "--validation", held_out, "--output", output, "--history", folder / "history.csv",
        "--terms", folder / "terms.csv", *more,
    )  # fmt: skip


def test_tune_writes_its_files(games: Path, tmp_path: Path) -> None:
    done = tune(games, tmp_path, "--optimizer", "gauss-newton", "--l2", 1, "--freeze", "squares")
    assert done.exit_code == 0, done.output
    made = evaluation.read(tmp_path / "tuned.yaml")
    start = evaluation.read(games / "some_terms.yaml")
    assert made.fingerprint() == start.fingerprint()
    terms = pd.read_csv(tmp_path / "terms.csv")
    assert list(terms.columns) == list(outcome.TERM_COLUMNS)
    assert (terms["tuned"] == terms["start"])[terms["term"] == "squares"].all()
    assert (terms["tuned"] != terms["start"])[terms["term"] == "material"].any()
    rows = pd.read_csv(tmp_path / "history.csv")
    assert list(rows.columns) == list(history.COLUMNS)
    assert rows["validation"].notna().all()
    assert (tmp_path / "tuned.yaml.json").is_file()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--freeze", "materal"], "no term or weight 'materal'; did you mean material?"),
        (["--bits", 20], "the widths of the genome sum to"),
        (["--width", "material"], "write NAME=VALUE"),
    ],
)
def test_settings_that_fit_no_evaluation_are_one_line(
    games: Path, tmp_path: Path, more: list[object], message: str
) -> None:
    done = tune(games, tmp_path, *more)
    assert done.exit_code == 1
    assert message in done.output
    assert done.output.count("\n") == 1
    assert not (tmp_path / "tuned.yaml").exists()


def test_a_reference_with_other_terms(games: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("terms: {material: {features: OWN, by: [ROLES], mg: 1, eg: 1}}\n")
    done = tune(games, tmp_path, "--reference", other)
    assert done.exit_code == 1
    assert "has other terms than some terms" in done.output


def test_simplify_writes_a_row_for_each_term(games: Path, tmp_path: Path) -> None:
    done = call(
        "simplify", games / "train" / "positions.trace", "--validation",
        games / "validation" / "positions.trace", "--evaluation", games / "some_terms.yaml",
        "--output", tmp_path / "simplify.csv", "--weight", "material[queen]",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    rows = pd.read_csv(tmp_path / "simplify.csv")
    start = evaluation.read(games / "some_terms.yaml")
    assert set(rows["dropped"]) == {*start.starts, "material[queen]"}
    assert rows["validation"].is_monotonic_decreasing
    assert ((rows["low"] < rows["validation"]) & (rows["validation"] < rows["high"])).all()


def test_outliers_are_the_worst_positions(games: Path, tmp_path: Path) -> None:
    train = games / "train"
    words = train / "positions.trace", train / "positions.npy"
    chosen = "--evaluation", games / "some_terms.yaml", "--k", 1, "--count", 7
    done = call("outliers", *words, *chosen)
    assert done.exit_code == 0, done.output
    terms = evaluation.read(games / "some_terms.yaml")
    lines = [line.split(maxsplit=5) for line in done.output.splitlines()]
    shown = [abs(float(result) - float(expected)) for result, expected, *_ in lines]
    assert len(shown) == 7
    assert shown == sorted(shown, reverse=True)
    for result, expected, score, _, game, fen in lines:
        exact = naive.score(terms, fen)
        assert float(score) == pytest.approx(exact, abs=0.6)
        assert float(expected) == pytest.approx(1 / (1 + 10 ** (-exact / 400)), abs=6e-4)
        assert float(result) in (0, 1)
        assert random_fens(1, N)[int(game)].split()[0] == fen.split()[0]
    positions = np.load(train / "positions.npy")
    np.save(tmp_path / "fewer.npy", positions[:-1])
    other = call("outliers", train / "positions.trace", tmp_path / "fewer.npy", *chosen)
    assert other.exit_code == 1
    assert "has other positions" in other.output
