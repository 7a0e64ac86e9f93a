"""What the report and inspect are made of: pictures, neurons, cross tables, differences."""

from __future__ import annotations

import json
import shutil

import chess
import chess.pgn
import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab import charts, data, features
from nnuelab.cli import report as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.data.records import from_fen
from nnuelab.errors import UserError
from nnuelab.features import Block, registry
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.netfile import Net, read_net, write_net
from nnuelab.report import (
    details,
    diff,
    explorer,
    feature_statistics,
    games,
    grids,
    inspect_plots,
    neurons,
    table,
    weights,
)
from nnuelab.report import inspect as summaries
from nnuelab.report.geometry import pictures
from nnuelab.tournament.headers import read_results
from tests import report_results
from tests.nnue_nets import random_net


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return report_results.make(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def records(folder):
    return np.array(data.open(folder / "data" / "validation.npy").records)


def call(*arguments):
    return CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)


# Pictures


def expressions():
    """Every block and family example of the package that needs no file, and some combinations."""
    found = []
    for known in dict.fromkeys(registry.load().values()):
        if isinstance(known, Block):
            found.append(known.name)
        else:
            found += [text for text in known.examples if "csv" not in text]
    return [*found, "KING*ALL", "H*V", "ALL+PH+MC"]


@pytest.mark.parametrize("expression", expressions())
def test_every_feature_stands_in_a_picture(expression):
    feature_set = features.parse(expression)
    seen = set()
    for _, drawn in pictures(feature_set):
        for picture in drawn:
            assert picture.cells.shape == (len(picture.rows), len(picture.columns))
            seen |= set(picture.cells[picture.cells >= 0].tolist())
    assert seen == set(range(feature_set.size))


