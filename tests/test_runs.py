"""The journal of a run: what is told is replayed, a dead run is known, nothing harms a run."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from nnuelab import runs

BEGIN = {
    **{"event": "run", "at": 1000.0, "jobs": {"train": 2, "table": 1, "total": 3}},
    **{"cores": 2, "usual": {"train": 40.0}},
}


def job(number, at=1001.0, **more):
    told = {"rule": "train", "what": f"Training {number}", "log": "", "output": [], "threads": 1}
    return {"event": "job", "at": at, "id": number, **told, **more}


def end(number, event="finished", at=1011.0):
    return {"event": event, "at": at, "id": number}


def replayed(path):
    run = runs.Run()
    return runs.replay(path, run), run


def test_a_journal_says_what_was_told(tmp_path):
    path = tmp_path / "logs" / "workflow.jsonl"
    journal = runs.Journal(path, BEGIN)
    for entry in (job(1), job(2), end(1), job(3), end(2, "failed", 1021.0)):
        journal.add(entry)
    alive, run = replayed(path)
    assert alive
    assert (run.start, run.last, run.eta.done, run.eta.total, run.eta.cores) == (
        1000,
        1021,
        1,
        3,
        2,
    )
    assert [j.what for j in run.running] == ["Training 3"]
    assert [j.what for j in run.failed] == ["Training 2"]
    assert run.jobs[1].seconds == 10
    journal.close()
    assert not replayed(path)[0]


def test_a_job_that_is_tried_again_has_not_failed(tmp_path):
    run = runs.Run()
    for entry in (BEGIN, job(1), end(1, "failed"), job(1, 1012.0)):
        run.take(entry)
    assert run.failed == []
    assert run.eta.done == 0
    run.take(end(1, at=1020.0))
    run.take(end(1, at=1030.0))  # told twice
    assert (run.eta.done, run.jobs[1].seconds) == (1, 8)


def test_a_clock_that_is_set_back_takes_no_time_off():
    run = runs.Run()
    for entry in (BEGIN, job(1, 1010.0), end(1, at=1000.0)):
        run.take(entry)
    assert run.jobs[1].seconds == 0
    assert run.left() >= 0


def test_a_job_ends_by_what_is_known_alone():
    run = runs.Run()
    for entry in (BEGIN, job(5)):
        run.take(entry)
    with pytest.raises(ValueError, match="paused"):
        run.take({"event": "paused", "at": 1020.0, "id": 5})
    assert [one.end for one in run.running] == [None]


def test_what_is_usual_comes_from_the_journal():
    run = runs.Run()
    run.take(BEGIN)
    assert run.left() == pytest.approx((2 * 40 + 5) / 2)


def test_a_killed_process_is_no_run_that_lives(tmp_path):
    path = tmp_path / "workflow.jsonl"
    code = (
        "import json, sys, time; from pathlib import Path; from nnuelab import runs\n"
        "j = runs.Journal(Path(sys.argv[1]), json.loads(sys.argv[2])); print(flush=True)\n"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(path), json.dumps(BEGIN)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert replayed(path)[0]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        alive, run = replayed(path)
        assert (alive, run.start) == (False, 1000)


def test_a_run_replaces_the_journal_of_the_one_before(tmp_path):
    path = tmp_path / "workflow.jsonl"
    first = runs.Journal(path, BEGIN)
    first.add(job(1))
    with open(path, "rb"):  # somebody reads it
        second = runs.Journal(path, BEGIN | {"at": 2000.0})
    first.close()
    alive, run = replayed(path)
    assert (alive, run.start, run.jobs) == (True, 2000, {})
    second.close()
    assert [file.name for file in tmp_path.iterdir()] == ["workflow.jsonl"]


def test_a_journal_that_cant_be_written_harms_no_run(tmp_path):
    (tmp_path / "logs").write_text("a file where the folder should be")
    journal = runs.Journal(tmp_path / "logs" / "workflow.jsonl", BEGIN)
    journal.add(job(1))
    journal.close()
    assert (tmp_path / "logs").is_file()


def test_an_entry_that_finds_a_full_disk_is_left_out_as_a_whole(tmp_path):
    path = tmp_path / "workflow.jsonl"
    journal = runs.Journal(path, BEGIN)
    file = journal._file
    with open("/dev/full", "wb", buffering=0) as journal._file:
        journal.add(job(1))

    class Small:
        """A disk with room for ten bytes."""

        def __getattr__(self, name):
            return getattr(file, name)

        def write(self, line):
            return file.write(line[:10])

    journal._file = Small()
    journal.add(job(2))
    journal._file = file
    journal.add(job(3))
    assert [json.loads(line)["event"] for line in path.open()] == ["run", "job"]
    assert list(replayed(path)[1].jobs) == [3]
    journal.close()


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        "1",
        '{"event": "job"}',
        json.dumps(BEGIN | {"jobs": 1}),
        json.dumps(BEGIN | {"at": float("inf")}),
        json.dumps(job(1, threads="many")),
        json.dumps(job(1, output=None)),
        json.dumps(job([1])),
        '{"event": "finished", "at": 1, "id": 9}',
        "\x00\xff",
    ],
)
def test_lines_that_are_no_entries_are_left_out(tmp_path, line):
    path = tmp_path / "workflow.jsonl"
    path.write_bytes(b"\n".join([json.dumps(BEGIN).encode(), line.encode(), b""]))
    with path.open("a") as file:
        file.write(json.dumps(job(5)) + "\n")
    _, run = replayed(path)
    assert (run.eta.total, list(run.jobs)) == (3, [5])


def test_progress_is_of_this_run(tmp_path):
    log = tmp_path / "train.log"
    log.write_text("other\ntrain: 50/100 positions (50%)  10.0/s  ETA 0:00:05\n")
    begun = log.stat().st_mtime
    found = runs.Job("train", "Training", log, [], 1, begun)
    assert found.progress() == "50/100 positions (50%)  10.0/s  ETA 0:00:05"
    assert found.share() == 0.5
    assert runs.Job("train", "Training", log, [], 1, begun + 2).progress() == ""
    assert runs.Job("train", "Training", tmp_path / "none", [], 1, begun).progress() == ""
