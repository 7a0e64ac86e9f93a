"""Training of nets of other shapes: against torch, differences and the integer net."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nnuelab import features
from nnuelab.data import validation
from nnuelab.data.records import RECORD
from nnuelab.errors import UserError
from nnuelab.learning.first_layer import FirstLayers, sums
from nnuelab.learning.loader import Labelled
from nnuelab.learning.optimizers import DenseAdam
from nnuelab.learning.parallel import Threads
from nnuelab.learning.sparse import Batch
from nnuelab.nnue import verify
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.layers import OF_FEATURES, Direct
from nnuelab.nnue.netfile import write_net
from nnuelab.nnue.network import CENTIPAWNS, L2_BOUND, Network
from nnuelab.nnue.quantize import centred, quantize
from nnuelab.nnue.trainer import Settings, Trainer
from nnuelab.nnue.training import train
from tests.naive import nnue as naive
from tests.nnue.test_training import dense_gradient
from tests.nnue_data import write_datasets

SETTINGS = Settings("H+V", l1=72, l2=8, epochs=3, batch_size=256, learning_rate=1e-3, lr_decay=0.9)
KINDS: list[dict[str, Any]] = [
    {"l2": 16},
    {"activation": "squared"},
    {"buckets": 8},
    {"l3": 12},
    {"activation": "squared", "buckets": 5, "l3": 16},
    {"pairwise": True},
    {"pairwise": True, "activation": "squared", "buckets": 3, "l3": 16},
    {"activation": "dual", "l3": 12},
    {"pairwise": True, "activation": "dual", "buckets": 3},
    {"psqt": True},
    {"l2": 0},
    {"l2": 0, "activation": "squared"},
]


def random_batch(n_features: int, size: int, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.permuted(np.arange(n_features)[None].repeat(size, 0), axis=1)[:, :32]] * 2)
    rows[1] = rows[1][::-1]
    n, pieces = rng.integers(1, 33, (2, size)), rng.integers(2, 33, size).astype(np.uint8)
    return Batch(rows.astype(np.int32), n, pieces)


def slow(network: Network, batch: Batch) -> torch.Tensor:
    """Centipawns, one position after another by its own bucket's weights."""
    assert batch.pieces is not None
    layers = network.layers

    def activated(found: torch.Tensor) -> torch.Tensor:
        found = found.clamp(0, 1)
        if layers.activation == "dual":
            return torch.cat([found**2 * 127 / 128, found])
        return found ** (2 if layers.activation == "squared" else 1)

    def of(parameter: torch.Tensor, bucket: int) -> torch.Tensor:
        return parameter.chunk(layers.buckets)[bucket]

    clipped = naive.first_layer(network.w1, network.b1, batch)
    values = []
    for x, pieces in zip(naive.inputs(clipped, layers.first), batch.pieces, strict=True):
        k = (int(pieces) - 1) * layers.buckets // 32
        hidden = activated(of(network.w2, k) @ x + of(network.b2, k)) if layers.l2 else x
        if layers.l3:
            hidden = activated(of(network.wh, k) @ hidden + of(network.bh, k))
        values.append(CENTIPAWNS * (of(network.w3, k) @ hidden + of(network.b3, k))[0])
    if layers.psqt:
        stm, other = (
            torch.stack([network.psqt[r[:k]].sum() for r, k in zip(rows, n, strict=True)])
            for rows, n in zip(batch.rows, batch.n, strict=True)
        )
        return torch.stack(values) + CENTIPAWNS * (stm - other)
    return torch.stack(values)


def labelled(batch: Batch, target: torch.Tensor) -> Labelled:
    return Labelled(batch, target, len(target), np.zeros(len(batch), RECORD))


def trainer_of(kind: dict[str, Any]) -> Trainer:
    trainer = Trainer(replace(SETTINGS, **kind), features.parse("H+V"), Threads(1))
    with torch.no_grad():  # buckets begin alike; and off the corners of the clip
        trainer.network.b1 += 0.1
        for parameter in trainer.network.dense_parameters():
            parameter += 0.05 * torch.rand(
                parameter.shape, generator=torch.Generator().manual_seed(1)
            )
    return trainer


