"""What a run shows: its jobs and when it will be done, on a terminal and elsewhere."""

from __future__ import annotations

import io
import logging
import sys
from types import SimpleNamespace

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

import snakemake_logger_plugin_nnuelab as plugin
from nnuelab import runs
from nnuelab.eta import USUAL, Eta

SETTINGS = {
    **dict.fromkeys(("dryrun", "verbose", "debug_dag", "nocolor", "stdout"), False),
    **{"quiet": set(), "show_failed_logs": True, "printshellcmds": True},
}


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self):
        return True


@pytest.fixture
def screen(monkeypatch):
    """Makes a handler and the stream that it writes to."""

    def make(stream, **settings):
        monkeypatch.setattr(sys, "stderr", stream)
        return plugin.LogHandler(SimpleNamespace(**SETTINGS | settings), None)

    return make


def tell(handler, message=None, event=None, level=logging.INFO, **more):
    record = logging.LogRecord("snakemake", level, "", 0, message, (), None)
    vars(record).update(more, event=event)
    handler.handle(record)


def begin(handler, number, rule, log="", threads=1):
    what = f"Work of {rule}; progress in {log}" if log else f"Work of {rule}"
    tell(
        handler,
        event=LogEvent.JOB_INFO,
        **{"jobid": number, "rule_name": rule, "rule_msg": what, "threads": threads},
        log=[log] if log else [],
        output=[],
    )


def test_a_pipe_gets_a_line_for_each_beginning_and_end(screen):
    stream = io.StringIO()
    handler = screen(stream)
    tell(handler, "Building DAG of jobs...")
    tell(handler, "Provided cores: 2", LogEvent.RESOURCES_INFO, cores=2)
    tell(handler, "Job stats", LogEvent.RUN_INFO, stats={"train": 2, "table": 1, "total": 3})
    begin(handler, 1, "train", "logs/train.log")
    tell(handler, "nnuelab train", LogEvent.SHELLCMD)
    tell(handler, "Finished jobid: 1 (Rule: train)", LogEvent.JOB_FINISHED, job_id=1)
    tell(handler, "Complete log(s): x")
    handler.close()
    lines = [line.partition("] ")[2] for line in stream.getvalue().splitlines()]
    first, began, done = lines
    assert first.startswith("3 jobs; about 0:0")
    assert began == "train: Work of train (logs/train.log)"
    assert done.startswith("1/3 jobs")
    assert done.endswith(": train, 0:00:00, done")


def test_a_terminal_shows_the_jobs_that_run_and_the_whole(screen, tmp_path):
    handler = screen(Terminal())
    tell(handler, "Job stats", LogEvent.RUN_INFO, stats={"train": 2, "table": 1, "total": 3})
    log = tmp_path / "train.log"
    begin(handler, 1, "train", str(log))
    log.write_text("train: 50/100 positions (50%)  10.0/s  ETA 0:00:05\n")
    handler._hide()
    with handler._console.capture() as captured:
        handler._console.print(handler._screen())
    job, whole = captured.get().splitlines()
    assert "Work of train" in job
    assert "50/100 positions (50%)" in job
    assert "0/3 jobs, ETA" in whole


def test_errors_are_told_in_snakemakes_words(screen, tmp_path):
    stream = io.StringIO()
    handler = screen(stream, quiet={plugin.Quietness.PROGRESS, plugin.Quietness.RULES})
    log = tmp_path / "train.log"
    log.write_text("nnuelab: error: no positions\n")
    error = {"rule_name": "train", "rule_msg": "m", "jobid": 1, "input": [], "output": ["net"]}
    error |= {"log": [str(log)], "conda_env": None, "shellcmd": "nnuelab train", "aux": {}}
    tell(handler, "Error in rule", LogEvent.JOB_ERROR, logging.ERROR, **error)
    tell(handler, "Complete log(s): x")
    told = stream.getvalue()
    assert "Error in rule train" in told
    assert "nnuelab: error: no positions" in told
    assert "Complete log(s): x" in told


