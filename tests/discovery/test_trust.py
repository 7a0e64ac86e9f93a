"""The check of a screen: which sets it draws, and that a killed one goes on."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest
from scipy.stats import spearmanr
from typer.testing import CliRunner

from nnuelab import features
from nnuelab.cli.__main__ import application
from nnuelab.data import joining
from nnuelab.discovery import screen, trust
from nnuelab.errors import UserError
from nnuelab.settings.search import Searching
from tests.discovery.test_search import datasets, small_batches  # noqa: F401

SETTINGS = Searching(terms=["ALL", "H", "V", "D1"], positions=400, epochs=1, l1=32)
OPTIONS = ["--terms=ALL", "--terms=H", "--terms=V", "--terms=D1", "--positions=400", "--epochs=1",
           "--l1=32", "--workers=1", "--count=4", "--full-epochs=2"]  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_sets_are_different_sums_with_the_anchor(seed: int) -> None:
    settings = replace(Searching(), seed=seed, max_features=4600)
    found = trust.drawn(settings, 20)
    assert len({features.parse(name).name for name in found}) == 20
    for name in found:
        terms = features.parse(name).terms
        assert name.startswith("ALL+")
        assert 2 <= len(terms) <= settings.max_terms
        assert features.parse(name).size <= 4600


def test_an_anchor_of_other_blocks_stays_whole() -> None:
    settings = replace(Searching(terms=["V", "H", "PP"]), anchor="ALL+H", max_terms=3)
    assert set(trust.drawn(settings, 2)) == {"ALL+H+V", "ALL+H+PP"}


@pytest.mark.parametrize("settings", [Searching(terms=["ALL", "H"]), Searching(max_terms=1)])
def test_too_few_sums_are_said(settings: Searching) -> None:
    with pytest.raises(UserError, match="give more terms"):
        trust.drawn(settings, 2)


def test_a_check_goes_on_and_says_what_ranks_say(datasets, tmp_path: Path) -> None:  # noqa: F811
    train, validation = datasets
    path = tmp_path / "check.csv"

    def run() -> str:
        found = CliRunner().invoke(
            application(),
            [
                "search-check",
                f"--train={train}",
                f"--validation={validation}",
                f"--csv={path}",
                *OPTIONS,
            ],
        )
        assert found.exit_code == 0, found.output
        return found.stdout

    said, whole = run(), path.read_bytes()
    rows = list(csv.DictReader(whole.decode().splitlines()))
    assert [row["feature_set"] for row in rows] == trust.drawn(replace(SETTINGS), 4)
    columns = [[float(row[name]) for row in rows] for name in ("screen", "full")]
    assert said == f"rank correlation of 4 sets: {spearmanr(*columns).statistic:.3f}\n"
    assert all(a != b for a, b in zip(*columns, strict=True))
    journal = tmp_path / "check.csv.journal"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:4]) + lines[4][:5])
    path.unlink()
    assert (run(), path.read_bytes()) == (said, whole)


def test_files_with_weights_are_refused(datasets, tmp_path: Path) -> None:  # noqa: F811
    train, validation = datasets
    index = tmp_path / "i.shards"
    joining.join(index, {train: 2.0})
    with pytest.raises(UserError, match="files with weights"):
        screen.prepare(tmp_path, index, validation, SETTINGS)
