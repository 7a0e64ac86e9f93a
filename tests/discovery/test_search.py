"""A search is the same however often it is killed, and whatever the number of processes."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from nnuelab import artifacts
from nnuelab.cli.__main__ import application
from nnuelab.data.journal import Journal
from nnuelab.data.records import NO_SCORE
from nnuelab.discovery import screen, search
from nnuelab.discovery.history import to_csv
from nnuelab.discovery.search import Search
from nnuelab.errors import UserError
from nnuelab.settings.search import Searching
from nnuelab.settings.train import Training
from tests.nnue_data import write_datasets

SETTINGS = Searching(
    **{"terms": ["ALL", "H", "V"], "generations": 3, "population": 2},
    **{"positions": 400, "epochs": 1, "l1": 32, "rungs": 2, "eta": 2},
)
OPTIONS = ["--terms=ALL", "--terms=H", "--terms=V", "--generations=3", "--population=2",
           "--positions=400", "--epochs=1", "--l1=32", "--rungs=2", "--eta=2",
           "--workers=1"]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def small_batches():
    """The datasets of the tests are smaller than a usual batch."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Training, "batch_size", 128)
        original = Training.__init__

        def smaller(self, *args, **more):
            original(self, *args, **{"batch_size": 128, **more})

        patch.setattr(Training, "__init__", smaller)
        yield


@pytest.fixture(scope="module")
def datasets(tmp_path_factory):
    return write_datasets(tmp_path_factory.mktemp("data"))


