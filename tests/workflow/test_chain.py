"""The tiny chain under Snakemake and DVC: no job runs twice, and none that has to run is left out.

One folder goes through all of it, so the tests run in their order (./test keeps a file's together).
"""

from __future__ import annotations

import base64
import csv
import json
import re
import shlex
import subprocess
from urllib.parse import quote

import pytest
import yaml

from nnuelab.tournament import yardsticks
from tests.workflow.project import NOTHING, ROOT, Folder, change, ran, tiny_project

NETS = ("train", "quantize", "verify")
GAMES = ("puzzles", "tournament", "rate", "table")
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
CHAIN = {"download", "sample", "label", "count", "cost", *NETS, *GAMES}

# A feature block of a user's own, outside the package.
BLOCK = '''
from nnuelab.features import COLORS, ROLES, Concept, file_of, piece_square

WINGS = Concept("WINGS", ("queenside", "kingside"))


@piece_square("WING", WINGS, ROLES, COLORS)
def wing(square, role, color):
    """A piece of role r and colour c stands on a wing."""
    return file_of(square) // 4, role, color
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The project at tiny scale with a block of the user's own, after its first run."""
    with tiny_project(tmp_path_factory.mktemp("project")) as (path, settings):
        experiments = settings["experiments"]
        experiments["axis"]["feature_sets"] = ["ALL", "H*WING"]
        variants = experiments["pqr"]["variants"]
        experiments["pqr"]["variants"] = {name: variants[name] for name in ("scores", "tuned")}
        del experiments["pqr"]["spreads"]
        settings["blocks"] = ["wing.py"]
    (path / "wing.py").write_text(BLOCK)
    folder = Folder(path)
    folder.git("init", "--quiet")
    folder.commit()
    first = folder.run("snakemake")
    assert ran(first) == CHAIN
    last = re.search(
        r"^Next: ./run report.*\nresults/axis_table.csv: ((.*\n)+)\Z", first, re.MULTILINE
    )
    assert "H*WING" in last[1]
    folder.commit()
    return folder


def rerun_by_edit(folder, edited, *targets):
    """Rules that an edit of a file of the package makes run again."""
    path = folder.path / edited
    before = path.read_bytes()
    path.write_bytes(before + b"\n# edited\n")
    try:
        return set(folder.would_run(*targets, PYTHONPATH=str(folder.path / "src")))
    finally:
        path.write_bytes(before)


def test_first_run_leaves_a_table_of_every_set(folder):
    with open(folder.path / "results/axis_table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["feature_set"] for row in rows] == ["ALL", "H*WING"]
    for row in rows:
        for column, value in row.items():
            unknown = row["feature_set"] == "ALL" and column.startswith("p_")  # of the anchor
            assert value or unknown or column.startswith("published"), column
    assert "H\\*WING" in (folder.path / "results/axis_table.md").read_text()


def test_second_run_has_nothing_to_do(folder):
    assert NOTHING in folder.run("snakemake", "results/axis_table.csv")


def test_each_generation_plays_with_the_net_of_the_one_before(folder):
    told = folder.run("snakemake", "-n", "-p", "generations")
    assert folder.would_run("generations") == {
        **{f"generation_{stage}": 2 for stage in ("games", "sample", "label", *NETS)},
        **{"generation_tournament": 1, "generation_rate": 1},
    }
    calls = re.findall(r"nnuelab datagen +(.*--output \S+)", told)
    net = "results/selfplay/1/1/net.nnue"
    assert calls == [
        "--output results/selfplay/1/games-1.pgn.zst",
        f"--net {net} --output results/selfplay/2/games-1.pgn.zst",
    ]
    assert f"0=default 1={net} 2=results/selfplay/2/1/net.nnue" in told


def test_the_report_is_made_once(folder):
    assert ran(folder.run("snakemake", "report")) == {"report"}
    assert NOTHING in folder.run("snakemake", "report")
    page = (folder.path / "results/report.html").read_text()
    digest = json.loads((folder.path / "results/axis_table.csv.json").read_text())["sha256"]
    assert digest[:16] in page


@pytest.mark.parametrize(
    ("changed", "jobs"),
    [
        ("tournament/axis_ratings.csv", {"table": 1, "report": 1}),
        ("tournament/time/axis_ratings.csv", {"table": 1, "report": 1}),
        ("nets/ALL/1/history.csv", {"table": 1, "report": 1}),
        ("nets/ALL/1/puzzles.csv", {"report": 1}),
        ("data/sample_report.json", {"report": 1}),
        ("statistics/ALL.csv", {"table": 1, "report": 1}),
    ],
)
def test_the_report_is_out_of_date_when_an_input_changes(folder, changed, jobs):
    path = folder.path / "results" / changed
    before = path.read_bytes()
    path.write_bytes(before + b"\n")
    try:
        assert folder.would_run("report") == jobs
    finally:
        path.write_bytes(before)


def test_the_report_is_out_of_date_when_an_answer_changes(folder):
    path, source = folder.path / "docs/answers.md", {"PYTHONPATH": "src"}
    before = path.read_text()
    assert folder.would_run("report", **source) == {}
    path.write_text(before.replace("Can lines stand for squares?", "Can they?"))
    try:
        assert folder.would_run("report", **source) == {"report": 1}
    finally:
        path.write_text(before)


def test_snakemakes_own_report_has_tables_and_figures(folder):
    folder.run("snakemake", "report", "--report", "results/snakemake.html")
    made = (folder.path / "results/snakemake.html").read_text()
    figures = sorted((folder.path / "results/report/figures").glob("*.svg"))
    assert {"axis-elo.svg", "axis-puzzles-theme.svg", "data-mobility.svg"} <= {
        path.name for path in figures
    }
    tables = [
        folder.path / "results" / name
        for name in ("axis_table.csv", "tournament/axis_ratings.csv", "nets/ALL/1/puzzles.csv")
    ]
    for path in [*tables, *figures]:
        assert base64.b64encode(path.read_bytes()).decode() in made, path
    assert "Elo relative to ALL" in made  # a caption, with the experiment's anchor


def test_embedded_games_and_openings_are_remade_only_when_asked_for(folder):
    made = json.loads((ROOT / "resources/embedded/games.pgn.zst.json").read_text())["command"]
    told = folder.run("snakemake", "-n", "-p", "-s", "resources/make/Snakefile")
    options = made.partition("games.pgn.zst ")[2]
    assert f"--output results/embedded/games.pgn.zst {options}" in told
    assert "python resources/make/book.py results/embedded/openings.epd.gz" in told
    assert "python resources/make/puzzles.py resources/embedded/games.pgn.zst" in told


def test_a_new_record_of_the_embedded_games_is_looked_at(folder):
    record = folder.path / "resources/embedded/games.pgn.zst.json"
    before = record.read_bytes()
    record.write_bytes(before + b"\n")
    try:
        assert "download" in folder.would_run()
    finally:
        record.write_bytes(before)


def test_of_results_only_the_published_ones_are_in_git(folder):
    tracked = subprocess.run(
        ["git", "ls-files", "results*", ".snakemake", "logs*"],
        cwd=folder.path,
        capture_output=True,
        text=True,
        check=True,
    )
    names = tracked.stdout.split()
    assert "results/published/axis_table.csv" in names
    assert all(name.startswith(("results/published/", "results/README.md")) for name in names)


@pytest.mark.parametrize(
    ("edited", "rules"),
    [
        ("src/nnuelab/nnue/losses.py", {*NETS, "cost", *GAMES}),
        ("src/nnuelab/engine/search.py", {"cost", *GAMES}),
        ("src/nnuelab/tournament/nets.py", set(GAMES)),
        ("src/nnuelab/tournament/external.py", set()),
        ("src/nnuelab/tournament/ratings.py", {"rate", "table"}),
        ("src/nnuelab/tournament/puzzle_scores.py", {"puzzles", "table"}),
        ("src/nnuelab/features/text.py", {"count", "cost", *NETS, *GAMES}),
        ("src/nnuelab/data/sampling.py", CHAIN - {"download"}),
        ("src/nnuelab/report/published.csv", {"table"}),
        ("src/nnuelab/progress.py", set()),
        ("src/nnuelab/features/blocks/lines.py", set()),
    ],
)
def test_an_edit_of_the_package_reruns_what_used_it(folder, edited, rules):
    assert rerun_by_edit(folder, edited) == rules


def test_an_edit_of_a_users_block_reruns_the_nets_that_use_it(folder):
    try:
        (folder.path / "wing.py").write_text(BLOCK + "\n# a comment is no edit\n")
        assert folder.would_run() == {}
        (folder.path / "wing.py").write_text(BLOCK.replace("// 4", "// 4 ^ 1"))
        jobs = folder.would_run()
    finally:
        (folder.path / "wing.py").write_text(BLOCK)
    by_net = dict.fromkeys((*NETS, "puzzles"), 2)
    at_each_yardstick = dict.fromkeys(("tournament", "rate"), len(yardsticks.ALL))
    assert jobs == {"count": 1, "cost": 1, "table": 1, **by_net, **at_each_yardstick}


def test_wrong_settings_are_told_without_a_traceback(folder):
    told = folder.run("snakemake", "-n", "--config", "train={'epocs': 3}", status=1)
    assert "train.epocs: unknown; did you mean epochs?" in told
    assert "Traceback" not in told


def test_a_missing_file_is_told_although_all_results_are_there(folder):
    book = folder.path / "resources/embedded/openings.epd.gz"
    away = book.rename(book.with_name("away"))
    try:
        told = folder.run("snakemake", "results/axis_table.csv", status=1)
    finally:
        away.rename(book)
    assert "tournament.book: there is no file resources/embedded/openings.epd.gz" in told
    assert NOTHING not in told
    assert "Traceback" not in told


def test_a_published_table_is_no_result_of_the_clone(folder, tmp_path):
    folder.git("clone", "--quiet", ".", str(tmp_path / "clone"))
    assert set(Folder(tmp_path / "clone").would_run("results/axis_table.csv")) == CHAIN


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


def test_dvc_shows_the_numbers_of_the_table(folder):
    with open(folder.path / "results/axis_table.csv", newline="") as file:
        rows = {row["feature_set"]: row for row in csv.DictReader(file)}

    def shown(*command):
        told = folder.run("dvc", *command)
        return json.loads(told[told.index("{") :])

    measured = shown("metrics", "show", "--json")[""]["data"]
    assert len(measured) == len(rows) == 2
    for name, row in rows.items():
        found = measured[f"results/report/metrics/axis/{quote(name, safe='+,')}.json"]["data"]
        assert {"elo", "elo_cost", "val_loss_mean"} <= found.keys()
        assert found == {column: float(row[column]) for column in found}
    drawn = shown("plots", "show", "--json")["data"]
    (chart,) = drawn["Elo relative to the anchor, at fixed nodes"]
    values = chart["content"]["data"]["values"]
    assert {value["feature_set"]: value["elo"] for value in values} == {
        name: row["elo"] for name, row in rows.items()
    }
    assert "results/report/figures/axis-elo.svg" in drawn
    experiments = list(csv.DictReader(folder.run("dvc", "exp", "show", "--csv").splitlines()))
    workspace = next(line for line in experiments if line["rev"] == "workspace")
    column = next(name for name in workspace if name.endswith("axis/ALL.json:val_loss_mean"))
    assert float(workspace[column]) == float(rows["ALL"]["val_loss_mean"])


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


@pytest.mark.parametrize(
    "off", ["'check_time': False", "'nodes_deep': 0", "'cost_games_per_pairing': 0"]
)
def test_one_yardstick_is_enough(folder, off):
    """Without games at another its columns are empty, and no other games are played anew."""
    jobs = folder.would_run("--config", f"tournament={{{off}}}")
    assert jobs == {"table": 1}


def test_games_are_those_of_the_costs_that_are_given(folder):
    """Measured elsewhere: nothing is measured here, and the games at equal cost are played."""
    costs = folder.path / "elsewhere.csv"
    costs.write_text("name,cost\nALL,1\nH*WING,1.25\n")
    told = folder.run(
        "snakemake", "-n", "-p", "--config", f"tournament={{'costs': '{costs.name}'}}"
    )
    found = re.findall(r"--output (\S+) --fixed .* --cost elsewhere.csv", told)
    assert sorted(found) == [
        "results/tournament/cost/axis.pgn",
        "results/tournament/deep-cost/axis.pgn",
    ]
    assert "nnuelab cost" not in told
    wrong = {"'costs': 'nowhere.csv'": "tournament.costs: there is no file nowhere.csv"}
    wrong |= {"'cost_games_per_pairing': 3": "tournament.cost_games_per_pairing"}
    for setting, said in wrong.items():
        told = folder.run("snakemake", "-n", "--config", f"tournament={{{setting}}}", status=1)
        assert said in told


def test_a_net_beyond_its_bound_plays_no_game(folder):
    change(folder, "verify", "max_abs_mean", 1e-9)
    told = folder.run("snakemake", "--keep-going", "report", status=1)
    assert "quantization error beyond the bounds" in told
    assert not ran(told) & {"tournament", "table", "report"}


def test_the_page_says_what_failed(folder):
    """After the job that failed above."""
    page = (folder.path / "results/failed.html").read_text()
    assert "quantization error beyond the bounds" in page
    assert "axis-table" in page
