"""Plans of least time, and the hours that experiments take."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path

import pytest
from typer.testing import CliRunner

from nnuelab import params
from nnuelab.cli.__main__ import application
from nnuelab.errors import UserError
from nnuelab.params.jobs import START, jobs_of
from nnuelab.params.planning import Planner, with_games
from nnuelab.tournament import spread
from nnuelab.tournament.yardsticks import COST, NODES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def planner(settings):
    known = spread.read(ROOT / "resources/spread.csv")
    return Planner(params.validate(settings), known, 0.3, None, 2, {})


def test_the_proposed_plan_suffices_and_no_other_number_of_seeds_is_faster(planner):
    plan = params.plans(planner.params)["mobility"]
    best = planner.cheapest("mobility", plan, 20.0, range(1, 40), primary=True)
    for yardstick in (NODES, COST):
        assert planner.forecast("mobility", best, yardstick).detects_primary <= 20.1
    for seeds in (len(best.seeds) - 1, len(best.seeds) + 1):
        other = planner.cheapest("mobility", plan, 20.0, [seeds], primary=True)
        assert planner.hours(other) >= planner.hours(best)
    fewer = with_games(best, {NODES: int(0.8 * best.tournament.games_per_pairing)})
    assert planner.forecast("mobility", fewer, NODES).detects_primary > 20
    with pytest.raises(UserError, match="plan more seeds"):
        planner.cheapest("mobility", plan, 2.0, [2], primary=True)


def test_one_seed_of_which_nothing_is_known_finds_nothing(planner):
    plan = params.plans(planner.params)["mobility"]
    unknown = dataclasses.replace(planner, known=[], training_sd=10.0)
    assert len(unknown.cheapest("mobility", plan, 40.0, range(1, 9), primary=True).seeds) > 1
    with pytest.raises(UserError, match="plan more seeds"):
        unknown.cheapest("mobility", plan, 40.0, [1], primary=True)


def test_a_gpu_is_paid_as_long_as_its_steps_take(settings):
    """ALL, 256 neurons, on one H200 (docs/training.md): 17.6 million positions/s by 4096."""

    def seconds(threads, batch_size):
        chosen = {"device": "cuda", "threads": threads, "batch_size": batch_size}
        parts = settings | {"train": settings["train"] | chosen}
        jobs = jobs_of("axis", params.plans(params.validate(parts))["axis"])
        job = next(job for job in jobs if job.rule == "train")
        assert job.on_gpu
        return (job.seconds - START) / job.cores

    axis = params.plans(params.validate(settings))["axis"]
    seen = axis.positions * axis.entries[0].train.epochs
    assert seconds(1, 4096) == pytest.approx(seen / 17.6e6, rel=0.1)
    assert seconds(3, 4096) == pytest.approx(seconds(1, 4096))
    assert seconds(1, 1024) > 2 * seconds(1, 4096)


def test_earlier_runs_tell_the_speed_of_this_machine(planner, tmp_path):
    plans = params.plans(planner.params)
    axis = plans["axis"]
    assert params.measured(plans, tmp_path, 2) == {}
    job = {job.name: job.seconds for job in jobs_of("axis", axis)}
    for name, seconds in (
        ("train/ALL/1.tsv", 3 * job["train/ALL/1"]),
        ("tournament/axis.tsv", 2 * job["tournament/axis"] / 2),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\th:m:s\n{seconds}\t0:00:00\n")
    speed = params.measured(plans, tmp_path, 2)
    assert speed == {
        **dict.fromkeys(("train", "generation_train"), pytest.approx(3)),
        **dict.fromkeys(("tournament", "tournament_part", "generation_games"), pytest.approx(2)),
    }
    slower = dataclasses.replace(planner, speed=speed)
    assert slower.hours(axis) > 1.5 * planner.hours(axis)
    (tmp_path / "train/ALL/1.tsv").write_text("nothing\n")
    with pytest.raises(UserError, match=r"1\.tsv is no benchmark"):
        params.measured(plans, tmp_path, 2)


def test_a_default_run_tells_the_speed_where_an_overlay_has_not_run(planner, tmp_path, monkeypatch):
    for name in ("params.yaml", "resources"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    plans, overlay = params.plans(planner.params), [Path("config/mine.yaml")]
    job = next(job for job in jobs_of("axis", plans["axis"]) if job.name == "train/ALL/1").seconds
    assert params.speed_here(plans, overlay, 2) == {}
    for logs, factor in (("logs", 3), ("logs-mine", 2)):
        path = tmp_path / logs / "benchmarks" / "train" / "ALL" / "1.tsv"
        path.parent.mkdir(parents=True)
        path.write_text(f"s\n{factor * job}\n")
        speed = params.speed_here(plans, overlay, 2)
        assert speed["train"] == speed["generation_train"] == pytest.approx(factor)


def test_the_command_tells_each_limit_and_what_it_assumes(monkeypatch):
    monkeypatch.chdir(ROOT)
    runner = CliRunner()
    shown = runner.invoke(application(), ["power", "--sets", "3", "--seeds", "4"])
    assert shown.exit_code == 0, shown.output
    row, cost = csv.DictReader(io.StringIO(shown.stdout))
    assert row["games_at"] == "fixed nodes"
    assert (row["sets"], row["seeds"], row["games"]) == ("3", "4", str(66 * 48))
    assert 0 < float(row["error"]) < float(row["detects_primary"]) < float(row["detects"])
    assert (cost["games_at"], cost["sets"], cost["seeds"]) == ("equal cost", "3", "4")
    shown = runner.invoke(application(), ["power", "axs"])
    assert shown.exit_code == 1
    assert "did you mean axis?" in shown.stderr
    shown = runner.invoke(application(), ["power", "axis", "--sets", "3"])
    assert shown.exit_code == 2


def test_a_title_with_a_comma_is_one_cell(monkeypatch):
    monkeypatch.chdir(ROOT)
    shown = CliRunner().invoke(application(), ["power", "found", "--overlay", "config/found.yaml"])
    titles = [row["games_at"] for row in csv.DictReader(io.StringIO(shown.stdout))]
    assert "equal cost, more nodes" in titles


def mistakes(settings, hypothesis):
    settings["experiments"]["axis"]["hypothesis"] = hypothesis
    with pytest.raises(params.ParamsError) as caught:
        params.validate(settings)
    return "\n".join(caught.value.mistakes)


def test_a_hypothesis_names_a_set_games_and_a_bound(settings):
    assert "axis.hypothesis.set: ALL must be one of" in mistakes(
        settings, {"set": "ALL", "is": "stronger"}
    )
    assert "no games are played for elo_time" in mistakes(
        settings, {"set": "H+V", "is": "weaker", "column": "elo_time"}
    )
    assert "within: 15" in mistakes(settings, {"set": "H+V", "is": "equivalent"})
    assert "within is for equivalent" in mistakes(
        settings, {"set": "H+V", "is": "weaker", "within": 15}
    )


@pytest.mark.parametrize("question", ["", "two\nlines", "\u202eturned", "x" * 121])
def test_a_question_is_a_line_that_can_be_shown(settings, question):
    settings["experiments"]["axis"]["question"] = question
    with pytest.raises(params.ParamsError) as caught:
        params.validate(settings)
    (mistake,) = caught.value.mistakes
    assert mistake.startswith("experiments.axis.question: ")
    assert "\u202e" not in mistake


def test_the_hash_covers_hypothesis_and_design_and_nothing_else(settings):
    def fixed():
        return params.fixed(params.validate(settings), "axis")

    assert fixed()["hypothesis"] is None
    settings["experiments"]["axis"]["hypothesis"] = {"set": "h+v", "is": "weaker"}
    before = fixed()
    assert before["hypothesis"]["set"] == "H+V"
    settings["puzzles"]["count"] = 7
    settings["train"]["threads"] = 2
    settings["tournament"]["parts"] = 2
    settings["experiments"]["axis"]["tournament"] = {"parts": 3}
    settings["experiments"]["size"]["seeds"] = [7, 8]
    settings["experiments"]["axis"]["question"] = "What else?"
    assert fixed() == before
    seen = {before["sha256"]}
    for change in (
        lambda: settings["experiments"]["axis"]["hypothesis"].update(column="elo_cost"),
        lambda: settings["experiments"]["axis"].update(seeds=[1, 2, 3]),
        lambda: settings["tournament"].update(games_per_pairing=132),
        lambda: settings["train"].update(epochs=13),
        lambda: settings["sample"].update(min_ply=18),
    ):
        change()
        seen.add(fixed()["sha256"])
    assert len(seen) == 6
