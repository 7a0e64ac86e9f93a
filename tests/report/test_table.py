"""The table has the columns of the contract, and every artifact can be inspected."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab import artifacts
from nnuelab.cli import report as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.nnue.netfile import Net, write_net
from nnuelab.report import diff, published, readable, table
from nnuelab.report import inspect as summaries
from nnuelab.tournament import ratings
from nnuelab.tournament.game import Game
from nnuelab.tournament.pgn import to_pgn

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
SIZES = {"ALL": 768, "H+V": 192}
RESULTS = ("1-0", "0-1", "1/2-1/2")


@pytest.fixture
def results(tmp_path):
    """Two feature sets with two seeds each, as the stages leave them, and their games."""
    rng = np.random.default_rng(1)
    for name, size in SIZES.items():
        for seed in (1, 2):
            folder = tmp_path / "nets" / name / str(seed)
            folder.mkdir(parents=True)
            net = Net(
                name,
                rng.integers(-9, 9, (size, 16)).astype("<i2"),
                np.zeros(16, "<i2"),
                rng.integers(-9, 9, (8, 32)).astype("<i1"),
                np.zeros(8, "<i4"),
                np.ones(8, "<i2"),
                np.zeros(1, "<i4"),
            )
            write_net(folder / "net.nnue", net)
            (folder / "history.csv").write_text(
                f"epoch,validation_loss,seconds\n1,0.9,2.5\n2,0.{seed}{size},1.5\n"
            )
            error = {"n": 9, "mean_cp": float(seed), "rms_cp": 3.0 * seed, "max_cp": 10.0 * seed}
            (folder / "verify.json").write_text(json.dumps(error | {"worst": []}))
    games = io.StringIO()
    players = [f"{name}#{seed}" for name in SIZES for seed in (1, 2)]
    for _ in range(120):
        white, black = rng.choice(players, 2, replace=False)
        result = RESULTS[rng.integers(3)]
        games.write(f'[White "{white}"]\n[Black "{black}"]\n[Result "{result}"]\n\n{result}\n\n')
    (tmp_path / "axis.pgn").write_text(games.getvalue())
    return tmp_path


@pytest.fixture
def nets(results):
    return [results / "nets" / name / seed / "net.nnue" for name in SIZES for seed in "12"]


def call(*arguments):
    return CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)


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


GAMES = """[White "a"]
[Black "b"]
[Result "1-0"]

1. e4 { [%eval 0.2] } e5 { [%eval 0.1] } 1-0

[White "b"]
[Black "a"]
[Result "*"]

1. d4 *

