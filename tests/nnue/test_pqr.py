"""What nets say of held-out triplets: material against python-chess, floats against torch's own
operators, integers against FENs, counts and intervals by hand, what training validates with."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path
from typing import Any

import chess
import numpy as np
import pytest
import scipy.stats
import torch
from click.testing import Result
from typer.testing import CliRunner

from nnuelab import intervals
from nnuelab.cli import pqr as _command  # noqa: F401  registers the command
from nnuelab.cli import report as _inspect  # noqa: F401
from nnuelab.cli.app import app
from nnuelab.data.records import NO_SCORE, RECORD, from_fen, to_fen
from nnuelab.errors import UserError
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.nnue import netfile, pqr
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.losses import PQR
from nnuelab.nnue.quantize import quantize
from nnuelab.nnue.trainer import Settings
from nnuelab.nnue.training import train
from nnuelab.report import pqr as figures
from tests.naive import nnue as naive
from tests.nnue_data import games, material, write_datasets
from tests.nnue_nets import random_games

SETTINGS = Settings(
    "ALL", l1=32, l2=8, epochs=2, batch_size=256, learning_rate=5e-3, objective=PQR()
)
UNTRAINED = "untrained ALL, 768 -> 32 x2 -> 8 -> 1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint trained by PQR, its integers, and the two datasets."""
    path = tmp_path_factory.mktemp("pqr")
    data = write_datasets(path, greedy=True)
    train(SETTINGS, *data, path / "checkpoint.pt", path / "history.csv", 1)
    netfile.write_net(path / "net.nnue", quantize(Checkpoint.read(path / "checkpoint.pt"), "fine"))
    return path


def call(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["pqr", *map(str, arguments)])


def test_material_is_that_of_python_chess() -> None:
    fens = random_games(6)
    found = pqr.material(np.array([from_fen(fen) for fen in fens], RECORD))
    expected = [material(chess.Board(fen)) for fen in fens]
    assert found.tolist() == expected
    assert min(expected) < -300
    assert max(expected) > 300


def test_triplets_are_those_that_training_validates_with(folder: Path) -> None:
    asked = pqr.held_out(folder / "validation.npy", 0)
    said = pqr.values({"net": folder / "checkpoint.pt"}, asked)["net"]
    found = pqr.judge("net", said, asked.games)
    with open(folder / "history.csv", newline="") as file:
        last = list(csv.DictReader(file))[-1]
    assert found.right_sign == float(last["right_sign"])
    losses = PQR().losses(torch.from_numpy(said).reshape(-1), torch.zeros(len(said)))
    assert float(losses.mean()) == pytest.approx(float(last["validation_loss"]), rel=1e-5)


def test_fewer_triplets_are_evenly_spaced_ones(folder: Path) -> None:
    every = pqr.held_out(folder / "validation.npy", 0).records.reshape(-1, 3)
    some = pqr.held_out(folder / "validation.npy", 10).records.reshape(-1, 3)
    assert len(some) == 10
    places = [int(np.flatnonzero((every == row).all(1))[0]) for row in some]
    assert places[0] == 0
    assert places[-1] == len(every) - 1
    assert np.ptp(np.diff(places)) <= 1
    assert len(pqr.held_out(folder / "validation.npy", 10**9)) == len(every)


def test_a_checkpoint_says_what_torch_says_by_its_own_operators(folder: Path) -> None:
    asked = pqr.held_out(folder / "validation.npy", 200)
    trained = Checkpoint.read(folder / "checkpoint.pt")
    features, network = trained.features, trained.network().double()
    batch = extract(compiled(features), asked.records, features.max_active)
    with torch.no_grad():
        expected = network.head(naive.first_layer(network.w1, network.b1, batch))
    found = pqr.values({"net": folder / "checkpoint.pt"}, asked)["net"]
    np.testing.assert_allclose(found.ravel(), expected.numpy(), atol=0.05)
    assert expected.std() > 20


def test_an_integer_net_says_what_the_engine_says(folder: Path) -> None:
    asked = pqr.held_out(folder / "validation.npy", 100)
    found = pqr.values({"net": folder / "net.nnue"}, asked)["net"]
    fens = [to_fen(record) for record in asked.records]
    evaluator = Inference(netfile.read_net(folder / "net.nnue"))
    assert found.ravel().tolist() == evaluator.evaluate_fens(fens)


