"""The table has the columns of the contract."""

from __future__ import annotations

import csv
import json
import re

import pytest

from nnuelab import artifacts
from nnuelab.cli import report as _commands  # noqa: F401 (registers them)
from nnuelab.errors import UserError
from nnuelab.report import published, readable, table
from nnuelab.tournament import ratings
from tests.report.conftest import call

CONTRACT = (
    "feature_set,n_features,l1,l2,seeds,val_loss_mean,val_loss_sd,elo,elo_error_games,"
    "elo_error_seeds,elo_time,elo_time_error_games,elo_time_error_seeds,nps_ratio,puzzle_accuracy,"
    "quant_mean_cp,quant_rms_cp,quant_max_cp,active,added,removed,train_seconds,"
    "published_val_loss,published_elo,elo_error,p_adjusted,elo_time_error,p_time_adjusted,"
    "cost_ratio,elo_cost,elo_cost_error,p_cost_adjusted,elo_cost_error_games,elo_cost_error_seeds,"
    "elo_deep,elo_deep_error,p_deep_adjusted,elo_deep_error_games,elo_deep_error_seeds,"
    "elo_deep_cost,elo_deep_cost_error,p_deep_cost_adjusted,elo_deep_cost_error_games,"
    "elo_deep_cost_error_seeds"
)


def test_table_has_the_columns_of_the_contract(results, nets):
    out, markdown = results / "axis_table.csv", results / "axis_table.md"
    done = call("table", *nets, "--experiment", "axis", "--pgn", results / "axis.pgn",
                "--csv", out, "--markdown", markdown)  # fmt: skip
    assert done.exit_code == 0, done.output
    assert out.read_text().splitlines()[0] == CONTRACT
    rows = list(csv.DictReader(out.open()))
    assert [row["feature_set"] for row in rows] == ["ALL", "H+V"]
    first, second = rows
    assert (first["n_features"], first["l1"], first["l2"], first["seeds"]) == (
        "768",
        "16",
        "8",
        "2",
    )
    assert (first["elo"], first["elo_error_games"]) == ("0.0", "0.0")
    assert float(second["elo_error_games"]) > 0
    # What was not measured is empty.
    assert all(row["elo_time"] == row["nps_ratio"] == row["puzzle_accuracy"] == "" for row in rows)
    assert (second["published_val_loss"], second["published_elo"]) == ("0.005810", "-384.3")
    assert second["elo"] in markdown.read_text()
    for path in (out, markdown):
        record = json.loads(path.with_name(f"{path.name}.json").read_text())
        assert record["sha256"] == artifacts.sha256(path)
        assert record["parameters"] == {"experiment": "axis", "anchor": "ALL"}


def test_nets_of_one_row_differ_by_their_seeds_alone(results, nets):
    """Those of another size beside them, as variants have it, are no further seed."""
    for net, method in zip(nets, ("scores", "pqr"), strict=False):
        record = net.with_name("history.csv.json")
        parameters = {"objective": {"method": method}}
        record.write_text(json.dumps({"sha256": "", "parameters": parameters}))
    with pytest.raises(UserError, match="nets of ALL differ by more than their seeds"):
        table.build("axis", nets, results / "axis.pgn", "ALL")


def write_timed(results):
    """Games at fixed time: those at fixed nodes, with comments; H+V searches half as fast."""

    def timed(game):
        nodes = 100 if game[1].startswith("H+V") else 200
        return f"{game[0].rstrip()} 1. e4 {{+0.1/3 0.010s, n={nodes}}} {{so}} *\n\n"

    text = re.sub(r'\[White "(.*?)"\]\n.*?\n\n\S+\n\n', timed, (results / "axis.pgn").read_text(),
                  flags=re.DOTALL)  # fmt: skip
    (results / "time.pgn").write_text(text)
    return results / "time.pgn"


