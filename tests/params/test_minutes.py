"""Estimates of how long the tables take."""

from __future__ import annotations

import csv
import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab import params
from nnuelab.cli.__main__ import application
from nnuelab.names import NetName
from nnuelab.params.jobs import START, jobs_of

ROOT = Path(__file__).resolve().parents[2]
PUBLISHED = ROOT / "results" / "published"


def test_minutes_of_texel_follow_runs_and_games(settings):
    found = params.validate(settings)
    assert 3 < params.texel_minutes(found, cores=2) < 20
    settings["texel"]["games_per_pairing"] *= 10
    assert params.texel_minutes(params.validate(settings), 2) > 3 * params.texel_minutes(found, 2)


def test_minutes_follow_nets_and_games(settings):
    found = params.validate(settings)
    plan = params.plans(found)["axis"]
    assert 10 < params.minutes(plan, cores=2) < 25
    games = plan.tournament.model_copy(update={"games_per_pairing": 16_000})
    more = dataclasses.replace(plan, tournament=games)
    assert params.minutes(more, cores=2) > 10 * params.minutes(plan, cores=2)
    # What a node costs is measured on one core, while the others wait.
    measured = params.core_seconds(plan)["cost"] / 60
    four, two = params.minutes(plan, cores=4), params.minutes(plan, cores=2)
    half = (two - measured) / 2
    assert half < four - measured < half + 3 * START / 60, "more than single jobs that only start"


def test_seconds_of_trainings_follow_the_sets(settings):
    apart = []
    for name in ("axis", "pairwise", "mobility", "beyond"):
        jobs = jobs_of(name, params.plans(params.validate(settings))[name])
        foretold = {job.name.split("/")[1]: job.seconds for job in jobs if job.rule == "train"}
        for row in csv.DictReader((PUBLISHED / f"{name}_table.csv").read_text().splitlines()):
            measured = float(row["train_seconds"])
            if row["feature_set"] == "ALL":
                anchor = measured / foretold["ALL"]
            apart.append(measured / foretold[NetName(row["feature_set"]).folder] / anchor)
    assert len(apart) == 23
    assert np.median(np.abs(np.log(apart))) < np.log(1.25)
    assert 0.5 < min(apart) < max(apart) < 2


def test_minutes_tell_what_finding_a_size_takes(settings):
    variants = {"fixed": {}, "sized": {"l1": "auto"}}
    settings["experiments"]["axis"] |= {"anchor": "ALL,fixed", "variants": variants}
    plan = params.plans(params.validate(settings))["axis"]
    given = dataclasses.replace(
        plan, entries=[dataclasses.replace(entry, like=None) for entry in plan.entries]
    )
    found = params.minutes(plan, cores=2) - params.minutes(given, cores=2)
    # Six sets with four probes each, and that of the anchor, beside 13 rows of two nets.
    assert 6 * params.core_seconds(plan)["sizing"] / 60 < found < params.minutes(given, cores=2) / 2


def test_minutes_follow_the_games_that_nets_learn_from(settings):
    settings["data"]["source"] = "selfplay"
    few = params.plans(params.validate(settings))["axis"]
    settings["selfplay"]["parts"] *= 10
    many = params.plans(params.validate(settings))["axis"]
    assert params.core_seconds(many)["train"] > 9 * params.core_seconds(few)["train"]
    assert params.minutes(many, cores=2) > 6 * params.minutes(few, cores=2)


def test_generations_and_what_finds_sizes_wait_for_each_other(settings):
    """However many cores there are: a net of each generation, or the probes, then the nets."""
    settings["data"]["source"] = "selfplay"
    settings["selfplay"]["generations"] = 1
    jobs = jobs_of("axis", params.plans(params.validate(settings))["axis"])
    (of_one,) = (job.seconds for job in jobs if job.rule == "generation_train")
    settings["selfplay"]["generations"] = 4
    four = params.plans(params.validate(settings))["axis"]
    each = [job.seconds for job in jobs_of("axis", four) if job.rule == "generation_train"]
    assert len(each) == 4
    assert each[0] == pytest.approx(of_one)
    longest = max(job.seconds for job in jobs_of("axis", four) if job.rule == "train")
    assert params.minutes(four, cores=10**6) * 60 > sum(each) + longest
    variants = {"fixed": {}, "sized": {"l1": "auto"}}
    settings["experiments"]["axis"] |= {"anchor": "ALL,fixed", "variants": variants}
    stages = [job.stage for job in jobs_of("axis", params.plans(params.validate(settings))["axis"])]
    assert stages.index("finders") < stages.index("nets")


def test_minutes_of_self_play_follow_games_and_simulations(settings):
    found = params.validate(settings)
    assert 20 < params.selfplay_minutes(found, cores=2) < 90
    settings["policy"]["selfplay"]["runs"]["expert"]["simulations"] = 480
    more = params.validate(settings)
    assert params.selfplay_minutes(more, 2) > 3 * params.selfplay_minutes(found, 2)


def test_list_has_every_experiment_with_minutes(monkeypatch):
    monkeypatch.chdir(ROOT)
    command = ["params", "list", "--overlay", "config/tiny.yaml"]
    shown = CliRunner().invoke(application(), command)
    assert shown.exit_code == 0, shown.output
    tables = [f"{name}_table.csv" for name in params.read(ROOT / "params.yaml").experiments]
    for table in (*tables, "texel/match_table.txt", "policy_table.csv", "policy/vs_random.csv"):
        assert re.search(rf"^results-tiny/{table} +\d+ ", shown.output, re.MULTILINE)
