"""Experiments whose games another engine plays, with the nets of this project."""

from __future__ import annotations

import csv
import json
import shlex
import shutil
import sys

import pytest

from nnuelab.nnue.netfile import DEFAULT_NET
from nnuelab.report import table
from tests.workflow.project import NOTHING, Folder, ran, tiny_project

ENGINE = f"#!/bin/sh\nexec {shlex.quote(sys.executable)} -m nnuelab.cli uci\n"
# Also tells how it was called.
COMMAND = '#!/bin/sh\nprintf "%s\\n" "$@" > command.txt\ncp "$2" "$3"\n'
GAMES = {name: f"results/tournament/{name}.pgn" for name in ("axis", "judged")}
OWN = {"PYTHONPATH": "src"}  # an edit of the working tree meanwhile is no reason to run again
NET = "results/tournament/nets/judged/ALL/1/mine.nnue"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The project at tiny scale, where this engine is the judge, and gets copies of nets."""
    with tiny_project(tmp_path_factory.mktemp("project")) as (path, settings):
        axis = {"feature_sets": ["ALL", "H+V"], "seeds": [1], "anchor": "ALL"}
        axis["nets"] = {"all,mine": "my net.nnue"}
        judge = {
            "engine": "'./my engine' --quietly",
            "net_option": "evalfile",
            "engine_options": {"Move Overhead": 20},
            "net_command": "./tomine '$(touch pwned) ;' {net} {file}",
            "net_file": "mine.nnue",
            "cost_games_per_pairing": 0,
            "nodes_deep": 0,
            "check_time": False,
        }
        settings["experiments"] = {"axis": axis, "judged": {**axis, "tournament": judge}}
    shutil.copy(DEFAULT_NET, path / "my net.nnue")
    for name, text in (("my engine", ENGINE), ("tomine", COMMAND)):
        (path / name).write_text(text)
        (path / name).chmod(0o755)
    return Folder(path)


def test_this_engine_as_judge_plays_the_games_of_this_engine(folder):
    told = folder.run("snakemake", "results/judged_table.csv", GAMES["axis"], **OWN)
    assert {"import_net", "engine_net", "tournament", "table"} <= ran(told), told
    ours, judged = ((folder.path / games).read_text() for games in GAMES.values())
    assert ours == judged
    with open(folder.path / "results/judged_table.csv", newline="") as file:
        rows = {table.entry(row): row for row in csv.DictReader(file)}
    assert list(rows) == ["ALL", "H+V", "ALL,mine"]
    assert rows["ALL,mine"]["elo"]
    assert rows["ALL,mine"]["l1"] == "256"
    assert not rows["ALL,mine"]["val_loss_mean"]
    assert rows["H+V"]["elo"]
    assert rows["H+V"]["elo_error_games"]
    assert not rows["H+V"]["elo_cost"]


def test_a_command_s_words_stay_words(folder):
    told = (folder.path / "command.txt").read_text().splitlines()
    assert told[0] == "$(touch pwned) ;"
    assert told[1].startswith("results/nets/")
    assert told[2].startswith("results/tournament/nets/judged/")
    assert not (folder.path / "pwned").exists()


def test_sequential_tests_of_an_experiment_are_played_by_its_engine(folder):
    tables = {name: f"results/sprt/{name}.csv" for name in ("axis", "judged")}
    told = folder.run("snakemake", *tables.values(), **OWN)
    assert ran(told) == {"sprt_games", "sprt_table"}
    ours, judged = ((folder.path / file).read_text() for file in tables.values())
    assert ours == judged
    rows = list(csv.DictReader(ours.splitlines()))
    assert [(row["player"], row["opponent"]) for row in rows] == [
        ("H+V#1", "ALL#1"),
        ("ALL,mine#1", "ALL#1"),
    ]
    for row in rows:
        low, high = float(row["lower"]), float(row["upper"])
        assert (low, high) == (-2.94, 2.94)
        decided = not low < float(row["llr"]) < high
        assert bool(row["verdict"]) == decided
        assert decided or row["games"] == "120"
    # A net of a real training is stronger than one of a moment, and that is soon clear.
    assert rows[1]["verdict"] == "elo1"
    assert int(rows[1]["games"]) < 120
    games = "results/tournament/sprt/{}/ALL,mine/1.pgn"
    texts = [(folder.path / games.format(name)).read_text() for name in tables]
    assert texts[0] == texts[1]
    record = json.loads((folder.path / (games + ".json").format("judged")).read_text())
    assert "engine" in " ".join(record["inputs"])
    assert NOTHING in folder.run("snakemake", "-n", *tables.values(), **OWN)
    refused = folder.run("snakemake", "-n", "results/tournament/sprt/axis/ALL/1.pgn", status=1)
    assert "ALL/1" in refused


def test_another_engine_plays_anew_and_another_net_file_is_made_anew(folder):
    assert NOTHING in folder.run("snakemake", "-n", "results/judged_table.csv", **OWN)
    with (folder.path / "my engine").open("a") as file:
        file.write("# built again\n")
    assert folder.would_run(GAMES["judged"], **OWN) == {"tournament": 1}
    (folder.path / NET).unlink()
    assert folder.would_run(GAMES["judged"], **OWN) == {"engine_net": 1, "tournament": 1}
    assert NOTHING in folder.run("snakemake", "-n", GAMES["axis"], **OWN)


def test_a_command_that_writes_nothing_is_told_as_such(folder):
    command, file = folder.path / "tomine", folder.path / NET
    before = command.read_text()
    command.write_text("#!/bin/sh\n")
    file.unlink(missing_ok=True)
    told = folder.run("snakemake", NET, status=1, **OWN)
    command.write_text(before)
    assert "no file was written; correct tournament.net_command" in told
    folder.run("snakemake", NET, **OWN)
