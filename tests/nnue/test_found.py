"""Settings that are found before training: their files, and the choice of a learning rate."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner, Result

from nnuelab.cli import learning_rate as _learning_rate  # noqa: F401 (registers it)
from nnuelab.cli import nnue as _nnue  # noqa: F401
from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.nnue import rates
from nnuelab.nnue.rates import Trial
from nnuelab.settings import found
from nnuelab.settings.train import Training
from tests.nnue_data import write_datasets


def call(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Checkpoints by what is changed of a training, and its history."""
    folder = tmp_path_factory.mktemp("trained")
    train, validation = write_datasets(folder)
    changes: dict[str, tuple[object, ...]] = {
        "slow": ("--learning-rate", 1e-9),
        "right": ("--learning-rate", 2e-3),
        "fast": ("--learning-rate", 1e9),
        "other": ("--learning-rate", 1e-3, "--l2", 8),
    }
    for name, changed in changes.items():
        done = call("train", "--features", "ALL", "--train", train, "--validation", validation,
                    "--checkpoint", folder / f"{name}.pt", "--history", folder / f"{name}.csv",
                    "--l1", 16, "--l2", 4, "--epochs", 2, *changed)  # fmt: skip
        assert done.exit_code == 0, done.output
    return {name: folder / f"{name}.pt" for name in changes}


def choose(folder: Path, *checkpoints: Path) -> Result:
    return call("learning-rate", *checkpoints, "--output", folder / "rate.json",
                "--losses", folder / "rates.csv")  # fmt: skip


def test_the_rate_with_the_lowest_loss_is_chosen(trained: dict[str, Path], tmp_path: Path) -> None:
    done = choose(tmp_path, trained["fast"], trained["right"], trained["slow"])
    assert done.exit_code == 0, done.output
    assert found.read(tmp_path / "rate.json") == ("learning_rate", 0.002)
    table = list(csv.DictReader((tmp_path / "rates.csv").open()))
    assert [float(row["learning_rate"]) for row in table] == [1e-9, 2e-3, 1e9]
    for row, name in zip(table, ("slow", "right", "fast"), strict=True):
        *_, last = csv.DictReader(trained[name].with_suffix(".csv").open())
        assert float(row["validation_loss"]) == pytest.approx(float(last["validation_loss"]))
    assert "tried" not in done.stderr


def test_a_rate_at_an_end_is_told(trained: dict[str, Path], tmp_path: Path) -> None:
    assert "is the highest one tried" in choose(tmp_path, trained["slow"], trained["right"]).stderr
    assert "is the lowest one tried" in choose(tmp_path, trained["right"], trained["fast"]).stderr


def test_trainings_that_tell_no_rate_are_refused(trained: dict[str, Path]) -> None:
    for names, said in (
        (("slow", "other"), "differ by more than their learning rate"),
        (("slow",), "give two or more trainings"),
        (("slow", "slow"), "each with another learning rate"),
    ):
        with pytest.raises(UserError, match=said):
            rates.read([trained[name] for name in names])


@given(st.lists(st.tuples(st.floats(1e-6, 1), st.sampled_from([0.1, 0.2, 0.3])), min_size=1))
def test_of_equal_losses_the_lowest_rate_is_chosen(drawn: list[tuple[float, float]]) -> None:
    trials = [Trial(*each) for each in sorted(drawn)]
    least = min(loss for _, loss in drawn)
    expected = min(rate for rate, loss in drawn if loss == least)
    assert rates.best(trials) == Trial(expected, least)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can't read the setting in FILE: No such file"),
        ("", "FILE holds no setting"),
        ("[128]", "FILE holds no setting"),
        ("{}", "FILE holds no setting"),
        ('{"l1": 0}', r'it must be such as \{"l1": 256\} or \{"learning_rate": 0.002\}'),
        ('{"l1": 1e3}', "FILE holds no setting"),
        ('{"l1": true}', "FILE holds no setting"),
        ('{"l2": 8}', "FILE holds no setting"),
        ('{"learning_rate": 0}', "FILE holds no setting"),
        ('{"learning_rate": Infinity}', "FILE holds no setting"),
        ('{"l1": 128, "learning_rate": 0.1}', "FILE holds no setting"),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path: Path, text: str | None, said: str) -> None:
    path = tmp_path / "found.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(UserError, match=said.replace("FILE", re.escape(str(path)))) as error:
        found.read(path)
    assert "\n" not in str(error.value)


def test_a_setting_that_goes_with_no_other_is_told(tmp_path: Path) -> None:
    path = tmp_path / "size.json"
    found.write(path, "l1", 33)
    with pytest.raises(UserError, match=r"size\.json: pairwise needs an even number"):
        found.applied(Training(pairwise=True), [path])


def test_training_takes_what_was_found(tmp_path: Path) -> None:
    found.write(tmp_path / "size.json", "l1", 24)
    found.write(tmp_path / "rate.json", "learning_rate", 1e-4)
    train, validation = write_datasets(tmp_path)
    done = call("train", "--features", "ALL", "--train", train, "--validation", validation,
                "--checkpoint", tmp_path / "c.pt", "--history", tmp_path / "h.csv", "--l2", 4,
                "--epochs", 1, "--l1", 512, "--found", tmp_path / "size.json",
                "--found", tmp_path / "rate.json")  # fmt: skip
    assert done.exit_code == 0, done.output
    told = json.loads((tmp_path / "c.pt.json").read_text())["parameters"]
    assert (told["l1"], told["learning_rate"]) == (24, 1e-4)