def test_there_is_one_untrained_net_of_each_shape(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = pqr.held_out(folder / "validation.npy", 100)
    nets = {"a": folder / "checkpoint.pt", "b": folder / "net.nnue"}
    said = pqr.values(nets, asked)
    assert list(said) == ["a", "b", UNTRAINED, "material"]
    monkeypatch.setattr(pqr, "UNTRAINED_SEED", 2)
    assert (said[UNTRAINED] != pqr.values(nets, asked)[UNTRAINED]).any()
    with pytest.raises(UserError, match="give that net another name"):
        pqr.values({"material": nets["a"]}, asked)


@pytest.mark.parametrize("shape", [{}, {"l3": 4, "activation": "squared", "buckets": 2}])
def test_the_untrained_net_is_the_one_that_training_begins_with(
    shape: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    settings = Settings(
        "ALL",
        32,
        8,
        **shape,
        epochs=1,
        batch_size=256,
        learning_rate=1e-12,
        seed=pqr.UNTRAINED_SEED,
    )
    data = folder / "train.npy", folder / "validation.npy"
    train(settings, *data, tmp_path / "start.pt", tmp_path / "history.csv", 1)
    start = Checkpoint.read(tmp_path / "start.pt")
    netfile.write_net(tmp_path / "net.nnue", quantize(start, "fine"))
    asked = pqr.held_out(data[1], 100)
    said = pqr.values({"start": tmp_path / "start.pt", "net": tmp_path / "net.nnue"}, asked)
    assert len(said) == 4
    (untrained,) = (said[name] for name in said if name.startswith("untrained"))
    np.testing.assert_allclose(said["start"], untrained, atol=1e-3)


def test_training_beats_no_training(folder: Path) -> None:
    asked = pqr.held_out(folder / "validation.npy", 0)
    said = pqr.values({"net": folder / "checkpoint.pt"}, asked)
    trained, untrained, counted = (pqr.judge(k, v, asked.games) for k, v in said.items())
    assert trained.right_sign_low > untrained.right_sign_high
    assert untrained.with_coin_low < 0.6
    assert counted.right_sign > 0.8  # of greedy moves, who counts knows nearly all


def test_a_judgement_by_hand() -> None:
    said = np.array([(100, -100, 50), (0, 20, 20), (-200, 180, 100), (300, -310, -300)], float)
    found = pqr.judge("net", said, np.arange(4))
    assert (found.right_sign, found.tied, found.with_coin) == (0.5, 0.25, 0.625)
    # Wilson, by its formula: (p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n)
    n, z = 4, 1.959964
    half = z * math.sqrt(0.25 / n + z * z / (4 * n * n)) / (1 + z * z / n)
    assert found.right_sign_low == pytest.approx(0.5 - half, abs=1e-6)
    assert found.right_sign_high == pytest.approx(0.5 + half, abs=1e-6)
    line = scipy.stats.linregress(said[:, 1], said[:, 0])
    assert found.correlation == pytest.approx(line.rvalue)
    assert found.slope == pytest.approx(line.slope)


def test_triplets_that_repeat_their_game_tell_nothing_new() -> None:
    rng = np.random.default_rng(1)
    said, of = rng.normal(0, 100, (300, 3)), np.arange(300) // 2
    once = pqr.judge("net", said, of)
    again = pqr.judge("net", np.repeat(said, 5, axis=0), np.repeat(of, 5))
    assert again.right_sign_low == pytest.approx(once.right_sign_low)
    assert again.with_coin_high == pytest.approx(once.with_coin_high)
    alone = pqr.judge("net", np.repeat(said, 5, axis=0), np.arange(1500))
    assert alone.right_sign_low > again.right_sign_low


def test_intervals_cover_the_share_of_clustered_trials() -> None:
    """19 of 20, where trials of a cluster are alike; counted one by one, far fewer."""
    rng, covered, naively = np.random.default_rng(4), 0, 0
    for _ in range(400):
        asked = rng.integers(5, 40, 100)
        right = rng.binomial(asked, rng.beta(6, 4, 100)).astype(float)
        low, high = intervals.clustered(asked.astype(float), right)
        covered += low <= 0.6 <= high
        low, high = intervals.wilson(right.sum(), asked.sum())
        naively += low <= 0.6 <= high
    assert 365 <= covered <= 395
    assert naively < 340


def test_one_value_for_everything_has_no_correlation() -> None:
    found = pqr.judge("dead", np.full((10, 3), 7.0), np.arange(10))
    assert (found.correlation, found.slope, found.tied) == (None, None, 1)
    assert found.with_coin == 0.5
    assert figures.to_csv([found]).endswith(",,\n")


def test_a_file_without_games_counts_each_triplet() -> None:
    records = np.zeros(12, RECORD)
    assert pqr.Triplets(records).games.tolist() == [0, 1, 2, 3]
    records["game"] = np.repeat([5, 5, 6, 6], 3)
    assert pqr.Triplets(records).games.tolist() == [5, 5, 6, 6]


def test_the_figure_shows_every_triplet_once(folder: Path) -> None:
    rng = np.random.default_rng(3)
    said = {"a": rng.normal(0, 200, (5000, 3)), "b": np.zeros((7, 3))}
    told = figures.content([], said)["pqr_centipawns"]
    assert [len(drawn) for drawn in told.values()] == [figures.DRAWN, 7]
    spec = figures.figure(told).spec
    for row, drawn in zip(spec["vconcat"], map(np.array, told.values()), strict=True):
        scatter, histogram = row["hconcat"]
        shown = scatter["layer"][0]["data"]["values"]
        assert len(drawn) * (2 * figures.EDGE - 1) <= len(shown) <= len(drawn)
        bars = histogram["data"]["values"]
        assert sum(bar["count"] for bar in bars) == len(drawn)
        wrong = sum(bar["count"] for bar in bars if bar["sign"] == "wrong")
        assert wrong == np.count_nonzero(drawn[:, 2] < drawn[:, 1])


def test_the_command_writes_what_it_says(folder: Path, tmp_path: Path) -> None:
    outputs = {kind: tmp_path / f"pqr.{kind}" for kind in ("json", "csv", "svg")}
    done = call(
        f"trained={folder / 'checkpoint.pt'}",
        folder / "net.nnue",
        *("--positions", folder / "validation.npy", "--count", 300, "--json"),
        *("--output", outputs["json"], "--csv", outputs["csv"], "--plot", outputs["svg"]),
    )
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    names = ["trained", str(folder / "net.nnue"), UNTRAINED, "material"]
    assert [net["net"] for net in told["nets"]] == names
    assert told["triplets"] == 300
    kept = json.loads(outputs["json"].read_text())
    assert kept["nets"] == told["nets"]
    assert [len(drawn) for drawn in kept["pqr_centipawns"].values()] == [300, 300]
    with open(outputs["csv"], newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["net"] for row in rows] == names
    assert float(rows[0]["right_sign"]) == pytest.approx(told["nets"][0]["right_sign"], abs=1e-5)
    assert outputs["svg"].read_text().startswith("<svg")
    for path in outputs.values():
        assert json.loads(path.with_name(path.name + ".json").read_text())["inputs"]
    shown = CliRunner().invoke(app, ["inspect", str(outputs["json"])]).stdout
    assert "trained" in shown
    assert "material" in shown
    drawn = tmp_path / "again.png"
    done = CliRunner().invoke(app, ["inspect", str(outputs["json"]), "--plot", str(drawn)])
    assert done.exit_code == 0
    assert drawn.read_bytes().startswith(b"\x89PNG")


def test_bad_input_is_told_in_one_line(folder: Path, tmp_path: Path) -> None:
    net, positions = folder / "checkpoint.pt", folder / "validation.npy"
    every = games(2).copy()
    every["move"] = 0
    np.save(tmp_path / "unmoved.npy", every)
    (tmp_path / "cut.pt").write_bytes(net.read_bytes()[:5000])
    (tmp_path / "text.pt").write_text("no net")
    for arguments, message in [
        ([tmp_path / "none.pt", "--positions", positions], "can't read"),
        ([tmp_path / "cut.pt", "--positions", positions], "cut.pt"),
        ([tmp_path / "text.pt", "--positions", positions], "text.pt"),
        ([net, "--positions", tmp_path / "none.npy"], "none.npy"),
        ([net, "--positions", tmp_path / "unmoved.npy"], "no position with its move"),
        ([net, net, "--positions", positions], "is given twice"),
        (["x=", "--positions", positions], "give a path, or NAME=PATH"),
        ([net, "--positions", positions, "--csv", positions], "would overwrite"),
    ]:
        done = call(*arguments)
        assert done.exit_code == 1, arguments
        lines = done.stderr.strip().splitlines()
        assert len(lines) == 1, lines
        assert message in lines[0]


def test_a_net_that_says_no_number_is_refused(folder: Path, tmp_path: Path) -> None:
    broken = Checkpoint.read(folder / "checkpoint.pt")
    broken.model["b3"][:] = math.nan
    broken.write(tmp_path / "nan.pt")
    asked = pqr.held_out(folder / "validation.npy", 5)
    with pytest.raises(UserError, match="not a number; train it again"):
        pqr.values({"net": tmp_path / "nan.pt"}, asked)


def test_positions_without_a_score_are_asked_too(folder: Path) -> None:
    records = np.load(folder / "validation.npy")
    asked = pqr.held_out(folder / "validation.npy", 0).records[::3]
    assert (records["score"] == NO_SCORE).any()
    assert (asked["score"] == NO_SCORE).any()