def test_both_yardsticks_and_puzzles_stand_in_the_table(results, nets):
    timed = write_timed(results)
    for net in nets:
        share = 0.75 if "ALL" in str(net) else 0.5
        net.with_name("puzzles.json").write_text(json.dumps({"accuracy": share}))
    out, markdown = results / "t.csv", results / "t.md"
    done = call("table", *nets, "--experiment", "axis", "--pgn", results / "axis.pgn",
                "--time-pgn", timed, "--csv", out, "--markdown", markdown)  # fmt: skip
    assert done.exit_code == 0, done.output
    first, second = csv.DictReader(out.open())
    assert (first["nps_ratio"], second["nps_ratio"]) == ("1.000", "0.500")
    assert (first["puzzle_accuracy"], second["puzzle_accuracy"]) == ("0.7500", "0.5000")
    assert second["elo_time"] == second["elo"]  # the same results here
    assert second["elo_time_error_games"] == second["elo_error_games"]
    assert second["elo_time_error_seeds"] == second["elo_error_seeds"]
    assert "at fixed time" in markdown.read_text()
    record = json.loads(out.with_name("t.csv.json").read_text())
    assert str(timed) in record["inputs"]


def test_equal_cost_and_depth_stand_in_the_table(results, nets):
    """Each Elo is that of its own games; without games on the clock the cost tells the speed."""
    costs = results / "cost.csv"
    costs.write_text("name,cost\nH+V,0.5\nALL,0.8\n")
    pgns = {}
    for kind, won in (("cost", "1-0"), ("deep", "0-1"), ("deep-cost", "1/2-1/2")):
        pgns[kind] = results / f"{kind}.pgn"
        text = (results / "axis.pgn").read_text()
        pgns[kind].write_text(text.replace("1/2-1/2", won))
    out, markdown = results / "t.csv", results / "t.md"
    done = call("table", *nets, "--experiment", "axis", "--pgn", results / "axis.pgn",
                *(f"--{kind}-pgn={path}" for kind, path in pgns.items()), "--cost", costs,
                "--csv", out, "--markdown", markdown)  # fmt: skip
    assert done.exit_code == 0, done.output
    first, second = csv.DictReader(out.open())
    assert (first["cost_ratio"], second["cost_ratio"]) == ("1.000", "0.625")
    assert (first["nps_ratio"], second["nps_ratio"]) == ("1.000", "1.600")
    for kind, column in (
        ("cost", "elo_cost"),
        ("deep", "elo_deep"),
        ("deep-cost", "elo_deep_cost"),
    ):
        rating = ratings.feature_sets(pgns)[kind]["H+V"]
        assert second[column] == f"{rating.elo:.1f}"
        assert second[f"{column}_error"] == f"{rating.elo_error:.1f}"
        assert second[f"{column}_error_games"] == f"{rating.elo_error_games:.1f}"
        assert second[f"{column}_error_seeds"] == f"{rating.elo_error_seeds:.1f}"
        assert f"{second[column]} \u00b1 {second[f'{column}_error']}" in markdown.read_text()
    assert second["elo_time"] == ""
    inputs = json.loads(out.with_name("t.csv.json").read_text())["inputs"]
    assert {str(costs), *map(str, pgns.values())} <= inputs.keys()


def test_a_table_tells_the_nodes_of_its_deeper_games_wherever_it_lies(results, nets, tmp_path):
    deep = results / "deep.pgn"
    deep.write_bytes((results / "axis.pgn").read_bytes())
    played = {"sha256": "0", "parameters": {"players": {"ALL#1": {"nodes": 4321}}}}
    deep.with_name("deep.pgn.json").write_text(json.dumps(played))
    out = tmp_path / "elsewhere" / "axis_table.csv"
    out.parent.mkdir()
    done = call("table", *nets, "--experiment", "axis", "--pgn", results / "axis.pgn",
                "--deep-pgn", deep, "--csv", out, "--markdown", results / "t.md")  # fmt: skip
    assert done.exit_code == 0, done.output
    shown = call("inspect", out).stdout
    assert "4,321 nodes" in shown
    assert "more nodes" not in shown


def test_a_set_without_a_cost_is_told(results, nets):
    with pytest.raises(UserError, match=r"a node of H\+V costs was not measured"):
        table.build("axis", nets, results / "axis.pgn", "ALL", costs={"ALL": 1.0})


