"""What groups of features are worth: against a net in numpy that gets the other features alone."""

from __future__ import annotations

import csv
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import chess.pgn
import numpy as np
import pytest
import torch
from click.testing import Result
from typer.testing import CliRunner

import nnuelab.cli.net  # noqa: F401  (registers the commands)
from nnuelab.cli.app import app
from nnuelab.data.records import to_fen
from nnuelab.features.groups import groups
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.nnue import netfile
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.importance import Measurement, row_sums
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.losses import PQR
from nnuelab.nnue.quantize import quantize
from nnuelab.nnue.training import train
from tests.naive import nnue as naive
from tests.nnue.material import SETTINGS, train_on_material


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small net trained on material, and other games."""
    path = tmp_path_factory.mktemp("importance")
    train_on_material(path)
    netfile.write_net(path / "net.nnue", quantize(Checkpoint.read(path / "checkpoint.pt")))
    return path


def kept(folder: Path, members: np.ndarray) -> tuple[np.ndarray, list[list[list[int]]]]:
    """Positions with a score, and the features of both players that are in no group."""
    records = np.load(folder / "validation.npy")
    records = records[records["score"] != -32768]
    features = Checkpoint.read(folder / "checkpoint.pt").features
    batch = extract(compiled(features), records, features.max_active)
    return records, [
        [[row for row in rows[:n] if not members[row]] for rows, n in zip(*side, strict=True)]
        for side in zip(batch.rows, batch.n, strict=True)
    ]


def losses(folder: Path, members: np.ndarray) -> np.ndarray:
    """By the formulas in float64."""
    records, sides = kept(folder, members)
    w = {k: v.double().numpy() for k, v in Checkpoint.read(folder / "checkpoint.pt").model.items()}
    found = []
    for record, *lists in zip(records, *sides, strict=True):
        x = np.concatenate([w["b1"] + w["w1"][rows].sum(axis=0) for rows in lists])
        y = np.clip(w["b2"] + w["w2"] @ np.clip(x, 0, 1), 0, 1)
        said = 600 * (w["b3"] + w["w3"].ravel() @ y).item()
        target = 1 / (1 + np.exp(-record["score"] / 410))
        found.append(abs(1 / (1 + np.exp(-said / 361)) - target) ** 2.6)
    return np.array(found)


@pytest.mark.parametrize("by", ["term", "role*color"])
def test_masking_is_a_net_that_never_hears_of_the_group(folder: Path, by: str) -> None:
    measured = Measurement(folder / "checkpoint.pt", folder / "validation.npy", 10_000, False)
    whole = losses(folder, np.zeros(measured.checkpoint.features.size, dtype=bool))
    assert measured.loss == pytest.approx(whole.mean(), rel=1e-4)
    members = groups(measured.checkpoint.features, by)
    for row in measured.of_groups(by):
        rise = losses(folder, members[row.group]) - whole
        assert row.rise == pytest.approx(rise.mean(), abs=1e-6)
        assert row.refit_rise is None


def test_groups_together_are_one_group(folder: Path) -> None:
    measured = Measurement(folder / "checkpoint.pt", folder / "validation.npy", 10_000, False)
    (row,) = measured.of_groups("term*role", ["H, queen", "ALL, queen"])
    (queen,) = [row for row in measured.of_groups("role") if row.group == "queen"]
    assert row.group == "H, queen and ALL, queen"
    assert replace(row, by="role", group="queen") == queen


def test_activity_and_norms_are_counted(folder: Path) -> None:
    measured = Measurement(folder / "checkpoint.pt", folder / "validation.npy", 10_000, False)
    features = measured.checkpoint.features
    norms = np.linalg.norm(measured.checkpoint.model["w1"].numpy(), axis=1)
    for row in measured.of_groups("term*role"):
        members = groups(features, "term*role")[row.group]
        _, sides = kept(folder, ~members)
        lists = [rows for side in sides for rows in side]
        assert row.features == members.sum()
        assert row.active == pytest.approx(np.mean([len(rows) for rows in lists]))
        assert row.share == pytest.approx(np.mean([bool(rows) for rows in lists]))
        assert row.norm == pytest.approx(np.mean([norms[rows].sum() for rows in lists]), rel=1e-4)


def test_fitting_anew_lowers_the_loss_of_what_is_fitted(folder: Path) -> None:
    measured = Measurement(folder / "checkpoint.pt", folder / "validation.npy", 10_000, True)
    network, sample = measured.network, measured.fit
    assert sample is not None
    assert not set(sample.games) & set(measured.test.games)
    for members in groups(measured.checkpoint.features, "term").values():
        masked = sample.without(torch.from_numpy(np.append(members, False)))
        sums = row_sums(network, masked)
        refitted = measured.refitted(sums)
        # It begins with biases that stand for the mean of the missing rows.
        start = deepcopy(network)
        start.b1.add_((row_sums(network, sample) - sums).view(-1, SETTINGS.l1).mean(dim=0))
        before, after = (measured.losses_of(n, sums, masked).mean() for n in (start, refitted))
        assert after < before
        assert refitted.w1.equal(network.w1)
    # The net itself stays as it is, and what is fitted is the same again.
    assert network.b1.equal(measured.checkpoint.model["b1"])
    assert list(measured.of_groups("term")) == list(measured.of_groups("term"))


def test_nothing_is_lost_with_features_that_never_occur(folder: Path) -> None:
    measured = Measurement(folder / "checkpoint.pt", folder / "validation.npy", 10_000, True)
    (row,) = [row for row in measured.of_groups("role*rank") if row.group == "pawn, rank 1"]
    found = row.active, row.share, row.norm, row.rise, row.rise_error, row.refit_rise
    assert found == (0, 0, 0, 0, 0, 0)


def test_a_masked_net_evaluates_without_the_group(folder: Path) -> None:
    masked = folder / "masked.nnue"
    chosen = ["--by", "term*role", "--without", "H, queen", "--without", "ALL, queen"]
    command = ["net", "mask", str(folder / "net.nnue"), *chosen, "--output", str(masked)]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    net, before = netfile.read_net(masked), netfile.read_net(folder / "net.nnue")
    members = groups(net.features, "role")["queen"]
    records, sides = kept(folder, members)
    said = Inference(net).evaluate_fens([to_fen(record) for record in records])
    assert said == [naive.evaluate(before, *lists) for lists in zip(*sides, strict=True)]
    assert before.w1[members].any()
    values = np.arange(1, len(before.w1) + 1, dtype=np.int32)
    netfile.write_net(folder / "psqt.nnue", replace(before, psqt=values))
    command[2] = str(folder / "psqt.nnue")
    assert CliRunner().invoke(app, command).exit_code == 0
    np.testing.assert_array_equal(netfile.read_net(masked).psqt, values * ~members)
    wrong = CliRunner().invoke(app, [*command, "--without", "H, quen"])
    assert wrong.exit_code == 1
    assert "did you mean H, queen?" in wrong.output


def test_the_command_writes_a_table_and_a_figure(folder: Path) -> None:
    output, plot = folder / "importance.csv", folder / "importance.svg"
    options = ["--positions", folder / "validation.npy", "--output", output, "--plot", plot]
    command = ["importance", folder / "checkpoint.pt", *options, "--by", "term"]
    done = CliRunner().invoke(app, [*map(str, command)])
    assert done.exit_code == 0, done.output
    assert output.read_text() in done.output
    with output.open() as file:
        assert [row["group"] for row in csv.DictReader(file)] == ["ALL", "H"]
    assert plot.read_bytes().startswith(b"<svg")


def test_games_tell_what_groups_are_worth(folder: Path, tmp_path: Path) -> None:
    def run(net: Path, *options: str) -> Result:
        command = [
            "importance",
            *("--positions", folder / "validation.npy", "--output", tmp_path / "with.csv"),
            *("--net", net, "--by", "role", "--games", "20", "--nodes", "60", "--no-refit"),
        ]
        return CliRunner().invoke(
            app, [*map(str, command), str(folder / "checkpoint.pt"), *options]
        )

    done = run(folder / "net.nnue", "--workers", "1")
    assert done.exit_code == 0, done.output
    with (tmp_path / "with.csv").open() as file:
        rows = {row["group"]: row for row in csv.DictReader(file)}
    assert float(rows["queen"]["elo"]) < 0
    # The same games, rated by themselves: 20 of each group, against the whole net alone.
    points: dict[str, list[float]] = {}
    with (tmp_path / "with.pgn").open() as pgn:
        while (game := chess.pgn.read_headers(pgn)) is not None:
            first, second = game["White"], game["Black"]
            assert "whole" in (first, second)
            won = {"1-0": 1.0, "0-1": 0.0, "1/2-1/2": 0.5}[game["Result"]]
            masked, won = (first, won) if second == "whole" else (second, 1 - won)
            points.setdefault(masked.removeprefix("without "), []).append(won)
    assert {group: len(results) for group, results in points.items()} == dict.fromkeys(rows, 20)
    for group, results in points.items():
        share = np.mean(results)
        elo = (
            400 * np.log10(share / (1 - share)) if 0 < share < 1 else np.sign(share - 0.5) * np.inf
        )
        assert float(rows[group]["elo"]) == pytest.approx(elo, abs=0.01)

    without = ["--without", "queen", "--without", "rook", "--pgn", str(tmp_path / "two.pgn")]
    done = run(folder / "net.nnue", *without)
    assert done.exit_code == 0, done.output
    with (tmp_path / "with.csv").open() as file:
        (row,) = csv.DictReader(file)
    assert row["group"] == "queen and rook"
    assert float(row["elo"]) < 0
    other = replace(netfile.read_net(folder / "net.nnue"), feature_set="ALL+V")
    netfile.write_net(tmp_path / "other.nnue", other)
    for wrong, options, told in (
        (tmp_path / "other.nnue", [], "is a net of ALL+V"),
        (folder / "net.nnue", ["--games", "7"], "7 games don't form pairs"),
        (folder / "net.nnue", ["--pgn", "games.txt"], "a PGN file"),
    ):
        assert told in run(wrong, *options).output


def test_what_it_cannot_measure_is_an_error(folder: Path, tmp_path: Path) -> None:
    def refused(checkpoint: Path, positions: Path, by: str = "term") -> str:
        command = ["importance", checkpoint, "--positions", positions, "--by", by]
        done = CliRunner().invoke(app, [*map(str, command), "--output", str(tmp_path / "o.csv")])
        assert done.exit_code == 1
        return done.output

    records = np.load(folder / "validation.npy")
    one, none = tmp_path / "one.npy", tmp_path / "none.npy"
    np.save(one, records[records["game"] == records["game"][0]])
    records["score"] = -32768
    np.save(none, records)
    moves = tmp_path / "moves.pt"
    pqr = replace(SETTINGS, objective=PQR(), epochs=1)
    data = folder / "train.npy", folder / "validation.npy"
    train(pqr, *data, moves, tmp_path / "history.csv", 1)
    psqt = tmp_path / "psqt.pt"
    train(replace(SETTINGS, psqt=True, epochs=1), *data, psqt, tmp_path / "history.csv", 1)
    assert "has a psqt" in refused(psqt, data[1])
    trained = folder / "checkpoint.pt"
    assert "only by term" in refused(trained, data[1], "knights")
    assert "too few games, 1; 4 are needed" in refused(trained, one)
    assert "no position with a score" in refused(trained, none)
    assert "learnt from moves" in refused(moves, data[1])
