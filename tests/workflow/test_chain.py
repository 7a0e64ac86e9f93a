"""The tiny chain under Snakemake and DVC: no job runs twice, and none that has to run is left out.

One folder goes through all of it, so the tests run in their order (./test keeps a file's together).
"""

from __future__ import annotations

import base64
import csv
import json
import re
import subprocess
from urllib.parse import quote

import pytest

from nnuelab.tournament import yardsticks
from tests.workflow.project import NOTHING, ROOT, Folder, change, ran
from tests.workflow.tiny_chain import BLOCK, CHAIN, GAMES, NETS, first_run, rerun_by_edit


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return first_run(tmp_path_factory.mktemp("project"))


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


def test_dvc_repeats_no_job_of_snakemake(folder):
    assert ran(folder.run("dvc", "repro", "table")) == set()
    assert "up to date" in folder.run("dvc", "repro", "table")


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
