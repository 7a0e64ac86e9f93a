"""Experiments whose games another engine plays, with the nets of this project."""

from __future__ import annotations

import csv
import shlex
import sys

import pytest
import yaml

from tests.workflow.project import NOTHING, Folder, change, ran, tiny_project

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
    for name, text in (("my engine", ENGINE), ("tomine", COMMAND)):
        (path / name).write_text(text)
        (path / name).chmod(0o755)
    return Folder(path)


def test_this_engine_as_judge_plays_the_games_of_this_engine(folder):
    told = folder.run("snakemake", "results/judged_table.csv", GAMES["axis"], **OWN)
    assert {"engine_net", "tournament", "table"} <= ran(told)
    ours, judged = ((folder.path / games).read_text() for games in GAMES.values())
    assert ours == judged
    with open(folder.path / "results/judged_table.csv", newline="") as file:
        rows = {row["feature_set"]: row for row in csv.DictReader(file)}
    assert rows.keys() == {"ALL", "H+V"}
    assert rows["H+V"]["elo"]
    assert rows["H+V"]["elo_error_games"]
    assert not rows["H+V"]["elo_cost"]


def test_a_command_s_words_stay_words(folder):
    told = (folder.path / "command.txt").read_text().splitlines()
    assert told[0] == "$(touch pwned) ;"
    assert told[1].startswith("results/nets/")
    assert told[2].startswith("results/tournament/nets/judged/")
    assert not (folder.path / "pwned").exists()


def test_another_engine_plays_anew_and_another_net_file_is_made_anew(folder):
    assert NOTHING in folder.run("snakemake", "-n", "results/judged_table.csv", **OWN)
    with (folder.path / "my engine").open("a") as file:
        file.write("# built again\n")
    assert folder.would_run(GAMES["judged"], **OWN) == {"tournament": 1}
    (folder.path / NET).unlink()
    assert folder.would_run(GAMES["judged"], **OWN) == {"engine_net": 1, "tournament": 1}
    assert NOTHING in folder.run("snakemake", "-n", GAMES["axis"], **OWN)


def test_what_can_t_be_judged_is_told_before_any_job(folder):
    for key, value, said in (
        ("engine", "./missing", "experiments.judged.tournament.engine: there is no file ./missing"),
        ("engine", "'open", 'engine: "\'open": No closing quotation'),
        ("net_command", "./tomine {net}", "net_command needs {file}"),
        ("cost_games_per_pairing", 8, "give costs, or cost_games_per_pairing: 0"),
        ("net_file", "../mine.nnue", "net_file"),
    ):
        before = (folder.path / "params.yaml").read_text()
        experiments = yaml.safe_load(before)["experiments"]
        experiments["judged"]["tournament"][key] = value
        change(folder, None, "experiments", experiments)
        assert said in folder.run("snakemake", "-n", GAMES["judged"], status=1, **OWN), key
        (folder.path / "params.yaml").write_text(before)
