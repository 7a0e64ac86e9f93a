"""The tiny chain on a Slurm cluster: the same files, whatever happens to its jobs."""

from __future__ import annotations

import csv

import pytest

from tests.workflow import slurm
from tests.workflow.project import NOTHING, Folder, tiny_project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing()),
]

TABLE = "results/axis_table.csv"
# What is measured takes other times in equal runs: of these files such columns aren't compared, ...
TIMED = ["axis_table.csv", "statistics/*.csv"]
TIMES = {"train_seconds", "row_ns", "predicted_ns", "measured_ns"}
# ... and others not at all: nothing but times, and records with the checksum of such a file.
OTHERWISE = ["*_times.csv", "axis_table.md", "axis_table.md.json"]
OTHERWISE += [f"{name}.json" for name in TIMED]
PROFILE = ["--workflow-profile", "profiles/slurm", "--max-threads", "2", "--jobs", "4"]
PROFILE += ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "5"]


def tiny(folder):
    """The project at tiny scale, its games in two parts, with costs that are given."""
    folder.mkdir()
    with tiny_project(folder) as (path, settings):
        axis = {"feature_sets": ["ALL", "H+V"], "seeds": [1], "anchor": "ALL"}
        settings["experiments"] = {"axis": axis}
        changes = {"costs": "costs.csv", "nodes_deep": 0, "check_time": False, "parts": 2}
        settings["tournament"] |= changes
    (path / "costs.csv").write_text("name,cost\nALL,1\nH+V,1.25\n")
    return Folder(path)


def made(folder):
    results = folder.path / "results"
    return {
        str(path.relative_to(results)): compared(path)
        for path in sorted(results.rglob("*"))
        if path.is_file() and "published" not in path.parts
        if not any(path.match(pattern) for pattern in OTHERWISE)
    }


def compared(path):
    """A file's bytes; of a table with times the rest of its cells."""
    if not any(path.match(pattern) for pattern in TIMED):
        return path.read_bytes()
    with path.open(newline="") as file:
        return [
            {column: cell for column, cell in row.items() if column not in TIMES}
            for row in csv.DictReader(file)
        ]


def test_jobs_that_are_cancelled_and_requeued_make_the_same_files(tmp_path):
    here, there = tiny(tmp_path / "here"), tiny(tmp_path / "there")
    here.run("snakemake", TABLE)
    with slurm.cluster(tmp_path / "slurm"):
        run = there.start("snakemake", TABLE, *PROFILE)
        cancelled, drained = slurm.running("train")
        slurm.said("scontrol", "update", f"node={drained}", "state=drain", "reason=test")
        slurm.said("scancel", cancelled)
        slurm.running("train", *(node for node in slurm.NODES if node != drained))
        slurm.said("scontrol", "update", f"node={drained}", "state=resume")
        slurm.said("scontrol", "requeue", slurm.running("tournament_part")[0])
        told, _ = run.communicate()
        assert run.returncode == 0, told
        assert "CANCELLED" in told
        assert NOTHING in there.run("snakemake", TABLE, *PROFILE)
    expected, found = made(here), made(there)
    assert found.keys() == expected.keys()
    assert {"tournament/axis.pgn.json", "nets/H+V/1/net.nnue", "axis_table.csv"} <= found.keys()
    assert "elo" in found["axis_table.csv"][0]
    assert [name for name in found if found[name] != expected[name]] == []
