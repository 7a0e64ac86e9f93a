"""Every artifact can be inspected, and two tables can be compared."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.report import diff, table
from nnuelab.report import inspect as summaries
from nnuelab.tournament.game import Game
from nnuelab.tournament.pgn import to_pgn
from tests.report.conftest import call

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
