"""The table of sequential tests, by the records of their games."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from nnuelab.tournament.sprt import LiveTest, Sprt, Tally


def played(path: Path, test: Sprt, half_points: list[int]) -> LiveTest:
    """Writes games that say nothing, and the record of a match that ended so."""
    live = LiveTest(test)
    for number, half in enumerate(half_points):
        live.add(number, half)
    path.write_text("")
    summary = {"sprt": live.told(), "players": {"H+V,wide#1": {}, "ALL#1": {}}}
    record = {"sha256": "0" * 64, "summary": summary}
    path.with_name(f"{path.name}.json").write_text(json.dumps(record))
    return live


def table(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nnuelab.cli", "sprt-table", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_row_says_what_the_test_said(tmp_path: Path) -> None:
    ended, open_ = tmp_path / "a.pgn", tmp_path / "b.pgn"
    live = played(ended, Sprt(0, 40, 0.05, 0.1), [2, 3, 4] * 200)
    played(open_, Sprt(-5, 0), [1, 2, 3])
    done = table(ended, open_, "--csv", tmp_path / "table.csv")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "table.csv").read_text() == done.stdout
    record = json.loads((tmp_path / "table.csv.json").read_text())
    assert len(record["inputs"]) == 2
    first, second = csv.DictReader(done.stdout.splitlines())
    assert (first["player"], first["opponent"]) == ("H+V,wide#1", "ALL#1")
    assert (first["elo0"], first["elo1"], first["model"]) == ("0", "40", "logistic")
    assert first["verdict"] == "elo1"
    assert live.end is not None
    assert int(first["games"]) == 2 * live.end < 1200
    assert Tally([*map(int, first["counts"].split())]) == live.tally
    assert first["llr"] == f"{live.told()['llr']:.2f}"
    assert (first["lower"], first["upper"]) == ("-2.25", "2.89")
    assert first["elo"] == f"{live.tally.elo()[0]:.1f}"
    assert (second["verdict"], second["games"]) == ("", "6")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"sprt": None}, "tells of no sequential test (sprt); play with"),
        ({"sprt": {"elo0": 9}}, "elo0 9 must be less than elo1 5"),
        ({"sprt": {"counts": [1, 2]}}, "tells of no sequential test (sprt.counts)"),
        ({"sprt": {"counts": [-1, 0, 9, 0, 1]}}, "tells of no sequential test (sprt.counts.0)"),
        ({"sprt": {"verdict": "won"}}, "tells of no sequential test (sprt.verdict)"),
        ({"players": {"a": {}}}, "tells of no sequential test (players)"),
    ],
)
def test_other_records_are_refused_in_one_line(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    pgn = tmp_path / "a.pgn"
    played(pgn, Sprt(), [1, 2, 3])
    path = tmp_path / "a.pgn.json"
    record = json.loads(path.read_text())
    for key, value in change.items():
        old = record["summary"][key]
        record["summary"][key] = {**old, **value} if key == "sprt" and value else value
    path.write_text(json.dumps(record))
    done = table(pgn)
    assert done.returncode == 1
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1
    path.unlink()
    assert "can't read" in table(pgn).stderr
