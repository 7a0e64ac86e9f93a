"""Bills of experiments, against costs that are known."""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from nnuelab import params
from nnuelab.cli.__main__ import application
from nnuelab.errors import UserError
from nnuelab.params.bill import Comparison, Machines, compared, cores_of_a_job, foretold, span
from nnuelab.params.jobs import Job, jobs_of, wall_seconds

ROOT = Path(__file__).resolve().parents[2]
HOUR = 3600.0
KNOWN = [
    Job("data", "sample", "sample", 8 * HOUR, None, disk=100),
    Job("nets", "train", "train/A/1", 2 * HOUR, 1, on_gpu=True, disk=7),
    Job("nets", "train", "train/A/2", 4 * HOUR, 2, on_gpu=True, disk=7),
    Job("cost", "cost", "cost/axis", 1 * HOUR, is_alone=True),
    Job("games", "tournament", "tournament/axis", 16 * HOUR, None),
]


def bill(jobs, machines, speed=()):
    return {line.rule: line for line in foretold(jobs, machines, dict(speed))}


def test_a_bill_of_known_costs():
    found = bill(KNOWN, Machines(8, 4, price=0.1, gpu_price=2.0))
    assert {rule: line.core_hours for rule, line in found.items()} == pytest.approx(
        {"sample": 8, "train": 6, "cost": 4, "tournament": 16}  # cost: all that it keeps free
    )
    train = found["train"]
    assert (train.jobs, train.gpu_hours, train.disk) == (2, pytest.approx(2 + 2), 14)
    assert train.price == pytest.approx(6 * 0.1 + 4 * 2)
    assert found["sample"].price == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("cores", "job_cores", "hours"),
    [
        (1, None, 8 + 6 + 1 + 16),
        (8, None, 1 + 2 + 1 + 2),  # a net takes two hours, on one core or on two
        (8, 4, 2 + 2 + 1 + 4),
        (1000, None, 0.008 + 2 + 1 + 0.016),
        (1000, 4, 2 + 2 + 1 + 4),
    ],
)
def test_hours_are_those_of_the_longest_job_where_there_are_cores_enough(cores, job_cores, hours):
    found = wall_seconds(KNOWN, cores, {}, job_cores) / HOUR
    assert found == pytest.approx(hours)


def test_a_slower_machine_costs_more():
    slow = bill(KNOWN, Machines(8, price=1.0), {"train": 3.0})
    assert slow["train"].price == pytest.approx(18)
    assert slow["sample"].price == pytest.approx(8)
    assert wall_seconds(KNOWN, 1, {"train": 3.0}) == pytest.approx((31 + 12) * HOUR)


def test_foretold_is_compared_with_what_ran(tmp_path):
    head = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"
    for name, wall, rss, cpu in (
        ("train/A/1", 4000, 500, 7200),
        ("train/A/2", 9000, 600.5, 7200),
        ("cost/axis", 1800, "-", "-"),
    ):
        path = tmp_path / f"{name}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{wall}\t0\t{rss}\t1\t1\t1\t1\t1\t1\t{cpu}\n")
    train, cost = compared(KNOWN, tmp_path, 8)
    memory = KNOWN[1].memory(8)
    took = pytest.approx((4000 + 2 * 9000) / HOUR)  # one core, and two; cpu_time is cut short
    assert train == Comparison("train", 2, pytest.approx(6), took, memory, 600.5)
    assert (cost.measured, cost.measured_memory) == (pytest.approx(0.5), 0)
    for name, end in (("train/A/1", 5000), ("train/A/2", 12000), ("cost/axis", 14000)):
        os.utime(tmp_path / f"{name}.tsv", (end, end))
    assert span(KNOWN, tmp_path) == pytest.approx((14000 - 1000) / HOUR)
    for text in ("nothing\n", "max_rss\ts\n1\n", "s\n" + "x" * 200_000):
        path.write_text(text)
        with pytest.raises(UserError, match="is no benchmark"):
            compared(KNOWN, tmp_path, 8)