def test_puzzles_that_one_net_has_not_solved_are_no_accuracy(results, nets):
    nets[0].with_name("puzzles.json").write_text('{"accuracy": 0.5}')
    rows = table.build("axis", nets, results / "axis.pgn", "ALL")
    assert [row.puzzle_accuracy for row in rows] == [None, None]
    nets[0].with_name("puzzles.json").write_text('{"accu')
    with pytest.raises(UserError, match=r"puzzles\.json"):
        table.build("axis", nets, results / "axis.pgn", "ALL")


def test_means_over_seeds(results, nets):
    row = table.build("axis", nets, results / "axis.pgn", "ALL")[0]
    assert row.val_loss_mean == pytest.approx((0.1768 + 0.2768) / 2)
    assert row.val_loss_sd == pytest.approx(0.1 / 2**0.5)
    assert row.train_seconds == 4.0
    # As if the positions of both seeds were one set.
    assert row.quant_mean_cp == 1.5
    assert row.quant_rms_cp == pytest.approx(((3**2 + 6**2) / 2) ** 0.5)
    assert row.quant_max_cp == 20.0


def test_one_seed_has_no_spread(results, nets):
    row = table.build("axis", nets[::2], results / "axis.pgn", "ALL")[1]
    assert row.val_loss_sd is None
    assert row.seeds == 1


def test_an_experiment_of_ones_own_has_no_published_results(results, nets):
    rows = table.build("mine", nets, results / "axis.pgn", "ALL")
    assert rows[0].published_elo is None
    assert "Published" not in readable.to_markdown("mine", rows, "ALL")


def test_published_numbers_are_said_to_be_another_quantity(results, nets):
    rows = table.build("axis", nets, results / "axis.pgn", "ALL")
    assert readable.PUBLISHED_NOTE in readable.to_markdown("axis", rows, "ALL")
    (results / "axis_table.csv").write_text(table.to_csv(rows))
    shown = " ".join(call("inspect", results / "axis_table.csv").stdout.split())
    assert readable.PUBLISHED_NOTE in shown


def test_p_values_are_headed_by_their_games_and_none_is_zero(results, nets):
    rows = table.build("axis", nets, results / "axis.pgn", "ALL")
    text = [table.cells(row) | {"p_adjusted": "0.0000", "p_cost_adjusted": "0.2"} for row in rows]
    head, (line, *_) = readable.head_and_lines(text, narrow=True)
    assert line[head.index("p adjusted")] == "< 0.0001"
    assert line[head.index("p adjusted, equal cost")] == "0.2"
    assert len({*head}) == len(head)


@pytest.mark.parametrize("file", ["history.csv", "verify.json", "net.nnue"])
@pytest.mark.parametrize("damage", ["missing", "cut"])
def test_a_missing_or_cut_off_file_is_named(results, nets, file, damage):
    path = nets[0].with_name(file)
    content = path.read_bytes()
    path.unlink() if damage == "missing" else path.write_bytes(content[: len(content) // 3])
    with pytest.raises(UserError, match=file.replace(".", "[.]")):
        table.build("axis", nets, results / "axis.pgn", "ALL")


def test_a_set_that_did_not_play_is_named(results, nets):
    games = (results / "axis.pgn").read_text().replace("H+V", "H")
    (results / "axis.pgn").write_text(games)
    with pytest.raises(UserError, match=r"H\+V played"):
        table.build("axis", nets, results / "axis.pgn", "ALL")


def test_published_results_equal_the_reference(shared):
    with open(shared / "reference" / "nnue_study_results.csv") as file:
        reference = [
            (row["experiment"], row["feature_set"], "", int(row["l1"]), int(row["l2"]),
             float(row["val_loss"]), float(row["elo"]))
            for row in csv.DictReader(file)
        ]  # fmt: skip
    own = [row for row in published.rows() if row[0] != "pqr"]
    assert own == reference
    study = " ".join((shared / "reference" / "nnue_study.md").read_text().split())
    (pqr,) = [row for row in published.rows() if row[0] == "pqr" and row[2] == "pqr"]
    assert f"PQR from scratch ends {-pqr[-1]:.0f} +- 41 Elo below target scores" in study
