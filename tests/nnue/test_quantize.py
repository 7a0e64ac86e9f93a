"""Quantization: what is written equals the float net within bounds, and nothing wraps silently."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from nnuelab import features
from nnuelab.cli import nnue as _commands  # noqa: F401  registers the commands
from nnuelab.cli.app import app
from nnuelab.data.records import RECORD, from_fen
from nnuelab.errors import UserError
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.nnue import inference, verify
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.inference import Inference
from nnuelab.nnue.layers import Layers
from nnuelab.nnue.netfile import Net, read_net, write_net, write_nn
from nnuelab.nnue.network import Network
from nnuelab.nnue.quantize import centred, quantize
from nnuelab.nnue.scales import accumulator_range
from tests.naive import nnue as naive
from tests.nnue_nets import random_games


def a_checkpoint(feature_set: str = "ALL", l1: int = 64, l2: int = 16, seed: int = 0) -> Checkpoint:
    """An untrained net with spread-out outputs."""
    layers = Layers(features.parse(feature_set).size, l1, l2)
    network = Network(layers, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        network.w1 *= 4
        network.b1.uniform_(-0.1, 0.1, generator=torch.Generator().manual_seed(seed))
        network.w2 *= 3
        network.w3 *= 3
    return Checkpoint(
        feature_set=feature_set,
        settings={"seed": seed},
        epoch=1,
        model=dict(network.state_dict()),
        optimizer={},
        activations=torch.zeros(2 * l1),
        generator=torch.empty(0),
    )


def mean_activations(checkpoint: Checkpoint, dataset: Path) -> torch.Tensor:
    feature_set, network = features.parse(checkpoint.feature_set), checkpoint.network()
    batch = extract(compiled(feature_set), np.load(dataset), feature_set.max_active)
    return naive.first_layer(network.w1, network.b1, batch).detach().mean(0)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("positions") / "positions.npy"
    np.save(path, np.array([from_fen(fen) for fen in random_games(8)], RECORD))
    return path


@pytest.mark.parametrize("feature_set", ["ALL", "D1+D2", "ALL+H+V+D1+D2"])
def test_fine_is_close_to_float_and_centred(
    feature_set: str, dataset: Path, tmp_path: Path
) -> None:
    checkpoint = a_checkpoint(feature_set)
    checkpoint.activations = mean_activations(checkpoint, dataset)
    checkpoint.write(tmp_path / "c.pt")
    figures = {}
    for scheme in ("fine", "int8", "study"):
        write_net(tmp_path / "net.nnue", quantize(checkpoint, scheme))
        figures[scheme] = verify.verify(tmp_path / "net.nnue", tmp_path / "c.pt", dataset, 50_000)
    fine, narrow, study = figures.values()
    assert fine["n"] == len(np.load(dataset))
    assert abs(fine["mean_cp"]) < 1
    assert fine["rms_cp"] < 0.65 * study["rms_cp"]
    assert fine["rms_cp"] < narrow["rms_cp"] < study["rms_cp"]
    assert fine["saturated"] == narrow["saturated"] == study["saturated"] == 0
    assert study["share_within_50"] > 0.97


def test_the_mean_error_on_other_positions_is_taken_out(dataset: Path, tmp_path: Path) -> None:
    checkpoint = a_checkpoint()
    net = quantize(checkpoint)
    off = replace(net, b3=net.b3 + (40 << net.out_shift))
    # Drawn: every second position of a game has the same side to move.
    records = np.random.default_rng(1).permutation(np.load(dataset))
    seen, unseen = np.array_split(records, 2)
    found = centred(off, checkpoint, seen)

    def error(net: Net, chosen: np.ndarray) -> np.ndarray:
        floats = verify.float_outputs(checkpoint.features, checkpoint.network(), chosen)
        return inference.integer_outputs(net, chosen) - floats

    assert error(off, seen).mean() > 30
    assert abs(error(found, seen).mean()) < 0.1
    assert abs(error(found, unseen).mean()) < 4 * error(net, unseen).std() / len(unseen) ** 0.5
    assert found.provenance["centred"]["positions"] == len(seen)
    few = centred(off, checkpoint, seen[:10])
    assert np.array_equal(few.b3, off.b3)


def test_the_command_centres_by_a_dataset(dataset: Path, tmp_path: Path) -> None:
    checkpoint, net = tmp_path / "c.pt", tmp_path / "net.nnue"
    trained = a_checkpoint()
    trained.write(checkpoint)
    command = ["quantize", str(checkpoint), "--output", str(net), "--positions", str(dataset)]
    assert CliRunner().invoke(app, command).exit_code == 0
    expected = centred(quantize(trained), trained, np.load(dataset))
    assert read_net(net).b3.tolist() == expected.b3.tolist()
    provenance = json.loads(Path(f"{net}.json").read_text())
    assert set(provenance["inputs"]) == {"checkpoint", "positions"}
    assert CliRunner().invoke(app, [*command, "--count", "0"]).exit_code == 0
    assert read_net(net).b3.tolist() == quantize(trained).b3.tolist()
    refused = CliRunner().invoke(app, [*command, "--scheme", "study"])
    assert refused.exit_code == 1
    assert "leave out --positions" in refused.output


def test_neurons_that_are_often_zero_stand_together(dataset: Path) -> None:
    checkpoint = a_checkpoint()
    checkpoint.activations = mean_activations(checkpoint, dataset)
    net = quantize(checkpoint)
    w1, b1 = checkpoint.model["w1"].numpy(), checkpoint.model["b1"].numpy()
    scale = 127 * 2**net.l1_shift
    columns = np.rint(np.vstack([w1, b1 + 0.5 / 127]) * scale).T.tolist()  # biases round
    order = [columns.index(column) for column in np.vstack([net.w1, net.b1]).T.tolist()]
    assert sorted(order) == list(range(64))
    both = checkpoint.activations.numpy().reshape(2, -1).sum(axis=0)
    assert (np.diff(both[order]) >= 0).all()


def test_shifts_grow_as_far_as_the_types_allow() -> None:
    checkpoint = a_checkpoint()
    checkpoint.model["w2"].clamp_(-0.49, 0.49)
    checkpoint.model["w1"].mul_(0.1)
    net = quantize(checkpoint, "fine")
    assert (net.l1_shift, net.l2_shift, net.out_shift) == (3, 8, 12)
    checkpoint.model["w2"][0, 0] = 127 / 64
    checkpoint.model["w1"].mul_(80)
    checkpoint.model["w3"][0] = 20.0
    net = quantize(checkpoint, "fine")
    assert net.l1_shift < 3
    assert net.l2_shift == 6
    assert 32767 / 2 < np.abs(net.w3).max() <= 32767
    assert accumulator_range(net.w1, net.b1, features.parse("ALL")).fits


def test_rows_of_one_byte_have_the_shift_with_the_least_error() -> None:
    checkpoint = a_checkpoint()
    weights = checkpoint.model["w1"]
    found = []
    for spread in (0.02, 0.06, 0.12, 0.2, 0.5):
        weights.mul_(spread / weights.std())
        net = quantize(checkpoint, "int8")
        errors = {}
        for shift in range(4):
            scale = 127 * 2**shift
            stored = (weights * scale).round().clamp(-128, 127) / scale
            errors[shift] = float((stored - weights).square().sum())
        assert net.w1.dtype == np.int8
        assert net.l1_shift == min(errors, key=errors.__getitem__)
        found.append(net.l1_shift)
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == 4


def test_a_weight_that_does_not_fit_names_layer_count_and_range() -> None:
    checkpoint = a_checkpoint()
    checkpoint.model["w2"][0, :3] = torch.tensor([2.5, -3.0, 2.1])
    with pytest.raises(
        UserError, match=r"3 of 2048 second-layer weights don't fit int8.*-192 to 160"
    ):
        quantize(checkpoint, "fine")
    checkpoint = a_checkpoint()
    checkpoint.model["w3"][1] = 9.0
    with pytest.raises(UserError, match=r"1 of 16 output weights don't fit int8"):
        quantize(checkpoint, "study")
    checkpoint.model["w1"][5, 5] = float("nan")
    with pytest.raises(UserError, match="1 of 49152 first-layer weights"):
        quantize(checkpoint, "study")


@pytest.mark.parametrize("value", ["inf", "nan"])
def test_activations_that_are_no_numbers_are_refused(value: str) -> None:
    checkpoint = a_checkpoint()
    checkpoint.activations[3] = float(value)
    with pytest.raises(UserError, match=r"activations that aren't finite.*train again"):
        quantize(checkpoint)


def test_an_accumulator_that_could_overflow_is_an_error() -> None:
    checkpoint = a_checkpoint()
    checkpoint.model["w1"][:, 7] = 10.0  # 32 active rows of 1270 leave int16
    with pytest.raises(
        UserError, match=r"1 of 64 accumulators of ALL could overflow int16.* to 4\d{4} "
    ):
        quantize(checkpoint, "study")


def test_the_range_bounds_what_positions_do() -> None:
    net = quantize(a_checkpoint("H+V"), "fine")
    bound = accumulator_range(net.w1, net.b1, features.parse("H+V"))
    rng = np.random.default_rng(0)
    for _ in range(200):
        rows = np.concatenate([rng.choice(96, 30, replace=False) + 96 * i for i in range(2)])
        sums = net.b1 + net.w1[rows].sum(0, dtype=np.int64)
        assert bound.low <= sums.min()
        assert sums.max() <= bound.high


def test_a_net_that_wraps_is_counted(dataset: Path, tmp_path: Path) -> None:
    checkpoint = a_checkpoint()
    checkpoint.write(tmp_path / "c.pt")
    net = quantize(checkpoint, "study")
    wrong = Net("ALL", **{**net.arrays(), "w1": np.full_like(net.w1, 1500)})
    write_nn(tmp_path / "wrong.nn", wrong)
    figures = verify.verify(tmp_path / "wrong.nn", tmp_path / "c.pt", dataset, 300)
    assert 0 < figures["saturated"] <= figures["n"] == 300


def test_the_commands_write_files_with_provenance_and_fail_beyond_bounds(
    dataset: Path, tmp_path: Path
) -> None:
    checkpoint = a_checkpoint()
    checkpoint.write(tmp_path / "c.pt")
    runner = CliRunner()

    def call(*arguments: object) -> object:
        return runner.invoke(app, [str(argument) for argument in arguments])

    for name, extra in (("net.nnue", []), ("net.nn", ["--format", "nn"])):
        result = call("quantize", tmp_path / "c.pt", "--output", tmp_path / name, *extra)
        assert result.exit_code == 0, result.output
        assert json.loads((tmp_path / f"{name}.json").read_text())["inputs"]["checkpoint"]
    fens = random_games(1)[:20]
    fine, study = (Inference(read_net(tmp_path / name)) for name in ("net.nnue", "net.nn"))
    difference = np.subtract(fine.evaluate_fens(fens), study.evaluate_fens(fens))
    assert np.abs(difference).max() < 60

    check = ["verify", tmp_path / "net.nnue", "--checkpoint", tmp_path / "c.pt"]
    check += ["--positions", dataset, "--count", 100]
    check += ["--output", tmp_path / "v.json", "--plot", tmp_path / "v.png"]
    assert call(*check).exit_code == 0
    figures = json.loads((tmp_path / "v.json").read_text())
    assert figures["n"] == 100
    assert len(figures["worst"]) == 10
    assert set(figures["worst"][0]) == {"fen", "float_cp", "int_cp"}
    assert (tmp_path / "v.png").read_bytes()[:4] == b"\x89PNG"
    (tmp_path / "v.json").unlink()
    failed = call(*check, "--max-abs-mean", 1e-9)
    assert failed.exit_code == 1
    assert "allowed +-1e-09" in failed.stderr
    assert figures["worst"][0]["fen"] in failed.stderr
    assert (tmp_path / "v.json").exists()
    bounds = {"count": 100, "max_abs_mean": 1e-9, "min_share_within_50": 0.97}
    for name in ("v.json.json", "v.png.json"):
        assert json.loads((tmp_path / name).read_text())["parameters"] == bounds


def test_what_is_beyond_the_bounds_is_said_with_the_worst_positions() -> None:
    worst = [{"fen": f"fen{i}", "float_cp": 10.5 + i, "int_cp": -90 - i} for i in range(10)]
    figures = {"mean_cp": -0.5, "share_within_50": 0.9749, "worst": worst}
    verify.check(figures, 1, 0.97)
    with pytest.raises(UserError) as error:
        verify.check(figures, 1, 0.975)
    told = str(error.value)
    assert "97.49 % within 50 cp, at least 97.5 % wanted" in told
    assert "fen0: float 10.50, integer -90; fen1: float 11.50, integer -91" in told
    assert "\n" not in told


@pytest.mark.parametrize("value", [float("nan"), 1e30])
def test_verify_refuses_a_net_that_went_wrong(value: float, dataset: Path, tmp_path: Path) -> None:
    checkpoint = a_checkpoint("ALL")
    write_net(tmp_path / "net.nnue", quantize(checkpoint))
    checkpoint.model["b3"][:] = value
    checkpoint.write(tmp_path / "wrong.pt")
    with pytest.raises(UserError, match=r"training diverged; train again"):
        verify.verify(tmp_path / "net.nnue", tmp_path / "wrong.pt", dataset, 10)


def test_verify_refuses_the_checkpoint_of_another_net(dataset: Path, tmp_path: Path) -> None:
    write_net(tmp_path / "net.nnue", quantize(a_checkpoint("ALL")))
    a_checkpoint("H").write(tmp_path / "other.pt")
    with pytest.raises(UserError, match="give the checkpoint that the net was made from"):
        verify.verify(tmp_path / "net.nnue", tmp_path / "other.pt", dataset, 10)
