"""Fake quantization: training sees what the integer net does, and gains by it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nnuelab import features
from nnuelab.data.records import RECORD
from nnuelab.errors import UserError
from nnuelab.learning.checkpoint import Running
from nnuelab.learning.loader import Labelled, Loader
from nnuelab.learning.optimizers import DenseAdam
from nnuelab.learning.parallel import Threads
from nnuelab.nnue import inference, verify
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.layers import Layers, activated
from nnuelab.nnue.network import Network, quantized
from nnuelab.nnue.quantize import quantize
from nnuelab.nnue.scales import shifts_of
from nnuelab.nnue.trainer import Settings, Trainer
from nnuelab.nnue.training import train
from tests.nnue.test_training_shapes import random_batch
from tests.nnue_data import games, write_datasets

SETTINGS = Settings("H+V", l1=32, l2=8, epochs=4, batch_size=128, learning_rate=5e-3)
KINDS: list[dict[str, Any]] = [
    {},
    {"activation": "squared"},
    {"l3": 12},
    {"activation": "squared", "buckets": 5, "l3": 16},
    {"activation": "dual", "l3": 12},
]
PAIRS = {"pairwise": True, "l3": 12}


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_datasets(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("activation", ["clipped", "squared"])
@pytest.mark.parametrize("shift", range(5))
def test_every_sum_has_the_activation_of_the_integer_net(activation: str, shift: int) -> None:
    sums = np.arange(-200 << shift, 200 << shift)
    clipped = torch.from_numpy(sums / (127 << shift)).float().clamp(0, 1)
    found = quantized(clipped, shift, activation).double().numpy()
    if activation == "clipped":
        sums = sums + (1 << shift) // 2  # which quantize adds to the biases
        wanted = activated(sums, shift, activation) / 127
        np.testing.assert_allclose(found, wanted, atol=1e-6)
    else:
        wanted = activated(sums, shift, activation) * 128 / 127**2
        np.testing.assert_allclose(found**2, wanted, atol=1e-6)


def trained(kind: dict[str, Any], rounding: bool) -> Checkpoint:
    """A net after steps on random scores, which rounds from then on or does not."""
    trainer = Trainer(replace(SETTINGS, **kind), features.parse("H+V"), Threads(1))
    trainer.network.b1.data += 0.1
    for seed in range(20):
        batch = random_batch(192, 256, seed)
        target = torch.rand(256, generator=torch.Generator().manual_seed(seed))
        trainer.step(Labelled(batch, target, 256, np.zeros(256, RECORD)), 5e-3)
    trainer.network.w3.data *= 5  # so that the rounding before outweighs that to centipawns
    if rounding:
        trainer.fake_quantize()
    return Checkpoint(
        feature_set="H+V",
        settings=trainer.settings.described(),
        epoch=1,
        model=dict(trainer.network.state_dict()),
        optimizer={},
        activations=torch.zeros(2 * trainer.network.layers.inputs),
        generator=torch.empty(0),
        running=Running(),
        shifts=dict(trainer.network.shifts),
    )


@pytest.mark.parametrize("kind", [*KINDS, PAIRS])
def test_a_net_that_rounds_is_the_integer_net(kind: dict[str, Any]) -> None:
    positions = games(3)[::2]
    rms = []
    for rounding in (True, False):
        checkpoint = trained(kind, rounding)
        net = quantize(checkpoint)
        if rounding:
            assert checkpoint.shifts.items() <= net.shifts.items()
        integers = inference.integer_outputs(net, positions)
        floats = verify.float_outputs(checkpoint.features, checkpoint.network(), positions)
        difference = integers - floats
        assert verify.saturated(net, positions) == 0
        # What is left is the rounding to centipawns, and of pairs that of their products.
        if rounding and kind != PAIRS:
            assert np.abs(difference).max() <= 0.51
        rms.append(float(np.sqrt(np.mean(difference**2))))
    assert rms[0] < rms[1] / 2


@pytest.mark.parametrize("kind", [*KINDS, PAIRS, {"factorize": "all"}])
def test_torch_operators_round_as_the_kernels_do(kind: dict[str, Any]) -> None:
    """What a GPU does, here on the CPU."""
    ours, theirs = (
        Trainer(replace(SETTINGS, **kind), features.parse("H+V"), Threads(1)) for _ in range(2)
    )
    theirs._layers = None  # as on another device
    theirs.optimizer = DenseAdam(theirs.network.parameters(), 1e-3)
    for trainer in (ours, theirs):
        trainer.network.b1.data += 0.1
        trainer.fake_quantize()
    for seed in range(3):
        batch = random_batch(192, 300, seed)
        target = torch.rand(300, generator=torch.Generator().manual_seed(seed))
        both = Labelled(batch, target, 300, np.zeros(300, RECORD))
        losses = [t.step(both, 1e-3) for t in (ours, theirs)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_gradients_pass_as_if_nothing_were_rounded() -> None:
    """Those of the weights of a layer are off by no more than what the layer gets."""
    networks = [
        Network(Layers(192, 32, 8, l3=4), torch.Generator().manual_seed(1)).double()
        for _ in range(2)
    ]
    networks[1].shifts = shifts_of(networks[1], features.parse("H+V"))
    sums = torch.rand(50, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
    found = []
    for network in networks:
        network.rest(sums).sum().backward()
        assert network.wh.grad is not None
        found.append(network.wh.grad)
    # An activation is off by half a level of 127 at most, and so is the gradient of what it meets.
    most = 0.05 * float(found[0].abs().max())
    torch.testing.assert_close(found[0], found[1], rtol=0.05, atol=most)
    assert not torch.equal(*found)


def integer_loss(path: Path, validation: Path) -> float:
    """Validation loss of the integer net."""
    checkpoint = Checkpoint.read(path)
    loader = Loader(validation, checkpoint.features, SETTINGS.objective, 1 << 20)
    (labelled,) = loader.in_order()
    values = inference.integer_outputs(quantize(checkpoint), labelled.records)
    outputs = torch.from_numpy(values.astype(np.float32))
    return float(SETTINGS.objective.losses(outputs, labelled.target).double().mean())


def test_what_training_says_is_the_loss_of_the_integer_net(
    datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, fake_quantize_epochs=1)
    path = tmp_path / "checkpoint.pt"
    done = train(settings, *datasets, path, tmp_path / "history.csv", 1)
    assert done.shifts
    told = done.history[-1]["validation_loss"]
    assert integer_loss(path, datasets[1]) == pytest.approx(told, rel=5e-3)
    assert not settings.extendable


def test_a_run_that_may_end_early_has_no_last_epochs(
    datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, fake_quantize_epochs=1, patience=1)
    with pytest.raises(UserError, match="give one of them"):
        train(settings, *datasets, tmp_path / "checkpoint.pt", tmp_path / "history.csv", 1)
    assert not list(tmp_path.iterdir())