def test_dry_runs_have_all_of_snakemakes_words(screen):
    stream = io.StringIO()
    handler = screen(stream, dryrun=True)
    tell(handler, "Building DAG of jobs...")
    tell(handler, "nnuelab train", LogEvent.SHELLCMD, cmd="nnuelab train")
    assert stream.getvalue() == "Building DAG of jobs...\nnnuelab train\n"


@pytest.mark.parametrize("settings", [{}, {"quiet": {plugin.Quietness.ALL}}, {"verbose": True}])
def test_every_run_has_a_journal(screen, tmp_path, monkeypatch, settings):
    path = tmp_path / "logs" / "workflow.jsonl"
    monkeypatch.setattr(plugin, "journal", path)
    monkeypatch.setitem(USUAL, "train", 30)
    handler = screen(io.StringIO(), **settings)
    begin(handler, 9, "train")  # of a job's own process, which plans no run
    tell(handler, "Provided cores: 2", LogEvent.RESOURCES_INFO, cores=2)
    tell(handler, "Job stats", LogEvent.RUN_INFO, stats={"train": 3, "total": 3})
    for number in (1, 2, 3):
        begin(handler, number, "train", "logs/train.log")
    tell(handler, "Finished", LogEvent.JOB_FINISHED, job_id=1)
    error = {"rule_name": "train", "rule_msg": "m", "input": [], "output": [], "log": []}
    error |= {"conda_env": None, "shellcmd": "nnuelab train", "aux": {}}
    tell(handler, "Error", LogEvent.JOB_ERROR, logging.ERROR, jobid=2, **error)
    run = runs.Run()
    assert runs.replay(path, run)
    assert list(run.jobs) == [1, 2, 3]
    assert (run.eta.total, run.eta.done, run.eta.cores) == (3, 1, 2)
    assert [job.what for job in (*run.failed, *run.running)] == ["Work of train"] * 2
    assert str(run.jobs[3].log) == "logs/train.log"
    handler.close()
    assert not runs.replay(path, runs.Run())


def test_a_dry_run_has_no_journal(screen, tmp_path, monkeypatch):
    path = tmp_path / "workflow.jsonl"
    monkeypatch.setattr(plugin, "journal", path)
    handler = screen(io.StringIO(), dryrun=True)
    tell(handler, "Job stats", LogEvent.RUN_INFO, stats={"train": 1, "total": 1})
    assert not path.exists()


def test_a_misspelt_target_gets_the_nearest(screen, monkeypatch):
    monkeypatch.setattr(plugin, "targets", {"pairwise": "results/pairwise_table.csv"})
    stream = io.StringIO()
    handler = screen(stream)
    words = "No rule to produce {} (if you use input functions make sure that)."
    for name in ("pairwse", "xyz"):
        tell(handler, words.format(name), LogEvent.ERROR, logging.ERROR)
    assert stream.getvalue().splitlines() == [
        "there is no target pairwse; did you mean results/pairwise_table.csv?",
        "there is no target xyz; ./run --list has them",
    ]


def test_eta_is_what_is_usual_until_jobs_are_measured(monkeypatch):
    monkeypatch.setitem(USUAL, "train", 30)
    monkeypatch.setitem(USUAL, "tournament", 500)
    eta = Eta()
    eta.plan({"train": 4, "tournament": 1, "total": 5})
    eta.cores = 2
    usual = (4 * USUAL["train"] + USUAL["tournament"]) / 2
    assert eta.left() == usual
    # A machine of twice the speed.
    eta.finish("train", USUAL["train"] / 2)
    assert eta.left() == pytest.approx((3 * USUAL["train"] / 2 + USUAL["tournament"] / 2) / 2)
    # A job that says how far it is.
    assert eta.left([("tournament", 30, 0.75)]) == pytest.approx((3 * USUAL["train"] / 2 + 10) / 2)
    # One that takes longer than usual.
    assert eta.left([("train", 1e6, None)]) < usual
