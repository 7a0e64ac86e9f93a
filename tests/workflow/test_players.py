"""All players of the tiny chain under Snakemake and DVC: no job runs twice, none is left out.

One folder goes through all of it, so the tests run in their order (./test keeps a file's together).
"""

from __future__ import annotations

import csv
import json
import re
import shlex

import pytest
import yaml

from tests.workflow.project import NOTHING, Folder, change, ran
from tests.workflow.tiny_chain import GAMES, NETS, first_run, rerun_by_edit

pytestmark = pytest.mark.slow

# What a tuned evaluation is made into, and all before that.
TUNED = {
    f"texel_{rule}"
    for rule in ("plots", "bits", "residuals", "errors", "simplify", "export", "games", "match")
}
TEXEL = {"texel_positions", "texel_trace", "texel_tune", *TUNED}
TAUGHT = {f"policy_{rule}" for rule in ("train", "evaluate", "table")}
POLICY = {"policy_sample", "policy_label", *TAUGHT}
MATCH = {f"policy_selfplay_{rule}" for rule in ("games", "score")}
SELFPLAY = {"policy_selfplay_learn", *MATCH}
PAGE = {"policy_agreement", "report"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return first_run(tmp_path_factory.mktemp("project"))


def test_dvc_and_snakemake_do_no_job_twice(folder):
    change(folder, "train", "learning_rate", 0.00123)
    rerun = {*NETS, "cost", *GAMES, *TEXEL, *POLICY, *SELFPLAY, *PAGE}
    assert ran(folder.run("dvc", "repro")) == rerun
    assert NOTHING in folder.run("snakemake")
    assert NOTHING in folder.run("snakemake", "texel", "policy", "policy_selfplay", "report")
    assert "up to date" in folder.run("dvc", "repro")


def test_tuned_evaluations_have_played_and_stand_on_the_page(folder):
    place = folder.path / "results/texel"
    runs = yaml.safe_load((folder.path / "params.yaml").read_text())["texel"]["tuners"]
    players = {"untuned", "net", "compact", *runs}
    lines = (place / "match_table.txt").read_text().splitlines()
    assert lines[0].startswith("Rank Name")
    assert {line.split()[1] for line in lines[1:]} == players
    with open(place / "match_table.csv", newline="") as file:
        elo = {row["name"]: float(row["elo"]) for row in csv.DictReader(file)}
    assert elo.keys() == players
    assert elo["untuned"] == 0
    for name in runs:
        assert (place / name / "tuned.h").exists()
    with open(place / "filters.csv", newline="") as file:
        assert {"quiet", "score"} <= {row["filter"] for row in csv.DictReader(file)}
    assert 'id="texel-match"' in (folder.path / "results/report.html").read_text()


@pytest.mark.parametrize(
    ("edited", "rules"),
    [
        ("src/nnuelab/hce/optimizers/adam.py", {"texel_tune", *TUNED}),
        ("src/nnuelab/hce/classical.yaml", TEXEL),
        ("src/nnuelab/hce/export.py", {"texel_export"}),
        ("src/nnuelab/tournament/bayeselo.py", {"texel_match"}),
        (
            "src/nnuelab/report/texel_plots.py",
            {"texel_plots", "texel_bits", "texel_residuals", "texel_match"},
        ),
    ],
)
def test_an_edit_reruns_the_tuning_that_used_it(folder, edited, rules):
    assert rerun_by_edit(folder, edited, "texel") == rules


def test_policies_stand_in_their_table(folder):
    with open(folder.path / "results/policy_table.csv", newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    variants = yaml.safe_load((folder.path / "params.yaml").read_text())["policy"]["variants"]
    assert list(rows) == list(variants)
    for row in rows.values():
        assert 0 <= float(row["legal_first"]) <= 1
        assert 1 <= float(row["mean_tries"]) <= 4096
    assert rows["seed"]["parameters"] == "32178"


@pytest.mark.parametrize(
    ("edited", "rules"),
    [
        ("src/nnuelab/policy/losses.py", TAUGHT),
        ("src/nnuelab/policy/metrics.py", {"policy_evaluate", "policy_table"}),
        ("src/nnuelab/policy/table.py", {"policy_table"}),
    ],
)
def test_an_edit_reruns_the_policies_that_used_it(folder, edited, rules):
    assert rerun_by_edit(folder, edited, "policy") == rules


def test_policies_that_taught_themselves_met_each_opponent(folder):
    place = folder.path / "results/policy"
    selfplay = yaml.safe_load((folder.path / "params.yaml").read_text())["policy"]["selfplay"]
    for name, run in selfplay["runs"].items():
        history = (place / f"selfplay/{name}/1/history.csv").read_text().splitlines()
        assert len(history) == 1 + run["iterations"]
    with open(place / "vs_random.csv", newline="") as file:
        rows = {(row["player"], row["opponent"]): row for row in csv.DictReader(file)}
    met = {opponent for _, opponent in rows}
    assert met == {"random", "material", "untrained#1"}
    for player in (
        "seed#1",
        "gradient-1ply-novalue#1",
        "expert#1",
        "expert-1ply-novalue#1",
        "pair#1",
    ):
        for opponent in met:
            row = rows[player, opponent]
            assert row["games"] == str(selfplay["games_per_pairing"])
            assert float(row["true_low"]) <= float(row["true_score"]) <= float(row["true_high"])
            assert row["end_other"] == "0.0000"  # nobody resigns, nothing is adjudicated
    assert ("untrained#1", "untrained#1") not in rows


@pytest.mark.parametrize(
    ("edited", "rules"),
    [
        ("src/nnuelab/policy/expert.py", SELFPLAY),
        ("src/nnuelab/policy/mover.py", MATCH),
        ("src/nnuelab/tournament/baselines.py", MATCH),
        ("src/nnuelab/tournament/true_scores.py", {"policy_selfplay_score"}),
    ],
)
def test_an_edit_reruns_the_self_play_that_used_it(folder, edited, rules):
    assert rerun_by_edit(folder, edited, "policy_selfplay") == rules


@pytest.mark.parametrize("overlays", [[], ["--configfile", "config/paper.yaml"]])
def test_the_ladder_is_joined_by_what_the_same_run_makes(folder, overlays):
    results = "results-paper" if overlays else "results"
    told = folder.run("snakemake", "-n", "-p", f"{results}/ladder.csv", *overlays)
    (command,) = re.findall(r"Shell command: (nnuelab tournament .*ladder/games.*)", told)
    also = [word for word in shlex.split(command) if "={" in word]
    players = {name: json.loads(text) for name, _, text in (w.partition("=") for w in also)}
    assert players["tuned"]["hce"] == f"{results}/texel/gauss_newton/tuned.yaml"
    assert players["expert-1ply"]["policy"] == f"{results}/policy/selfplay/expert/1/net.policy"
    assert players["expert-1ply"]["plies"] == 1
    assert players["policy"]["policy"] == f"{results}/policy/nets/masked/1/net.policy"


def test_a_search_leaves_its_front_and_the_experiment_that_plays_it(folder):
    asked = {"terms": ["ALL", "H*WING"], "generations": 1, "population": 2, "positions": 1024}
    small = {"search": {**asked, "epochs": 1, "l1": 32}}
    (folder.path / "small.yaml").write_text(yaml.safe_dump(small))
    found = folder.path / "results-small/search"
    found.mkdir(parents=True)
    (found / "prices.csv").write_text("name,cost\nH*WING,1.1\n")
    overlay = "--configfile", "small.yaml"
    folder.run("snakemake", "search", *overlay)
    front = list(csv.DictReader((found / "front.csv").open()))
    assert {row["feature_set"] for row in front} <= {"ALL", "H*WING"}
    jobs = folder.would_run("results-small/search_table.csv", *overlay)
    assert jobs["table"] == 1
    assert "search" not in jobs


def test_another_experiment_trains_only_what_is_new(folder, tmp_path):
    """DVC records it, too, so that a clone that has pulled has nothing to do."""
    told = folder.run("snakemake", "results/pqr_table.csv")
    # What learns from moves has positions of its own.
    assert ran(told) == {*NETS, *GAMES, "sample_moves", "label_moves"}
    assert re.findall(r"Training (\S+), seed", told) == ["ALL,tuned"]
    with open(folder.path / "results/pqr_table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["variant"] for row in rows] == ["scores", "tuned"]
    assert rows[1]["val_loss_mean"] == ""
    # A node of theirs costs the same, so there are no games at equal cost.
    assert all(row["elo"] and row["elo_time"] and not row["elo_cost"] for row in rows)
    record = folder.path / "results/nets/ALL,tuned/1/checkpoint.pt.json"
    inputs = json.loads(record.read_text())["inputs"]
    assert inputs["from"]["path"] == "results/nets/ALL/1/checkpoint.pt"
    assert inputs["train"]["path"] == "results/data/moves/train.npy"

    others = yaml.safe_load((folder.path / "params.yaml").read_text())["experiments"].keys()
    assert folder.would_run("all_experiments")["table"] == len(others - {"axis", "pqr"})
    overlay = ["--configfile", "config/paper.yaml"]
    assert "results-paper/axis_table.csv" in folder.run("snakemake", "-n", "all", *overlay)

    # Nothing is trained again, and the report has what is new.
    change(folder, None, "report", ["axis", "pqr"])
    assert ran(folder.run("dvc", "repro")) == {"pqr", *PAGE}
    folder.run("dvc", "remote", "add", "--default", "store", str(tmp_path / "store"))
    folder.commit()
    folder.run("dvc", "push")
    folder.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    clone = Folder(tmp_path / "clone")
    clone.run("dvc", "pull")
    assert clone.would_run() == {}
    assert clone.would_run("results/axis_table.csv", "data", "nets", "tournaments") == {}
    # No stage has this table; what it and the page are made of has been pulled.
    remade = clone.would_run("results/pqr_table.csv", "report")
    assert remade in ({"table": 1}, {"table": 1, "report": 1})


def test_the_report_shows_what_nets_know_of_the_moves_played(folder):
    """Of an experiment whose nets learn from them."""
    with open(folder.path / "results/statistics/pqr/pqr.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["net"] for row in rows][:2] == ["ALL,scores#1", "ALL,tuned#1"]
    assert rows[-1]["net"] == "material"
    assert (folder.path / "results/statistics/pqr/pqr.svg").read_text().startswith("<svg")
    page = (folder.path / "results/report.html").read_text()
    assert "pqr-pqr" in page
    assert "axis-pqr" not in page
