"""Float nets as ONNX, read by onnx' own reference evaluator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from nnuelab.errors import UserError
from nnuelab.nnue import onnx_file
from nnuelab.nnue.layers import Layers
from nnuelab.nnue.network import Network

SHAPES = (
    Layers(40, 16, 8),
    Layers(40, 16, 8, l3=4, activation="squared", buckets=4),
    Layers(40, 16, 8, pairwise=True, psqt=True),
    Layers(40, 16, 0, activation="squared"),
    Layers(40, 16, 8, l3=4, activation="dual", buckets=8, pairwise=True, psqt=True),
)


def network_of(layers: Layers, numbers: np.ndarray | None = None) -> Network:
    network = Network(layers, torch.Generator().manual_seed(1), active=2, numbers=numbers)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter += (
                torch.randn(parameter.shape, generator=torch.Generator().manual_seed(2)) / 4
            )
    return network


@pytest.mark.parametrize("layers", SHAPES, ids=str)
@pytest.mark.parametrize("shared", [False, True])
def test_the_model_gives_what_the_net_gives(layers: Layers, shared: bool, tmp_path: Path) -> None:
    reference = pytest.importorskip("onnx.reference")
    numbers = np.arange(40, dtype=np.int32)[:, None] % 5 if shared else None
    network = network_of(layers, numbers)
    onnx_file.write(tmp_path / "net.onnx", network, "ALL")
    rng = np.random.default_rng(0)
    features = np.sort(rng.permuted(np.tile(np.arange(40), (2, 200, 1)), axis=2)[:, :, :6])
    dense = np.zeros((2, 200, 40), np.float32)
    np.put_along_axis(dense, features, 1, axis=2)
    pieces = rng.integers(2, 33, 200)
    inputs = {"own": dense[0], "other": dense[1]}
    inputs |= {"pieces": pieces} if layers.buckets > 1 else {}
    (found,) = reference.ReferenceEvaluator(str(tmp_path / "net.onnx")).run(None, inputs)
    with torch.no_grad():
        expected = network.by_torch(torch.from_numpy(features), pieces).numpy()
    assert np.std(expected) > 10
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-2)


def test_a_net_that_rounds_is_refused(tmp_path: Path) -> None:
    network = network_of(SHAPES[0])
    network.shifts = {"l1_shift": 0, "l2_shift": 6, "out_shift": 4}
    pytest.importorskip("onnx")
    with pytest.raises(UserError, match="rounds like its integer net"):
        onnx_file.write(tmp_path / "net.onnx", network, "ALL")
    assert not list(tmp_path.iterdir())
