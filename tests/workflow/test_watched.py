"""Real runs of Snakemake, watched from outside: one that works, is killed, fails, and is done."""

from __future__ import annotations

import time

import pytest

from nnuelab.report.live import Live
from tests.workflow.project import Folder

# A job that waits until it may go, and fails if it shall.
WORKFLOW = """
import snakemake_logger_plugin_nnuelab as logger_plugin
from pathlib import Path

logger_plugin.journal = Path("logs/workflow.jsonl")


rule all:
    input:
        "results/done.txt",


rule wait:
    output:
        "results/done.txt",
    log:
        "logs/wait.log",
    message:
        "Waiting; progress in {log}"
    shell:
        "echo 'wait: 1/2 steps (50%)  0.50/s' > {log}; until [ -e go ]; do sleep .1; done;"
        " if [ -e fail ]; then echo 'no luck' >> {log}; exit 1; fi; echo > {output}"
"""
RUN = ("snakemake", "--cores", "1", "--logger", "nnuelab")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    return Folder(tmp_path)


def wait_for(live, wanted):
    end = time.monotonic() + 60
    while not wanted(found := live.state()):
        assert time.monotonic() < end, found
        time.sleep(0.1)
    return found


def test_a_run_is_seen_from_its_beginning_to_its_end(folder):
    live = Live(folder.path / "results")
    process = folder.start(*RUN)
    found = wait_for(live, lambda state: state.get("running") and state["running"][0]["progress"])
    assert (found["state"], found["done"], found["total"]) == ("running", 0, 2)
    assert found["running"][0]["what"] == "Waiting"
    assert found["running"][0]["progress"] == "1/2 steps (50%)  0.50/s"
    assert folder.run(*RUN, "--dry-run")
    assert live.state()["state"] == "running"
    # Its job lives on: the lock isn't the job's.
    process.kill()
    process.wait()
    found = live.state()
    assert (found["state"], [job["what"] for job in found["broken"]]) == ("stopped", ["Waiting"])
    for name in ("fail", "go"):
        (folder.path / name).touch()
    process.communicate()  # the job has ended
    folder.run(*RUN, "--unlock")
    assert live.state()["state"] == "stopped"
    folder.run(*RUN, "--rerun-incomplete", "--quiet", "all", status=1)
    found = live.state()
    assert found["state"] == "failed"
    assert (found["broken"][0]["log"], found["broken"][0]["tail"][-1]) == (
        "logs/wait.log",
        "no luck",
    )
    (folder.path / "fail").unlink()
    folder.run(*RUN, "--rerun-incomplete")
    found = live.state()
    assert (found["state"], found["done"], found["total"]) == ("done", 2, 2)
    folder.run(*RUN)
    assert live.state()["start"] == found["start"]  # nothing was to be done
