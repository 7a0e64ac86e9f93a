"""What `nnuelab serve` says of a run: by journals as runs leave them, by files of jobs."""

from __future__ import annotations

import csv
import json
import time

import pytest

from nnuelab import runs
from nnuelab.data.journal import Journal
from nnuelab.discovery import history
from nnuelab.report.live import Live
from nnuelab.tournament.summary import Summary

NAMES = ["ALL#1", "H+V#1"]
PGN = "results/tournament/axis.pgn"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "results" / "tournament").mkdir(parents=True)
    return tmp_path


@pytest.fixture
def tell(folder):
    """Writes entries of a run, which lives until it is closed."""
    run = runs.Journal(
        runs.journal_of(folder / "results"),
        {"event": "run", "at": time.time() - 60, "jobs": {"a": 2, "total": 2}, "cores": 1}
        | {"usual": {"a": 100.0}},
    )

    def begin(number, what="Work", log="", output=(), rule="a"):
        entry = {"event": "job", "at": time.time() - 30, "id": number, "rule": rule, "what": what}
        run.add(entry | {"log": log, "output": list(output), "threads": 1})

    def end(number, event="finished"):
        run.add({"event": event, "at": time.time(), "id": number})

    begin.end, begin.close = end, run.close
    yield begin
    run.close()


def state(folder):
    found = Live(folder / "results").state()
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    return found


def test_before_any_run_there_is_none(folder):
    assert Live(folder / "results").state() == {"state": "none"}
    assert not Live(folder / "results").has_run
    runs.journal_of(folder / "results").parent.mkdir()
    runs.journal_of(folder / "results").write_text("{\n")
    assert Live(folder / "results").state() == {"state": "none"}


def test_a_run_tells_its_jobs_and_when_it_will_be_done(folder, tell):
    log = folder / "logs" / "a.log"
    log.write_text("first\nwork: 5/10 games (50%)  0.10/s  ETA 0:00:30\n")
    tell(1, "Games", "logs/a.log")
    found = state(folder)
    assert (found["state"], found["done"], found["total"]) == ("running", 0, 2)
    assert found["seconds"] == pytest.approx(60, abs=5)
    (job,) = found["running"]
    assert (job["what"], job["log"]) == ("Games", "logs/a.log")
    assert job["progress"] == "5/10 games (50%)  0.10/s  ETA 0:00:30"
    assert job["seconds"] == pytest.approx(30, abs=5)
    assert found["left"] == pytest.approx(30 + 100, abs=10)


def test_a_run_that_ended_is_done(folder, tell):
    for number in (1, 2):
        tell(number)
        tell.end(number)
    assert state(folder)["state"] == "running"  # until its process is gone
    tell.close()
    found = state(folder)
    assert (found["state"], found["left"], found["broken"]) == ("done", None, [])


def test_a_failed_job_is_told_with_the_end_of_its_log(folder, tell):
    tell(1, "Training ALL, seed 1", "logs/train.log")
    (folder / "logs" / "train.log").write_text("".join(f"line {i}\n" for i in range(10_000)))
    tell.end(1, "failed")
    assert state(folder)["state"] == "running"  # others may go on
    tell.close()
    found = state(folder)
    assert found["state"] == "failed"
    (job,) = found["broken"]
    assert (job["what"], job["log"], job["failed"]) == (
        "Training ALL, seed 1",
        "logs/train.log",
        True,
    )
    assert job["tail"] == [f"line {i}" for i in range(9988, 10_000)]


def test_a_killed_run_has_stopped_and_names_what_ran(folder, tell):
    tell(1, "Training ALL, seed 1", "logs/train.log")
    tell.close()
    found = state(folder)
    assert (found["state"], found["running"], found["left"]) == ("stopped", [], None)
    assert [(job["what"], job["failed"]) for job in found["broken"]] == [
        ("Training ALL, seed 1", False)
    ]


def test_losses_of_each_training_by_epoch(folder, tell):
    files = [f"results/nets/{name}/1/history.csv" for name in ("ALL", "H+V")]
    for number, file in enumerate(files):
        tell(number, f"Training {number}", output=["results/x.pt", file], rule="train")
    path = folder / files[1]
    path.parent.mkdir(parents=True)
    assert state(folder)["losses"] == []  # of no epoch yet
    rows = [(epoch, 1 / epoch, 2 / epoch, 0.001) for epoch in range(1, 251)]
    live = Live(folder / "results")
    for n in (2, 249, 250):
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["epoch", "train_loss", "validation_loss", "learning_rate"])
            writer.writerows(rows[:n])
        (net,) = live.state()["losses"]
        assert (net["what"], net["epoch"]) == ("Training 1", n)
        assert (net["train"], net["last"]) == (1 / n, 2 / n)
        assert net["validation"][-1] == net["last"]
        assert n == 249 or net["validation"][:2] == [2.0, 1.0 if n == 2 else 2 / 4]
        assert len(net["validation"]) <= 100
    path.write_text("epoch,validation_loss\n1,")
    assert live.state()["losses"] == []


def pair(number, points):
    first, second = NAMES
    told = {"first": first, "second": second, "points": points, "troubles": {}}
    return {"pair": number, "games": ["", ""], "outcome": told}


