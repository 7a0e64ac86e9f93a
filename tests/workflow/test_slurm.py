"""The tiny chain on a Slurm cluster: the same files, whatever happens to its jobs."""

from __future__ import annotations

import pytest

from tests.workflow import slurm
from tests.workflow.project import NOTHING, Folder, tiny_project

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(slurm.missing()), reason=slurm.missing()),
]

TABLE = "results/axis_table.csv"
# With times or places in them.
OTHERWISE = ["*.json", "*_times.csv", "*_table.*", "statistics/*"]
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
        str(path.relative_to(results)): path.read_bytes()
        for path in sorted(results.rglob("*"))
        if path.is_file() and "published" not in path.parts
        if not any(path.match(pattern) for pattern in OTHERWISE)
    }


def test_jobs_that_are_cancelled_and_requeued_make_the_same_files(tmp_path):
    here, there = tiny(tmp_path / "here"), tiny(tmp_path / "there")
    here.run("nice", "-n", "10", "snakemake", TABLE)
    with slurm.cluster(tmp_path / "slurm"):
        run = there.start("snakemake", TABLE, *PROFILE)
        slurm.said("scancel", slurm.running("train"))
        slurm.said("scontrol", "requeue", slurm.running("tournament_part"))
        told, _ = run.communicate()
        assert run.returncode == 0, told
        assert "CANCELLED" in told
        assert NOTHING in there.run("snakemake", TABLE, *PROFILE)
    expected, found = made(here), made(there)
    assert found.keys() == expected.keys()
    assert {"tournament/axis.pgn", "nets/H+V/1/net.nnue", "data/train.npy"} <= found.keys()
    assert [name for name in found if found[name] != expected[name]] == []