@pytest.mark.parametrize("activation", ["squared", "pairwise"])
@pytest.mark.parametrize(("m", "o", "size"), [(8, 3, 3), (128, 16, 700), (200, 8, 513)])
def test_products_are_those_of_embedding_bag_and_linear(
    activation: str, m: int, o: int, size: int
) -> None:
    batch, generator = random_batch(300, size), torch.Generator().manual_seed(1)
    weight = ((torch.rand(300, m, generator=generator) - 0.45) / 3).requires_grad_()
    b1 = torch.rand(m, generator=generator).requires_grad_()
    width = m if activation == "pairwise" else 2 * m
    w2 = (torch.rand(o, width, generator=generator) - 0.5).requires_grad_()
    b2 = torch.rand(o, generator=generator).requires_grad_()
    layers = FirstLayers(300, m, o, Threads(1), activation=activation)
    ours = sums(weight.detach(), torch.zeros(0, m), b1, w2, b2, batch, layers)
    inputs = naive.inputs(naive.first_layer(weight, b1, batch), activation)
    expected = torch.nn.functional.linear(inputs, w2, b2)
    torch.testing.assert_close(ours, expected, rtol=1e-5, atol=1e-4)
    out_gradient = torch.randn(size, o, generator=generator)
    gradients = torch.autograd.grad(ours, [b1, w2, b2], out_gradient)
    wanted = torch.autograd.grad(expected, [b1, w2, b2, weight], out_gradient)
    for a, b in zip([*gradients, dense_gradient(layers)], wanted, strict=True):
        # A sum within rounding of 0 or 1 may be clipped on one side only.
        torch.testing.assert_close(a, b, rtol=1e-3, atol=4e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_step_is_autograd_with_adam(kind: dict[str, Any]) -> None:
    trainer, oracle = trainer_of(kind), trainer_of(kind).network
    adam = torch.optim.Adam(oracle.parameters(), lr=1e-3)
    for seed in range(3):
        batch = random_batch(192, 200, seed)
        target = torch.rand(200, generator=torch.Generator().manual_seed(seed))
        total = trainer.step(labelled(batch, target), 1e-3)
        loss = trainer.settings.objective.losses(slow(oracle, batch), target).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
        oracle.clip_weights()
        assert total / 200 == pytest.approx(float(loss.detach()), rel=1e-4)
    for (name, ours), theirs in zip(
        trainer.network.named_parameters(), oracle.parameters(), strict=True
    ):
        if not ours.numel():
            continue  # of a second layer that isn't there
        # Adam divides by the size of the gradient, which magnifies the rounding of tiny ones.
        close = torch.isclose(ours, theirs, rtol=1e-4, atol=2e-5)
        assert close.float().mean() > 0.99, name
        assert float((ours - theirs).detach().abs().max()) < 3e-3, name


@pytest.mark.parametrize("kind", KINDS)
def test_the_layers_behind_the_first_agree_with_finite_differences(kind: dict[str, Any]) -> None:
    network = trainer_of(kind).network.double()
    pieces = np.array([2, 9, 17, 32])
    generator = torch.Generator().manual_seed(3)
    width = 2 * network.layers.inputs
    found = torch.rand(4, width, dtype=torch.float64, generator=generator).requires_grad_()
    assert torch.autograd.gradcheck(lambda inputs: network.head(inputs, pieces), (found,))
    parameters = [
        p for name, p in network.named_parameters() if name not in OF_FEATURES and p.numel()
    ]

    def by_parameters(*_: torch.Tensor) -> torch.Tensor:
        return network.head(found.detach(), pieces)

    assert torch.autograd.gradcheck(by_parameters, parameters)


@pytest.mark.parametrize("kind", KINDS)
def test_steps_of_torch_operators_are_those_of_the_kernels(kind: dict[str, Any]) -> None:
    """What a GPU does, here on the CPU."""
    ours, theirs = trainer_of(kind), trainer_of(kind)
    theirs._layers = None  # as on another device
    theirs.optimizer = DenseAdam(theirs.network.parameters(), 1e-3)
    for seed in range(3):
        batch = random_batch(192, 300, seed)
        target = torch.rand(300, generator=torch.Generator().manual_seed(seed))
        losses = [t.step(labelled(batch, target), 1e-3) for t in (ours, theirs)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_hidden_layers_stay_within_int8(kind: dict[str, Any]) -> None:
    trainer = trainer_of(kind)
    trainer.step(labelled(random_batch(192, 256), torch.rand(256)), 5.0)
    layers = trainer.network.layers
    for name, of_inputs in (("w2", layers.first), ("wh", layers.activation)):
        if name in layers.shapes and layers.l2:
            bound = L2_BOUND * (1 if of_inputs in ("clipped", "dual") else 127 / 128)
            largest = float(getattr(trainer.network, name).detach().abs().max())
            assert largest == pytest.approx(bound, rel=1e-6)


def test_the_plain_shape_is_described_as_it_ever_was() -> None:
    described = SETTINGS.described()
    assert not {"l3", "activation", "buckets"} & described.keys()
    other = replace(SETTINGS, l3=4, activation="squared", buckets=2, pairwise=True).described()
    assert {key: other[key] for key in other.keys() - described.keys()} == {
        "l3": 4,
        "activation": "squared",
        "buckets": 2,
        "pairwise": True,
    }


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_datasets(tmp_path_factory.mktemp("data"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_trained_net_becomes_integers_within_bounds(
    kind: dict[str, Any], datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, batch_size=128, learning_rate=5e-3, **kind)
    path = tmp_path / "checkpoint.pt"
    done = train(settings, *datasets, path, tmp_path / "history.csv", 1)
    network = Checkpoint.read(path).network()
    assert network.layers == settings.layers(features.parse("H+V"))
    assert done.history[-1]["train_loss"] < 0.7 * done.history[0]["train_loss"]
    net = quantize(done)
    assert net.layers == network.layers
    figures = {}
    for name, one in (
        ("net", net),
        ("centred", centred(net, done, validation.spaced(datasets[1], 2000))),
    ):
        write_net(tmp_path / f"{name}.nnue", one)
        figures[name] = verify.verify(tmp_path / f"{name}.nnue", path, datasets[1], 2000)
    assert abs(figures["centred"]["mean_cp"]) <= max(abs(figures["net"]["mean_cp"]), 0.1)
    figures = figures["net"]
    assert figures["saturated"] == 0
    assert abs(figures["mean_cp"]) < 3
    assert figures["rms_cp"] < 10
    if kind != {"l2": 16}:
        with pytest.raises(UserError, match=r"the study's scheme is for nets N -> M x2 -> O -> 1"):
            quantize(done, "study")


@pytest.mark.parametrize("activation", ["clipped", "squared"])
@pytest.mark.parametrize(("most", "one"), [(30_000, 255), (40_000, 127)])
def test_weights_without_a_second_layer_are_rounded_in_units_that_fit(
    activation: str, most: float, one: int, datasets: tuple[Path, Path], tmp_path: Path
) -> None:
    settings = replace(SETTINGS, l2=0, activation=activation, epochs=1)
    files = tmp_path / "checkpoint.pt", tmp_path / "history.csv"
    done = train(settings, *datasets, *files, 1)
    low, high = quantize(done).provenance["accumulators"]
    for name in ("w1", "b1"):
        done.model[name] *= most / max(-low, high)
    net = quantize(done)
    direct = net.direct
    assert direct is not None
    assert direct.one == one
    assert direct.fits_int32(net.w3, activation)
    assert abs(int(net.b3[0])) < 1 << 14
    finer = Direct(one, 2 * direct.weight)
    fits = finer.fits_int32(2 * net.w3.astype(np.int64), activation)
    assert not fits or abs(2 * int(net.b3[0])) >= 1 << 14 or direct.weight == 1 << 10
    scale = direct.weight * CENTIPAWNS / direct.centipawns
    np.testing.assert_array_equal(net.w1, np.rint(done.model["w1"].double().numpy() * one))
    np.testing.assert_array_equal(net.w3, np.rint(done.model["w3"].double().numpy() * scale))
    done.model["w1"] *= 1000
    with pytest.raises(UserError, match=r"of 72 accumulators of H[+]V could overflow int16"):
        quantize(done)
    with pytest.raises(UserError, match="has first-layer weights of int16"):
        quantize(done, "int8")