@pytest.mark.parametrize("expression", ["ALL", "KA", "MB", "PM", "TH", "KING*ALL"])
def test_a_board_has_a_feature_on_its_square(expression):
    feature_set = features.parse(expression)
    for _, drawn in pictures(feature_set):
        for picture in drawn[:: max(len(drawn) // 40, 1)]:
            assert picture.board
            for row, column in zip(*np.nonzero(picture.cells >= 0), strict=True):
                name = feature_set.feature_name(int(picture.cells[row, column]))
                assert picture.columns[column] + picture.rows[row] in name
                assert picture.title in name


def test_a_line_is_all_its_squares():
    (_, drawn), (_, diagonals) = pictures(features.parse("H+D1"))
    for column in range(8):
        assert len(set(drawn[0].cells[:, column])) == 1
    assert len(set(np.diag(np.fliplr(diagonals[0].cells)).tolist())) == 8  # a1-h8 crosses them
    assert len(set(np.diag(diagonals[0].cells).tolist())) == 1  # a8-h1 is one


def test_two_pieces_are_row_and_column():
    feature_set = features.parse("PH")
    picture = pictures(feature_set)[0][1][3]
    assert picture.group == "on rank 4"
    feature = picture.cells[picture.rows.index("own rook"), picture.columns.index("enemy pawn")]
    assert feature_set.feature_name(int(feature)) == "own rook left of enemy pawn on rank 4"


@pytest.mark.parametrize("nets", [1, 40, 100, 1000])
def test_many_nets_show_fewer_neurons_each(nets):
    net = random_net("ALL+MB", l1=64)
    every = neurons.Activity(*np.zeros((2, 64)), np.arange(64.0), np.ones(1, bool))
    shown = weights.neurons_shown(net, every, nets)
    assert 1 <= len(shown) <= weights.MOST_NEURONS
    assert nets * len(shown) * net.n_features <= max(weights.MOST_OF_ALL, nets * net.n_features)
    assert shown.tolist() == list(range(63, 63 - len(shown), -1))


def test_large_sets_are_cut_to_what_fits(monkeypatch):
    monkeypatch.setattr(weights, "MOST_CELLS", 2000)
    feature_set = features.parse("KING*ALL")
    w1 = np.zeros((feature_set.size, 2), np.int16)
    w1[5 * 768 + 7, 1] = 90  # a feature of the own king on f1
    layout, kept = weights.layout(feature_set, w1)
    (term,) = layout["terms"]
    assert term["all"] == 64
    assert len(term["groups"]) == 2
    assert "own king on f1" in [group["label"] for group in term["groups"]]
    assert 5 * 768 + 7 in kept
    cells = [c for g in term["groups"] for p in g["pictures"] for c in p["cells"]]
    assert set(cells) == set(range(len(kept)))


# Neurons


def test_evaluations_are_those_of_the_engine(folder, records):
    from nnuelab.data.records import to_fen

    for path in sorted(folder.glob("nets/*/*/net.nnue")):
        net = read_net(path)
        expected = Inference(net).evaluate_fens([to_fen(record) for record in records])
        found = neurons.evaluations(net, neurons.inputs(net, records), records)
        np.testing.assert_array_equal(found, expected)


def test_dead_and_constant_neurons_are_found(folder, records):
    found = neurons.activity(read_net(folder / "nets/ALL/1/net.nnue"), records)
    assert found.dead[3]
    assert found.constant[4]
    assert found.influence[3] == found.influence[4] == 0


def test_influence_is_what_holding_a_neuron_changes(folder, records):
    net = read_net(folder / "nets/ALL/2/net.nnue")
    x = neurons.inputs(net, records)
    found = neurons.activity(net, records)
    for j in (0, 7):
        held = x.copy()
        mean = int(np.rint(x.reshape(-1, net.l1)[:, j].mean()))
        held[:, [j, net.l1 + j]] = mean
        change = neurons.evaluations(net, held, records) - neurons.evaluations(net, x, records)
        assert found.influence[j] == pytest.approx(np.sqrt(np.mean(change**2.0)), abs=1)


def test_strongest_features_have_the_largest_weights_of_those_that_occur(folder, records):
    net = read_net(folder / "nets/ALL/1/net.nnue")
    seen = neurons.activity(net, np.array([from_fen(chess.STARTING_FEN)])).seen
    assert int(seen.sum()) == 32  # the start looks alike from both sides
    found = neurons.strongest(net, seen, 2, 40)
    at_start = {f"{chess.piece_name(piece.piece_type)} on {chess.square_name(square)}"
                for square, piece in chess.Board().piece_map().items()}  # fmt: skip
    assert {name.partition(" ")[2] for name, _ in found} == at_start
    largest = np.sort(np.abs(net.w1[seen, 2]))[::-1] / net.scales["w1"]
    assert [abs(weight) for _, weight in found] == pytest.approx(largest)
    assert len(neurons.strongest(net, neurons.activity(net, records).seen, 2, 5)) == 5


def test_active_features_have_the_names_of_their_indices(records):
    feature_set = features.parse("H+PH")
    found = explorer.active(feature_set, records[:3])
    for term in feature_set.terms:
        for p, record in enumerate(records[:3]):
            from nnuelab.data.records import to_fen
            from nnuelab.features.legality import Seen

            board = chess.Board(to_fen(record))
            for side, color in enumerate((board.turn, not board.turn)):
                pieces = {}
                for square, piece in board.piece_map().items():
                    place = square if color else square ^ 56
                    pieces[place] = (piece.piece_type - 1, int(piece.color != color))
                seen = Seen(dict(sorted(pieces.items())), None)
                expected = [term.feature_name(int(i)) for i in np.sort(term.defined(seen))]
                assert found[term.name][p][side] == expected


# Games


def test_a_cross_table_counts_every_game_twice(folder):
    results = read_results([folder / "tournament/axis.pgn"])
    found = games.cross_table(results, [])
    assert found.games.sum() == 2 * len(results)
    np.testing.assert_array_equal(found.games, found.games.T)
    np.testing.assert_allclose(found.points + found.points.T, found.games)
    by_set = games.cross_table(results, list(report_results.SETS), by_set=True)
    assert by_set.names == list(report_results.SETS)
    assert by_set.games[0, 0] == 0


def test_sample_games_are_legal_and_from_whites_view(folder):
    players = [f"{name}#{seed}" for name in report_results.SETS for seed in report_results.SEEDS]
    found = games.samples(folder / "tournament/axis.pgn", players[0], players[1:])
    assert all(players[0] in (game["white"], game["black"]) for game in found[:3])
    assert len(found) > 3
    assert all(game["why"].startswith("quickest") for game in found[3:])
    for game in found:
        board = chess.Board(game["fen"])
        for move in game["moves"]:
            board.push_san(move["san"])
            assert board.board_fen() == move["board"]
            assert isinstance(move["eval"], float)


def test_the_quickest_games_of_a_set_are_those_of_a_literal_search(folder, tmp_path):
    names = [f"{name}#{seed}" for name in report_results.SETS for seed in report_results.SEEDS]
    path, lengths = tmp_path / "cut.pgn", {}
    with open(folder / "tournament/axis.pgn") as file, open(path, "w") as cut:
        for i, game in enumerate(iter(lambda: chess.pgn.read_game(file), None)):
            plies = 3 + i * 7 % 9
            list(game.mainline())[plies - 1].variations.clear()
            game.headers["PlyCount"] = str(plies)
            game.headers["Termination"] = "time forfeit" if i % 5 == 0 else "adjudication"
            print(game, end="\n\n", file=cut)
            if i % 5 == 0:
                continue
            players = [game.headers[of].partition("#")[0] for of in ("White", "Black")]
            if game.headers["Result"] == "0-1":
                players.reverse()
            if game.headers["Result"] != "1/2-1/2" and len(set(players)) == 2:
                for what, name in zip(("win", "loss"), players, strict=True):
                    lengths.setdefault(f"quickest {what} of {name}", []).append(plies)
    told = {
        why: len(game["moves"])
        for game in games.samples(path, names[0], names[1:])
        for why in filter(None, game["why"].split(", "))
    }
    assert told == {why: min(found) for why, found in lengths.items()}
    assert len(told) == 2 * len(report_results.SETS)


@pytest.mark.parametrize(
    ("comment", "mover", "expected"),
    [
        ("+0.31/12, n=400", True, 0.31),
        ("+0.31/12, n=400", False, -0.31),
        ("-M3/9", True, -100.0),
        ("-250.00/9", True, -100.0),
        ("book", True, None),
        ("White mates", False, None),
    ],
)
def test_scores_of_comments(comment, mover, expected):
    assert games.white_pawns(comment, mover) == expected


# inspect and diff


def test_inspect_looks_into_nets_datasets_and_tournaments(folder):
    net = summaries.inspect(folder / "nets/ALL/1/net.nnue")
    assert net.facts["dead_neurons"].startswith("1 of 16")
    assert len(net.tables["neurons with the most influence"]) == 5
    dataset = summaries.inspect(folder / "data/validation.npy")
    boards = dataset.tables[summaries.BOARDS]
    assert all(len(entry["board"].splitlines()) == 9 for entry in boards)
    rows = summaries.inspect(folder / "tournament/axis.pgn").tables[summaries.CROSS]
    assert [entry[""] for entry in rows] == [1, 2, 3, 4]
    shown = call("inspect", folder / "data/validation.npy").stdout
    assert "a b c d e f g h" in shown


def test_names_of_rows_are_whole_on_a_narrow_terminal(folder):
    shown = call("inspect", folder / "axis_table.csv").stdout
    assert "H+PH+MC" in shown
    assert "\u2026" not in shown.partition("where it came from")[0]


@pytest.mark.parametrize(
    "name",
    [
        "axis_table.csv",
        "tournament/axis_ratings.csv",
        "tournament/axis.pgn",
        "data/validation.npy",
        "nets/ALL/1/net.nnue",
        "nets/H+PH+MC/1/net.nnue",
        "nets/ALL/1/history.csv",
        "nets/ALL/1/verify.json",
        "statistics/pqr/axis.json",
    ],
)
@pytest.mark.parametrize("suffix", charts.FORMATS)
def test_inspect_plots(folder, tmp_path, name, suffix):
    plot = tmp_path / f"plot{suffix}"
    assert call("inspect", folder / name, "--plot", plot).exit_code == 0
    start = {".svg": b"<svg", ".png": b"\x89PNG", ".html": b"<!DOCTYPE html>"}[suffix]
    assert plot.read_bytes().startswith(start)
    if suffix == ".svg":
        assert plot.read_text().count("<path") > 5


def test_a_kind_without_a_figure_is_said(folder):
    summary = summaries.inspect(folder / "axis_table.csv.json")
    with pytest.raises(UserError, match="which has no figure"):
        inspect_plots.figure(summary)


def test_diff_of_a_file_and_itself_is_nothing(folder):
    for name in ("nets/ALL/1/net.nnue", "data/validation.npy", "axis_table.csv"):
        found = diff.diff(folder / name, folder / name)
        for title, rows in found.tables.items():
            assert all(entry.get("differing", 1) == 0 for entry in rows), title


def test_diff_of_nets_tells_the_weights_and_what_they_do(folder, tmp_path):
    path = folder / "nets/ALL/1/net.nnue"
    net = read_net(path)
    w1 = net.w1.copy()
    w1[700, 5] += 64
    other = tmp_path / "other.nnue"
    write_net(other, Net(net.feature_set, w1, net.b1, net.w2, net.b2, net.w3, net.b3))
    found = diff.diff(path, other, folder / "data/validation.npy")
    weights_found = {entry["array"]: entry for entry in found.tables["weights, as floats"]}
    assert weights_found["w1"]["differing"] == 1
    assert weights_found["w1"]["max"] == pytest.approx(64 / 127, abs=1e-4)
    assert weights_found["w2"]["differing"] == 0
    (feature,) = found.tables["features whose weights differ most"]
    assert feature["feature"] == net.features.feature_name(700)
    assert found.facts["positions"] == 60
    damaged = np.load(folder / "data/validation.npy")
    damaged["occupied"][30] = 0
    np.save(tmp_path / "damaged.npy", damaged)
    for look in (
        lambda file: diff.diff(path, other, file),
        lambda file: details.neurons(net, file),
    ):
        with pytest.raises(UserError, match=r"damaged\.npy: the position after ply .* is damaged"):
            look(tmp_path / "damaged.npy")


def test_the_name_of_a_file_in_a_feature_set_is_no_number():
    row = dict.fromkeys(feature_statistics.COLUMNS, "1.25") | {"perspective": "both"}
    row["feature_set"] = "ALL+TOPK(2,lists/pairs.csv)"
    grid = grids.statistics([row], {row["feature_set"]: "counts.csv"})
    assert grid.rows == [[row["feature_set"], *["1.25"] * (len(grid.columns) - 1)]]


def test_diff_of_two_runs_is_that_of_the_tables_they_have(folder, tmp_path):
    other = tmp_path / "results-other"
    other.mkdir()
    shutil.copy(folder / "axis_table.csv", other)
    assert diff.pairs(folder, other) == [(folder / "axis_table.csv", other / "axis_table.csv")]
    told = CliRunner().invoke(app, ["diff", str(folder), str(other), "--json"])
    assert json.loads(told.stdout)["axis_table.csv"]["cells that differ"] == []
    (other / "axis_table.csv").unlink()
    with pytest.raises(UserError, match="no table of the same experiment"):
        diff.pairs(folder, other)
    with pytest.raises(UserError, match=r"no file .*nowhere"):
        diff.pairs(folder, other / "nowhere")


def test_inputs_of_two_runs_are_compared_by_their_contents():
    """Their folders have other names; and what a net says of itself may be anything."""
    one, other = (
        {
            "inputs": {
                f"{folder}/x.pgn": {"path": f"{folder}/x.pgn", "sha256": "1"},
                "H#1": {"path": f"{folder}/net.nnue", "sha256": net},
            }
        }
        for folder, net in (("a", "2"), ("b", "3"))
    )
    assert list(diff._provenance(one, one)) == []
    told = {"what": "inputs.H#1", "a": "2", "b": "3"}
    assert list(diff._provenance(one, other)) == [told]
    alone = {"what": "inputs in one only", "a": 2, "b": 0}
    assert alone in diff._provenance(one, {"inputs": 5})
    assert told not in diff._provenance(one, {"inputs": 5})
    assert told | {"b": 5} in diff._provenance(one, {"inputs": {"H#1": 5}})


def test_diff_of_datasets_finds_the_positions_of_both(folder, records, tmp_path):
    changed = records[20:].copy()
    changed["score"][0] += 50
    other = tmp_path / "other.npy"
    np.save(other, changed)
    found = diff.diff(folder / "data/validation.npy", other)
    key = [(r["occupied"], r["pieces_low"], r["pieces_high"], r["flags"], r["ep"]) for r in records]
    assert found.facts["different_positions_in_both"] == len(set(key) & set(key[20:]))
    assert found.facts["with_another_score"] == 1


def test_diff_of_tables_tells_what_is_beyond_the_errors(folder, tmp_path):
    path = folder / "axis_table.csv"
    lines = path.read_text().splitlines()
    place = table.COLUMNS.index("elo")
    cells = lines[2].split(",")
    cells[place] = f"{float(cells[place]) + 900:.1f}"
    other = tmp_path / "axis_table.csv"
    other.write_text("\n".join([*lines[:2], ",".join(cells), *lines[3:]]) + "\n")
    (entry,) = diff.diff(path, other).tables["cells that differ"]
    assert (entry["feature_set"], entry["column"]) == ("H+PH+MC", "elo")
    assert entry["difference"] == 900
    assert entry["beyond_both_errors"] == "yes"
    said = json.loads(call("diff", path, other, "--json").stdout)
    assert said["cells that differ"] == [entry]


def test_diff_of_tables_tells_which_rows_are_in_one_only(folder, tmp_path):
    path = folder / "axis_table.csv"
    head, first, *others = path.read_text().splitlines()
    one, other = tmp_path / "one_table.csv", tmp_path / "other_table.csv"
    one.write_text("\n".join([head, first.replace("ALL", '"PHASE(4,ALL)"'), *others]) + "\n")
    other.write_text("\n".join([head, first]) + "\n")
    found = diff.diff(one, other)
    assert found.facts["only_in_a"] == "PHASE(4,ALL) and H+PH+MC"
    assert found.facts["only_in_b"] == "ALL"
    shown = call("diff", one, other).stdout
    assert "no row, so no cells are compared" in shown
    assert "cells that differ" not in shown
    assert "only_in_b" not in diff.diff(path, other).facts


def test_files_of_two_kinds_are_not_compared(folder):
    with pytest.raises(UserError, match="of the kind table"):
        diff.diff(folder / "axis_table.csv", folder / "data/validation.npy")