def test_the_table_of_a_tournament_fills(folder, tell):
    tell(1, "Games of axis", output=[PGN])
    live = Live(folder / "results")
    assert live.state()["games"] == []
    partial = folder / f"{PGN}.partial"
    expected = Summary(NAMES)
    with Journal(partial, {"players": [[name, {}] for name in NAMES]}) as journal:
        for number, points in enumerate([[2, 1], [1, 1], [2, 0], [2, 2]]):
            entry = pair(number, points)
            journal.append(entry)
            expected.add(entry["outcome"])
            (table,) = live.state()["games"]
            assert table["what"] == "Games of axis"
            assert {p.pop("name"): p for p in table["players"]} == {
                name: expected.scores[name].told() for name in NAMES
            }
        with partial.open("ab") as file:
            line = json.dumps(["checksum", pair(9, [0, 0])]).encode() + b"\n"
            file.write(line[:20])  # being written
            file.flush()
            assert live.state()["games"][0]["players"][0]["games"] == 8
            file.write(line[20:])
            file.flush()
            assert live.state()["games"][0]["players"][0]["games"] == 10
        journal.append(pair(10, [0, 0]))  # the tournament could write all the while
    players = live.state()["games"][0]["players"]
    assert [(p["name"], p["games"]) for p in players] == [("H+V#1", 12), ("ALL#1", 12)]  # by score
    # Of other settings: the file begins anew.
    partial.unlink()
    with Journal(partial, {"players": [[name, {}] for name in NAMES], "code": "other"}) as journal:
        assert live.state()["games"][0]["players"][0]["games"] == 0
        journal.append(pair(0, [0, 0]))
        first = live.state()["games"][0]["players"][0]
        assert (first["name"], first["games"], first["elo"]) == ("H+V#1", 2, None)


def test_the_table_of_a_finished_tournament_is_that_of_its_record(folder, tell):
    tell(1, "Games of axis", output=[PGN])
    summary = Summary(NAMES)
    summary.add(pair(0, [2, 1])["outcome"])
    record = {"sha256": "0" * 64, "inputs": {}, "parameters": {}, "summary": summary.told()}
    (folder / f"{PGN}.json").write_text(json.dumps(record))
    assert state(folder)["games"] == []  # of an earlier run, while this one plays
    tell.end(1)
    (table,) = state(folder)["games"]
    assert [(p["name"], p["games"], p["wins"]) for p in table["players"]] == [
        ("ALL#1", 2, 1),
        ("H+V#1", 2, 0),
    ]


def test_a_search_tells_what_it_has_tried(folder, tell):
    tell(1, "Search for feature sets", output=["results/search/history.csv"])
    (folder / "results" / "search").mkdir()
    rows = [
        history.Row(i, 0, rung, name, "block", "", 768, 2.0, 1.0 + i, loss)
        for i, rung, name, loss in (
            *((0, 0, "ALL", 0.02), (1, 0, "H+V", 0.01), (2, 0, "KING*ALL", float("inf"))),
            *((0, 1, "ALL", 0.018), (1, 1, "H+V", 0.009)),
        )
    ]
    (folder / "results" / "search" / "history.csv").write_text(history.to_csv(rows))
    (folder / "results" / "search" / "front.csv").write_text(history.to_csv(history.front(rows)))
    (search,) = state(folder)["searches"]
    assert (search["what"], search["sets"]) == ("Search for feature sets", 3)
    assert [(row["name"], row["cost"], row["loss"]) for row in search["front"]] == [
        ("ALL", 1.0, 0.018),
        ("H+V", 2.0, 0.009),
    ]


@pytest.mark.parametrize(
    "odd", [[], {"troubles": []}, {"points": [1e999, 0]}, {"first": {}}, {"points": "ab"}]
)
def test_an_odd_line_of_a_journal_costs_itself_only(folder, tell, odd):
    tell(1, "Games of axis", log="logs/\0", output=[PGN])
    outcome = odd and {**pair(0, [1, 1])["outcome"], **odd}
    with Journal(folder / f"{PGN}.partial", {"players": [[n, {}] for n in NAMES]}) as journal:
        journal.append({"outcome": outcome})
        journal.append(pair(1, [2, 1]))
        with journal.path.open("ab") as file:
            file.write(b"[" * 100_000 + b"\n")
        assert state(folder)["games"][0]["players"][0]["games"] >= 2
    with runs.journal_of(folder / "results").open("ab") as file:
        file.write(b"[" * 100_000 + b"\n")
    tell.end(1, "failed")
    assert state(folder)["broken"][0]["tail"] == []


@pytest.mark.parametrize("place", ["outside.log", "../outside.log", "logs/../outside.log", "ABS"])
def test_no_file_but_results_and_logs_is_read(folder, tell, place):
    outside = folder / "outside.log"
    outside.write_text("secret\n")
    tell(1, "Work", str(outside) if place == "ABS" else place)
    tell.end(1, "failed")
    tell.close()
    found = state(folder)
    assert found["broken"][0]["tail"] == []
    assert "secret" not in json.dumps(found)