"""


@pytest.fixture
def artifact(results, nets, tmp_path):
    """A file of each kind that needs no training, by kind."""
    from nnuelab.data.records import from_fen
    from nnuelab.tournament.ratings import rate, to_csv

    games = tmp_path / "games.pgn.gz"
    games.write_bytes(gzip.compress(GAMES.encode()))
    dataset = tmp_path / "train.npy"
    start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
    np.save(dataset, np.array([from_fen(start)] * 3))
    ratings = tmp_path / "ratings.csv"
    ratings.write_text(to_csv(rate(results / "axis.pgn")))
    openings = tmp_path / "book.epd"
    openings.write_text("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq -\n")
    rows = tmp_path / "axis_table.csv"
    rows.write_text(table.to_csv(table.build("axis", nets, results / "axis.pgn", "ALL")))
    record = artifacts.provenance(games, parameters={"source": "test"}, seed=3)
    assert record["seed"] == 3
    return {
        "games": games,
        "tournament": results / "axis.pgn",
        "openings": openings,
        "dataset": dataset,
        "net": nets[0],
        "ratings": ratings,
        "table": rows,
        "history": nets[0].with_name("history.csv"),
        "verification": nets[0].with_name("verify.json"),
        "provenance": tmp_path / "games.pgn.gz.json",
    }


KINDS = [
    "games",
    "tournament",
    "openings",
    "dataset",
    "net",
    "ratings",
    "table",
    "history",
    "verification",
    "provenance",
]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_file_is_recognized_and_shown(artifact, kind):
    path = artifact[kind]
    done = call("inspect", path, "--json")
    assert done.exit_code == 0
    assert json.loads(done.stdout)["kind"] == kind
    shown = call("inspect", path)
    assert shown.exit_code == 0
    assert path.name in shown.stdout.replace("\n", "")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", ["emptied", "overwritten"])
def test_a_damaged_file_is_one_line_and_not_a_traceback(artifact, kind, damage):
    path = artifact[kind]
    path.write_bytes(b"" if damage == "emptied" else b"\xff" * 40)
    with pytest.raises(UserError) as caught:
        summaries.inspect(path)
    assert "\n" not in str(caught.value)
    assert path.name in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("ratings", "name,elo,error,points,games,score\na,x,1,1,2,.5\n"),
        ("history", "epoch,validation_loss\n1,abc\n"),
        ("verification", '{"rms_cp": 1, "worst": "x"}'),
        ("verification", '{"pqr_centipawns": 1, "nets": []}'),
        ("verification", '{"solved_rating": 1, "groups": [], "player": null}'),
        ("verification", "[" * 100_000),
        ("table", ",".join(table.COLUMNS) + "\n" + ",".join(["x"] * len(table.COLUMNS)) + "\n"),
    ],
)
def test_unexpected_content_is_one_line(artifact, kind, content):
    artifact[kind].write_text(content)
    for arguments in (("inspect", artifact[kind]), ("diff", artifact[kind], artifact[kind])):
        done = call(*arguments)
        assert done.exit_code == 1
        assert "is damaged" in done.stderr
        assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("history.csv", "epoch,seconds\n1,2\n"),
        ("history.csv", "epoch,validation_loss\n1,0.5\n"),
        ("history.csv", "x" * 200_000),
        ("history.csv", b"\xff"),
        ("verify.json", "[]"),
        ("verify.json", '{"mean_cp": [], "rms_cp": 1, "max_cp": 2}'),
        ("verify.json", "[" * 100_000),
        ("puzzles.json", '{"accuracy": {}}'),
        ("history.csv.json", '{"sha256": "", "parameters": 1}'),
    ],
)
def test_what_is_damaged_beside_a_net_is_one_line(results, nets, name, content):
    file = nets[0].with_name(name)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    words = ("--experiment", "axis", "--pgn", results / "axis.pgn")
    done = call("table", *nets, *words, "--csv", results / "t.csv", "--markdown", results / "t.md")
    assert done.exit_code == 1
    (line,) = done.stderr.splitlines()
    assert str(file.with_suffix("")) in line


@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_what_is_too_large_for_a_table_is_not_read(tmp_path, name):
    with open(tmp_path / name, "wb") as file:
        file.truncate(1 << 40)  # takes no room on the disk
    with pytest.raises(UserError, match=rf"{name} has 1,099,512 MB"):
        summaries.inspect(tmp_path / name)


def test_damaged_games_have_no_speeds(tmp_path):
    games = tmp_path / "games.pgn"
    games.write_text('[White "a"]\n[Black "b"]\n[FEN "x"]\n[Result "1-0"]\n\n1. e4 {x} 1-0\n')
    with pytest.raises(UserError, match=r"games\.pgn is damaged"):
        table._speeds(games)


def test_other_numbers_are_shown_as_they_are(tmp_path):
    rows = tmp_path / "counted.csv"
    rows.write_text("kind,right\nall,7\n")
    assert summaries.inspect(rows).tables["rows"] == [{"kind": "all", "right": 7}]
    values = tmp_path / "told.json"
    values.write_text('{"elo": {"a": 1.5}, "steps": [1, 2, 3]}')
    assert summaries.inspect(values).facts == {"elo.a": 1.5, "steps": "3 values"}
    assert call("inspect", rows).exit_code == call("inspect", values).exit_code == 0


def test_a_game_that_is_cut_off_is_unfinished(tmp_path):
    path = tmp_path / "cut.pgn"
    game = '[White "a"]\n[Black "b"]\n[Result "1-0"]\n\n1. e4 e5 2. Nf3 1-0\n\n'
    path.write_text(game + game[:-9])
    assert summaries.inspect(path).facts["unfinished"] == 1


@pytest.mark.parametrize("told_by", ["event", "record"])
def test_a_tournament_of_any_players_has_a_cross_table_and_is_compared(tmp_path, told_by):
    path = tmp_path / "ladder.pgn"
    fen = "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1"
    games = [
        to_pgn(Game([], "1-0", "mate", "normal"), white, black, fen, f"1.{i}")
        for i, (white, black) in enumerate((("nnuelab", "fairy"), ("fairy", "nnuelab")), 1)
    ]
    path.write_text("".join(games))
    if told_by == "record":  # as where another manager held the games
        path.write_text("".join(games).replace('[Event "nnuelab"]', '[Event "?"]'))
        assert summaries.inspect(path).kind == "games"
        artifacts.provenance(path, summary={"players": {}})
    found = summaries.inspect(path)
    assert found.kind == "tournament"
    assert [(row["player"], row["1"], row["2"]) for row in found.tables[summaries.CROSS]] == [
        ("nnuelab", "", "50"),
        ("fairy", "50", ""),
    ]
    scores = diff.diff(path, path).tables["scores"]
    assert [row["score_difference"] for row in scores] == [0, 0]


def test_facts_of_games(artifact):
    facts = summaries.inspect(artifact["games"]).facts
    assert (facts["games"], facts["evaluated_games"], facts["evaluations"]) == (2, 1, 2)
    assert (facts["white_wins"], facts["unfinished"]) == (1, 1)
    assert summaries.inspect(artifact["games"]).provenance["parameters"] == {"source": "test"}


def test_checkpoint(tmp_path):
    torch = pytest.importorskip("torch")
    path = tmp_path / "checkpoint.pt"
    torch.save({"feature_set": "ALL", "model": {"w1": torch.ones(4, 2)}}, path)
    summary = summaries.inspect(path)
    assert summary.kind == "checkpoint"
    assert summary.facts == {"feature_set": "ALL"}
    assert summary.tables["tensors"][0]["shape"] == "4 x 2"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(UserError, match="damaged"):
        summaries.inspect(path)


@pytest.mark.parametrize("name", ["folder", "missing.pgn", "notes.txt"])
def test_what_is_no_artifact_is_said_in_one_line(tmp_path, name):
    (tmp_path / "folder").mkdir()
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(UserError) as caught:
        summaries.inspect(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_has_provenance_beside_it_shows_that(tmp_path) -> None:
    plot = tmp_path / "verify.png"
    plot.write_bytes(b"\x89PNG")
    with pytest.raises(UserError, match="unknown kind"):
        summaries.inspect(plot)
    artifacts.provenance(plot, parameters={"count": 7})
    summary = summaries.inspect(plot)
    assert summary.kind == "file"
    assert summary.provenance["parameters"] == {"count": 7}
    shown = call("inspect", plot)
    assert shown.exit_code == 0
    assert "count" in shown.stdout


def test_of_nets_made_elsewhere_nothing_is_said_of_their_training(results, nets):
    players = {f"{path.parent.parent.name}#{path.parent.name}": path for path in nets}
    with_all = table.build("axis", players, results / "axis.pgn", "ALL")
    for name in ("history.csv", "verify.json"):
        for path in nets[:2]:
            path.with_name(name).unlink()
    with pytest.raises(UserError, match=r"history\.csv: No such file"):
        table.build("axis", players, results / "axis.pgn", "ALL")
    mine, other = table.build("axis", players, results / "axis.pgn", "ALL", imported=["ALL"])
    assert mine.feature_set == "ALL"
    assert (mine.l1, mine.l2, mine.elo) == (16, 8, 0.0)
    unknown = (mine.val_loss_mean, mine.train_seconds, mine.quant_rms_cp, mine.quant_max_cp)
    assert unknown == (None, None, None, None)
    assert other == with_all[1]
