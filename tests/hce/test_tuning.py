"""Whole runs: their files, what stops them, and how they go on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from nnuelab.errors import UserError
from nnuelab.hce import checkpoint, evaluation, history, outcome, simplify, tuning
from nnuelab.hce.error import Error
from nnuelab.intervals import clustered_mean
from nnuelab.settings.tuning import Tuning
from tests.conftest import ROOT
from tests.hce import simulated
from tests.naive import hce as naive

BEST = np.array([[80, 95], [-40, -25], [20, 30], [0, 0]])
HINT = np.array([[70, 70], [-70, -70], [-30, -20], [25, -30]])  # what runs begin with
ALL = ("pbil", "ga", "adam", "gauss-newton", "lbfgs", "local")


def files(folder: Path) -> tuning.Files:
    return tuning.Files(folder / "tuned.yaml", folder / "history.csv", folder / "terms.csv")


def tune(folder: Path, settings: Tuning, train=None, start=None, **more) -> tuning.Tuned:
    return tuning.tune(
        simulated.evaluation(HINT) if start is None else start,
        simulated.trace(BEST) if train is None else train,
        simulated.trace(BEST, 2000, seed=2),
        settings,
        1,
        files(folder),
        {},
        **more,
    )


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("name", ALL)
def test_a_run_writes_weights_history_and_terms(name: str, tmp_path: Path) -> None:
    tuned = tune(tmp_path, Tuning(optimizer=name, generations=40))
    rows = pd.read_csv(tmp_path / "history.csv")
    assert list(rows.columns) == list(history.COLUMNS)
    assert rows["generation"].tolist() == list(range(1, len(rows) + 1))
    assert (rows["best_so_far"].diff().dropna() <= 1e-12).all()
    assert (rows["best"] >= rows["best_so_far"] - 1e-6).all()
    assert rows["k"].nunique() == rows["reference"].nunique() == 1
    bits = name in ("pbil", "ga")
    assert rows[list(history.BIT_COLUMNS)].notna().all(axis=None) == bits
    assert tuned.error < tuned.reference
    assert tuned.validation < tuned.validation_reference
    assert tuned.passed is not None
    terms = pd.read_csv(tmp_path / "terms.csv")
    assert list(terms.columns) == list(outcome.TERM_COLUMNS)
    assert terms["start"].tolist() == HINT.ravel().tolist()
    assert terms["tuned"].tolist() == tuned.evaluation.weights.ravel().tolist()
    assert terms["standard_error"].notna().all() != bits
    assert (terms["zero"] == (terms["tuned"] == 0)).all()
    written = evaluation.read(tmp_path / "tuned.yaml")
    assert written.weights.tolist() == tuned.evaluation.weights.tolist()
    assert written.provenance["optimizer"] == name
    assert written.provenance["k"] == pytest.approx(tuned.k)
    exact = naive.squared_error(simulated.trace(BEST, 500), tuned.k, written.weights)
    assert Error(simulated.trace(BEST, 500), tuned.k).value(written.weights) == pytest.approx(exact)
    assert not checkpoint.beside(tmp_path / "tuned.yaml").exists()
    assert len(outcome.summary(tuned)) == 4 + bool(tuned.at_the_end)


@pytest.mark.parametrize("settings", [Tuning(generations=12), Tuning(generations=12, refit_k=True)])
def test_threads_and_a_second_run_give_the_same_bytes(settings: Tuning, tmp_path: Path) -> None:
    train = simulated.trace(BEST, 40_000)
    for number, threads in enumerate((1, 3, 1)):
        tune(tmp_path / str(number), settings, train, threads=threads)
    first, *others = (contents(tmp_path / str(number)) for number in range(3))
    assert all(other == first for other in others)


class Killed(BaseException):
    pass


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("refit", [False, True])
def test_a_stopped_run_goes_on_to_the_same_bytes(
    name: str, refit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Tuning(optimizer=name, generations=9, refit_k=refit)
    tune(tmp_path / "whole", settings)
    step, left = tuning.Run._generation, [1, 2, 9]

    def dies(run: tuning.Run) -> None:
        if not left[0]:
            left.pop(0)
            raise Killed
        left[0] -= 1
        step(run)

    monkeypatch.setattr(tuning.Run, "_generation", dies)
    for _ in range(2):
        with pytest.raises(Killed):
            tune(tmp_path / "parts", settings, save_seconds=0)
        shown = pd.read_csv(tmp_path / "parts" / "history.csv")
        assert shown["generation"].iloc[-1] in (1, 3)
        assert not (tmp_path / "parts" / "tuned.yaml").exists()
    tune(tmp_path / "parts", settings, save_seconds=0)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


SCRIPT = """
from pathlib import Path
from tests.hce import test_tuning
from nnuelab.intervals import clustered_mean
from nnuelab.settings.tuning import Tuning
test_tuning.tune(Path("run"), Tuning(generations=300), save_seconds=0)
"""


def test_a_killed_process_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    environment = {**os.environ, "PYTHONPATH": paths}
    runs = []
    for folder, kill in (("parts", True), ("parts", False), ("whole", False)):
        place = tmp_path / folder
        place.mkdir(exist_ok=True)
        command = [sys.executable, "-c", SCRIPT]
        with subprocess.Popen(command, env=environment, cwd=place) as process:
            while kill and not checkpoint.beside(place / "run" / "tuned.yaml").exists():
                time.sleep(0.01)
            if kill:
                process.send_signal(signal.SIGKILL)
                assert not (place / "run" / "tuned.yaml").exists()
        assert process.returncode == (-signal.SIGKILL if kill else 0)
        runs.append(contents(place / "run"))
    _, parts, whole = runs
    assert parts == whole


def test_a_run_of_other_settings_is_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning.Run, "finish", lambda run, inputs: run._save())
    tune(tmp_path, Tuning(generations=2))
    with pytest.raises(UserError, match=r"unfinished run with other settings \(learning_rate\)"):
        tune(tmp_path, Tuning(generations=2, learning_rate=0.3))
    path = checkpoint.beside(tmp_path / "tuned.yaml")
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(UserError, match="delete it and tune again"):
        tune(tmp_path, Tuning(generations=2))


def test_parts_of_a_checkpoint_that_are_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning.Run, "finish", lambda run, inputs: run._save())
    tune(tmp_path, Tuning(generations=2))
    path = checkpoint.beside(tmp_path / "tuned.yaml")
    with np.load(path) as file:
        arrays = dict(file)
    assert len(arrays) > 1
    for name in arrays.keys() - {"head_json", "bits"}:  # a run needn't have bits
        with path.open("wb") as file:
            np.savez(file, **{n: v for n, v in arrays.items() if n != name})
        with pytest.raises(UserError, match="delete it and tune again"):
            tune(tmp_path, Tuning(generations=2))


def test_a_packed_checkpoint_does_not_fill_the_memory(tmp_path: Path) -> None:
    path = tmp_path / "tuned.yaml.partial"
    checkpoint.write(path, {}, {"weights": np.arange(9.0)})
    assert checkpoint.read(path, {}) is not None
    with np.load(path) as file:
        arrays = dict(file)
    with path.open("wb") as file:
        np.savez_compressed(file, **{**arrays, "weights": np.zeros(1000)})
    with pytest.raises(UserError, match="delete it and tune again") as error:
        checkpoint.read(path, {})
    assert "packed" in str(error.value.__cause__)


def test_pbil_passes_the_reference_and_its_entropy_falls(tmp_path: Path) -> None:
    """The post: less than 100 generations to pass the reference error."""
    tuned = tune(tmp_path, Tuning(generations=100), start=simulated.evaluation(BEST * 9 // 10))
    assert tuned.passed is not None
    assert tuned.passed < 100
    rows = pd.read_csv(tmp_path / "history.csv")
    assert spearmanr(rows["generation"], rows["entropy_log10_sum"]).statistic < -0.9
    assert rows["bits_at_0"].iloc[-1] > 0.2


def test_a_frozen_or_refitted_k(tmp_path: Path) -> None:
    settings = Tuning(optimizer="gauss-newton", generations=3)
    tuned = tune(tmp_path / "frozen", replace(settings, k=0.7))
    assert tuned.k == 0.7
    tune(tmp_path / "refit", replace(settings, refit_k=True))
    assert pd.read_csv(tmp_path / "refit" / "history.csv")["k"].nunique() == 3


def test_weights_that_no_position_hits_stay(tmp_path: Path) -> None:
    trace = simulated.trace(BEST[:3])
    start = simulated.evaluation(np.vstack([HINT[:3], [[17, -5]]]))
    for name in ("pbil", "gauss-newton"):
        tuned = tuning.tune(
            start, replace(trace, n_weights=4), None,
            Tuning(optimizer=name, generations=5), 1, files(tmp_path / name), {},
        )  # fmt: skip
        assert tuned.evaluation.weights[3].tolist() == [17, -5]
        assert tuned.never_hit == ["term_3"]
        assert "term_3" in outcome.summary(tuned)[-1]
        terms = pd.read_csv(tmp_path / name / "terms.csv")
        assert terms["coverage"].iloc[-1] == 0
        assert terms["standard_error"].isna().iloc[-1]


def test_zero_weights_are_counted(tmp_path: Path) -> None:
    settings = Tuning(optimizer="gauss-newton", l2=1e6, towards="zero")
    tuned = tune(tmp_path, settings)
    assert tuned.evaluation.weights.tolist() == np.zeros((4, 2)).tolist()
    assert pd.read_csv(tmp_path / "history.csv")["zero_weights"].iloc[-1] == 8
    assert pd.read_csv(tmp_path / "terms.csv")["zero"].sum() == 8


def test_the_genome_has_the_width_that_is_asked_for(tmp_path: Path) -> None:
    assert tune(tmp_path / "a", Tuning(generations=1, bits=64)).bits == 64
    widths = {"term_0": 9, "term_1": 8, "term_2": 8, "term_3": 7}
    assert tune(tmp_path / "b", Tuning(generations=1, bits=64, width=widths)).bits == 64
    narrow = tune(tmp_path / "narrow", Tuning(generations=60, width={"term_0": 5}))
    assert narrow.evaluation.weights[0].tolist() == [120, 120]  # in steps of 8
    assert narrow.at_the_end == ["term_0"]
    assert "with --width: term_0" in outcome.summary(narrow)[-1]
    with pytest.raises(UserError, match="sum to 64 bits, not 515"):
        tune(tmp_path / "c", Tuning(generations=1, bits=515, width=widths))
    with pytest.raises(UserError, match="--width term_0=many: write a number"):
        tune(tmp_path / "c", Tuning(generations=1, width={"term_0": "many"}))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"games": np.zeros(6000, np.uint32)}, "positions of 1 games"),
        ({"results": np.full(6000, 0.5, np.float32)}, "all 6,000 positions .* drawn"),
    ],
)
def test_positions_that_nothing_can_be_learnt_of(change, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        tune(tmp_path, Tuning(), replace(simulated.trace(BEST), **change))


def test_columns_of_the_bits() -> None:
    p = [0.0, 1.0, 0.05, 0.95, 0.5, 0.3]
    found = history.of_bits(np.array(p))
    total = naive.entropy_bits(p)
    assert found["entropy_log2_sum"] == pytest.approx(total)
    assert found["entropy_bits_mean"] == pytest.approx(total / 6)
    assert found["entropy_percent"] == pytest.approx(100 * total / 6)
    assert found["entropy_ln_sum"] == pytest.approx(total * np.log(2))
    assert found["entropy_log10_sum"] == pytest.approx(total * np.log10(2))
    assert found["convergence_max"] == pytest.approx((1 + 1 + 0.95 + 0.95 + 0.5 + 0.7) / 6)
    assert found["convergence_abs"] == pytest.approx((1 + 1 + 0.9 + 0.9 + 0 + 0.4) / 6)
    assert found["bits_at_0"] == found["bits_at_1"] == pytest.approx(2 / 6)
    assert tuple(found) == history.BIT_COLUMNS


# Simplify -----------------------------------------------------------------------------------------


def rows(best: np.ndarray, twins: bool = False) -> dict[str, simplify.Row]:
    train = simulated.trace(best, 8000, twins=twins)
    held_out = simulated.trace(best, 8000, seed=9, twins=twins)
    start = simulated.evaluation(best)
    found = simplify.simplify(start, train, held_out, simulated.K)
    return {row.dropped: row for row in found}


def test_what_a_term_is_worth() -> None:
    found = rows(BEST)
    assert found["term_0"].low > 0
    assert found["term_0"].validation > found["term_1"].validation > found["term_2"].validation
    assert found["term_3"].low < 0 < found["term_3"].high + 1e-5
    assert all(row.train > -1e-9 for row in found.values())
    assert all(row.dropped_alone > row.validation - 1e-4 for row in found.values())


def test_one_of_two_twins_is_worth_nothing() -> None:
    """The other takes over: only to drop it alone costs something. The post suspected it."""
    found = rows(np.vstack([BEST[:3], BEST[2:3]]), twins=True)
    for name in ("term_2", "term_3"):
        assert abs(found[name].validation) < 1e-6
        assert found[name].dropped_alone > 1e-4


def test_differences_are_paired_by_game() -> None:
    """Equal positions of a game are one observation: four times as many have the same error."""
    random = np.random.default_rng(1)
    values = random.normal(0.3, 1, 400)
    mean, alone = clustered_mean(values, np.arange(400))
    assert mean == pytest.approx(values.mean())
    assert alone == pytest.approx(values.std(ddof=1) / 20)
    _, together = clustered_mean(np.repeat(values, 4), np.repeat(np.arange(400), 4))
    assert together == pytest.approx(alone)