def priced(folder):
    """Prices that aren't measured: the same for all searches."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "prices.csv"
    path.write_text("name,cost\nH,1.02\nV,1.03\nD1,1.04\nMB,1.4\n")
    return path


def history(settings, datasets, journal, workers=1):
    found = Search(settings, *datasets, journal, priced(journal.parent), workers)
    return to_csv(list(found.generations())[-1])


@pytest.fixture(scope="module")
def whole(datasets, tmp_path_factory):
    return history(SETTINGS, datasets, tmp_path_factory.mktemp("whole") / "search.journal")


def test_sets_go_through_screens_and_the_best_have_children(whole):
    rows = list(csv.DictReader(whole.splitlines()))
    assert [row["feature_set"] for row in rows if row["generation"] == "0"][:3] == ["ALL", "H", "V"]
    assert {row["move"] for row in rows[:3]} == {"anchor", "block"}
    longer = [row for row in rows if row["rung"] == "1"]
    assert (
        len([row for row in longer if row["generation"] == "0"]) == 2
    )  # half of three, rounded up
    assert rows[0]["cost"] == "1.0000"
    children = [row for row in rows if row["generation"] == "1" and row["rung"] == "0"]
    assert len(children) == 2
    known = {row["number"] for row in rows if row["generation"] == "0" and row["rung"] == "1"}
    assert {number for row in children for number in row["parents"].split()} <= known
    screened = [(row["feature_set"], row["rung"]) for row in rows]
    assert len(screened) == len(set(screened))


@pytest.mark.parametrize("entries", [0, 1, 4, 7])
def test_a_search_goes_on_from_any_point(datasets, tmp_path, whole, entries):
    journal = tmp_path / "search.journal"
    history(SETTINGS, datasets, journal)
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(lines[: 1 + entries]) + lines[1 + entries][:9])
    assert history(SETTINGS, datasets, journal) == whole


def test_more_generations_go_on_with_the_same_history(datasets, tmp_path, whole, monkeypatch):
    journal = tmp_path / "search.journal"
    short = history(replace(SETTINGS, generations=1), datasets, journal)
    assert whole.startswith(short)
    measured = []
    monkeypatch.setattr(
        search, "measure", lambda task: measured.append(task) or screen.measure(task)
    )
    assert history(SETTINGS, datasets, journal) == whole
    new = len(whole.splitlines()) - len(short.splitlines())
    assert len(measured) == SETTINGS.seeds * new


def test_a_journal_of_an_earlier_version_has_means_over_seeds(
    datasets, tmp_path, whole, monkeypatch
):
    rows = csv.DictReader(whole.splitlines())
    found = Search(SETTINGS, *datasets, tmp_path / "search.journal", priced(tmp_path), 1)
    with Journal(tmp_path / "search.journal", found.identity()) as journal:
        for row in rows:
            measured = {"n_features": int(row["n_features"]), "rows": float(row["rows"])}
            measured |= {"loss": float(row["loss"]), "seconds": 1.0}
            each = {"feature_set": row["feature_set"], "rung": int(row["rung"])}
            journal.append({**each, "measured": measured})
    monkeypatch.setattr(search, "measure", None)  # nothing is left to measure
    assert to_csv(list(found.generations())[-1]) == whole
    assert found.rate == pytest.approx(3600)


def test_another_seed_draws_other_sets(datasets, tmp_path, whole):
    settings = replace(SETTINGS, seed=2, generations=6)
    other = history(settings, datasets, tmp_path / "search.journal")
    assert other.splitlines()[:4] == whole.splitlines()[:4]
    assert other != whole


def test_where_the_best_have_no_new_children_others_have(datasets, tmp_path):
    terms = ["ALL", "H", "V", "D1"]
    settings = replace(SETTINGS, terms=terms, generations=0, population=2, rungs=1)
    rows = list(csv.DictReader(history(settings, datasets, tmp_path / "j").splitlines()))
    every = {"+".join(some) for n in range(4) for some in combinations(terms, n + 1)}
    assert {row["feature_set"] for row in rows} == every
    assert max(int(row["generation"]) for row in rows) > 4


def test_sets_that_cost_too_much_are_not_trained(datasets, tmp_path):
    settings = replace(SETTINGS, terms=["ALL", "MB", "H"], generations=1, l1=256, max_cost=1.2)
    rows = list(csv.DictReader(history(settings, datasets, tmp_path / "j").splitlines()))
    assert [(row["feature_set"], row["loss"] == "") for row in rows[:3]] == [
        ("ALL", False), ("MB", True), ("H", False),
    ]  # fmt: skip
    assert {row["feature_set"] for row in rows[3:]} == {"ALL", "H"}


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        (["ALL", "MB"], r"costs at most 1\.2, of which MB costs 1\.\d+; give others"),
        (["ALL"], r"no set but the anchor that costs at most 1\.2; give others"),
    ],
)
def test_a_limit_that_no_set_keeps_is_told(datasets, tmp_path, terms, message):
    settings = replace(SETTINGS, terms=terms, l1=256, max_cost=1.2)
    with pytest.raises(UserError, match=message):
        history(settings, datasets, tmp_path / "j")


def test_the_anchor_is_no_second_set_however_it_is_written(datasets, tmp_path):
    settings = replace(SETTINGS, terms=["H", "ALL", "H+V"], anchor="ALL+H", rungs=1)
    rows = list(csv.DictReader(history(settings, datasets, tmp_path / "j").splitlines()))
    parts = [frozenset(row["feature_set"].split("+")) for row in rows]
    assert parts[0] == {"ALL", "H"}
    assert len(parts) == len(set(parts)) > 4


@pytest.mark.parametrize(
    ("price", "message"), [("V,1.03", "lacks H"), ("H,.2\nV,1", r"costs 0\.2 times as much with H")]
)
def test_prices_that_can_t_be_are_told(datasets, tmp_path, price, message):
    (tmp_path / "prices.csv").write_text(f"name,cost\n{price}\n")
    found = Search(SETTINGS, *datasets, tmp_path / "j", tmp_path / "prices.csv", 1)
    with pytest.raises(UserError, match=message):
        next(found.generations())


def test_hours_that_are_too_few_are_told_before_any_work(datasets, tmp_path):
    settings = replace(SETTINGS, hours=1e-9)
    told = set()
    for workers in (1, SETTINGS.population * SETTINGS.seeds, 64):
        with pytest.raises(UserError, match=r"a generation of 2 sets takes \S+ hours") as failure:
            Search(settings, *datasets, tmp_path / "j", tmp_path / "prices.csv", workers)
        told.add(str(failure.value))
    assert len(told) == 2  # more than the trainings of a generation don't help
    assert not (tmp_path / "j").exists()


def test_rungs_beyond_the_positions_are_told(datasets, tmp_path):
    settings = replace(SETTINGS, rungs=9)
    with pytest.raises(UserError, match=r"screen \d asks for [\d,]+ positions, and .*\.npy has"):
        history(settings, datasets, tmp_path / "j")


def test_positions_that_validate_need_scores(datasets, tmp_path):
    records = np.load(datasets[1])
    records["score"] = NO_SCORE
    np.save(tmp_path / "none.npy", records)
    found = Search(SETTINGS, datasets[0], tmp_path / "none.npy", tmp_path / "j", priced(tmp_path))
    with pytest.raises(UserError, match=r"none\.npy has no position with a score"):
        next(found.generations())


def test_too_few_positions_are_told(datasets, tmp_path, monkeypatch):
    monkeypatch.setattr(Training, "batch_size", 10_000)
    with pytest.raises(UserError, match="less than a batch of"):
        history(SETTINGS, datasets, tmp_path / "j")


def test_the_command_writes_history_front_and_experiment(datasets, tmp_path, whole):
    command = ["search", "--train", str(datasets[0]), "--validation", str(datasets[1])]
    output = tmp_path / "search"
    priced(output)
    options = ["--output", str(output), *OPTIONS, "--play-seeds", "3"]
    done = CliRunner().invoke(application(), [*command, *options])
    assert done.exit_code == 0, done.output
    assert (output / "history.csv").read_text() == whole
    front = (output / "front.csv").read_text()
    assert done.stdout == front
    found = yaml.safe_load((output / "front.yaml").read_text())["experiments"]["search"]
    assert found["anchor"] == found["feature_sets"][0] == "ALL"
    played = set(found["feature_sets"][1:])
    assert played <= {row["feature_set"] for row in csv.DictReader(front.splitlines())}
    assert len(found["feature_sets"]) == len(played) + 1
    assert len(set(found["seeds"])) == 3
    assert min(found["seeds"]) > SETTINGS.seeds
    for name in ("history.csv", "front.csv", "front.yaml"):
        assert json.loads((output / f"{name}.json").read_text())["inputs"].keys() == {
            "train", "validation", "prices",
        }  # fmt: skip


def test_records_are_those_of_the_files_after_each_generation(datasets, tmp_path, monkeypatch):
    class First(Search):
        def generations(self):
            yield next(super().generations())
            raise UserError("ended")

    monkeypatch.setattr(search, "Search", First)
    priced(tmp_path)
    command = ["search", "--train", str(datasets[0]), "--validation", str(datasets[1])]
    done = CliRunner().invoke(application(), [*command, "--output", str(tmp_path), *OPTIONS])
    assert (done.exit_code, "ended" in done.output) == (1, True)
    for name in ("history.csv", "front.csv"):
        record = json.loads((tmp_path / f"{name}.json").read_text())
        assert record["sha256"] == artifacts.sha256(tmp_path / name)
    assert not (tmp_path / "front.yaml").exists()


@pytest.mark.slow
def test_killed_ten_times_it_ends_the_same(tmp_path):
    """Kill -9, of processes of their own with the usual batches."""
    data = write_datasets(tmp_path, greedy=True)
    command = [sys.executable, "-m", "nnuelab.cli", "search", "--train", data[0], "--validation",
               data[1], *OPTIONS, "--positions=1500", "--workers=2", "--terms=D1", "--terms=MB",
               "--generations=8"]  # fmt: skip

    def start(output: Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*command, "--output", output], stderr=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, start_new_session=True)  # fmt: skip

    def entries() -> int:
        path = tmp_path / "killed" / "search.journal"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    for name in ("whole", "killed"):
        priced(tmp_path / name)
    assert start(tmp_path / "whole").wait() == 0
    for kill in range(10):
        process, before = start(tmp_path / "killed"), entries()
        # Every other one as it begins to measure, or in the middle of that.
        while process.poll() is None and entries() <= before + kill % 2:
            time.sleep(0.01)
        assert process.poll() is None
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    assert start(tmp_path / "killed").wait() == 0
    names = ("history.csv", "front.csv", "front.yaml")
    whole, killed = ([(tmp_path / each / name).read_bytes() for name in names]
                     for each in ("whole", "killed"))  # fmt: skip
    assert whole == killed