def test_every_job_is_told_once_and_by_the_name_of_a_rule(settings):
    settings["data"]["source"] = "selfplay"
    settings["experiments"]["axis"]["tournament"] = {"parts": 3}
    settings["label"] |= {"labeller": "stockfish", "parts": 4}
    settings["sample"]["parts"] = 10**6
    found = params.validate(settings)
    rules = {
        re.search(r"^rule (\w+)|^use rule \w+ as (\w+)", line).expand(r"\1\2")
        for path in (ROOT / "rules").glob("*.smk")
        for line in path.read_text().splitlines()
        if line.startswith(("rule ", "use rule "))
    }
    for name, plan in params.plans(found).items():
        jobs = jobs_of(name, plan)
        assert {job.rule for job in jobs} <= rules
        names = [job.name for job in jobs if job.name]
        assert len(names) == len(set(names))
    parts = [job for job in jobs_of("axis", params.plans(found)["axis"]) if "part" in job.rule]
    files = settings["selfplay"]["generations"] * settings["selfplay"]["parts"]
    assert len(parts) == files + 4 + 2 * 3


def test_scores_take_the_time_of_their_labeller_and_those_of_generations_none(settings):
    settings["data"]["source"] = "selfplay"

    def seconds(rule, **label):
        settings["label"] |= {"labeller": "stockfish", "depth": None, "parts": 1, **label}
        plan = params.plans(params.validate(settings))["axis"]
        return sum(job.seconds for job in jobs_of("axis", plan) if job.rule == rule)

    few, many = seconds("label", nodes=500), seconds("label", nodes=1000)
    assert many == pytest.approx(2 * few, rel=0.05)
    assert seconds("label_part", nodes=500, parts=4) == pytest.approx(few, rel=0.05)
    assert seconds("label", nodes=500, parts=4) < few / 100
    assert seconds("label", nodes=None, depth=10) > many
    taken = seconds("label", labeller="pgn")
    assert taken < few / 100
    assert seconds("generation_label", labeller="pgn") == seconds("generation_label", depth=10)


def test_the_command_prints_what_its_lines_add_up_to(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"max-threads": 16}))
    options = ["--cores", "64", "--profile", str(tmp_path), "--price", "0.5"]
    shown = CliRunner().invoke(application(), ["plan", "mobility", *options])
    assert shown.exit_code == 0, shown.output
    *rows, total = csv.DictReader(shown.stdout.splitlines())
    assert {"train", "tournament", "cost"} <= {row["rule"] for row in rows}
    for column in ("jobs", "core_hours", "price"):
        added = sum(float(row[column]) for row in rows)
        assert float(total[column]) == pytest.approx(added, abs=0.006 * len(rows))
    assert float(total["price"]) == pytest.approx(0.5 * float(total["core_hours"]), abs=0.01)
    one = CliRunner().invoke(application(), ["plan", "mobility", "--cores", "1"])
    assert float(total["hours"]) < float(one.stdout.splitlines()[-1].split(",")[-1])
    shown = CliRunner().invoke(application(), ["plan", "mobilty"])
    assert shown.exit_code == 1
    assert "did you mean mobility?" in shown.stderr


@pytest.mark.parametrize("wrong", [["--nodes", "4", "--slow-nodes", "1"], ["--nodes", "4"]])
def test_the_command_draws_what_happens_on_nodes(monkeypatch, wrong):
    monkeypatch.chdir(ROOT)
    shown = CliRunner().invoke(application(), ["plan", "mobility", *wrong])
    assert shown.exit_code == 0, shown.output
    *stages, total = csv.DictReader(shown.stdout.splitlines())
    assert [row["stage"] for row in stages] == ["data", "nets", "cost", "games", "tables"]
    added = sum(float(row["hours"]) for row in stages)
    assert float(total["hours"]) == pytest.approx(added, abs=0.03)
    factor = len(wrong) / 2  # two where all are slow
    assert float(total["median_hours"]) == pytest.approx(factor * float(total["hours"]), rel=0.1)
    shown = CliRunner().invoke(application(), ["plan", "mobility", "--losses", "1"])
    assert shown.exit_code == 2
    assert "--nodes" in shown.stderr


@pytest.mark.parametrize(("text", "cores"), [("jobs: 3\n", None), ("max-threads: 16\n", 16)])
def test_a_profile_says_how_many_cores_a_job_gets(tmp_path, text, cores):
    (tmp_path / "config.yaml").write_text(text)
    assert cores_of_a_job(tmp_path) == cores


@pytest.mark.parametrize(
    "text",
    [
        "max-threads: many\n",
        "max-threads: .inf\n",
        "max-threads: 0\n",
        "max-threads: 1000001\n",
        "- 1\n",
        "a: [\n",
        "[" * 5000,
        None,
    ],
)
def test_a_broken_profile_is_one_line(tmp_path, text):
    if text is not None:
        (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=r"config\.yaml"):
        cores_of_a_job(tmp_path)
