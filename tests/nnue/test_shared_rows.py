"""Features that share weights in training: king buckets."""

from __future__ import annotations

import numpy as np
import torch

from nnuelab.features import parse
from nnuelab.learning.first_layer import FirstLayers
from nnuelab.learning.parallel import Threads
from nnuelab.learning.simd import COLUMNS
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.network import Network
from nnuelab.nnue.quantize import quantize

SET = "H+KB(4)"


def network() -> Network:
    features = parse(SET)
    found = Network(features.size, 8, 4, torch.Generator().manual_seed(1), 32, features.virtual())
    with torch.no_grad():
        found.shared.copy_(torch.randn(found.shared.shape) * 0.01)
    return found


def test_features_that_differ_only_in_the_bucket_share_weights():
    features = parse(SET)
    shared = features.virtual()
    assert shared is not None
    assert (shared[:96] == -1).all()
    assert sorted(set(shared.tolist())) == list(range(-1, 768))
    for index in (96, 96 + 500, 96 + 767):
        same = np.flatnonzero(shared == shared[index])
        assert same.tolist() == [index + bucket * 768 for bucket in range(4)]
        words = {features.feature_name(i).split(" (mirrored")[0] for i in same.tolist()}
        assert len(words) == 1
    assert parse("ALL+KA").virtual() is None


def test_phases_and_named_sums_share_the_weights_of_what_they_are_made_of(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(
        "from nnuelab.features import named, parse\n"
        'mine = named("MINE", parse("KB(4)+H"), "King buckets and files.")\n'
    )
    monkeypatch.setenv("NNUELAB_BLOCKS", str(path))
    inner = parse("KB(4)+H").virtual()
    assert inner is not None
    np.testing.assert_array_equal(parse("MINE").virtual(), inner)
    features = parse("V+PHASE(3,MINE)")
    shared = features.virtual()
    assert shared is not None
    assert (shared[:96] == -1).all()
    for index in (96, 96 + 500, 96 + len(inner) + 7):  # king buckets of the first and second phase
        same = np.flatnonzero(shared == shared[index])
        assert same.tolist() == [index + bucket * 768 for bucket in range(4)]
    for phase in range(3):
        start = 96 + phase * len(inner)
        assert (shared[start + 4 * 768 : start + len(inner)] == -1).all()
    assert sorted(set(shared.tolist())) == list(range(-1, 3 * 768))
    assert parse("PHASE(3,H)").virtual() is None


def test_a_row_is_its_own_and_the_shared_part():
    found = network()
    rows = found.rows()
    assert torch.equal(rows[:96], found.w1[:96])
    for index in (96, 96 + 768 + 5):
        assert torch.equal(rows[index], found.w1[index] + found.shared[(index - 96) % 768])


def test_the_gradient_of_the_rows_is_that_of_both_parts():
    found = network()
    n, m, o = found.sizes
    layers = FirstLayers(n, m, o, Threads(1))
    layers.present = np.arange(0, n, 3, dtype=np.int32)
    layers.gradient = np.zeros((1, len(layers.present), COLUMNS), np.float32)
    wanted = torch.zeros(n, m)
    wanted[layers.present] = torch.randn(len(layers.present), m)
    layers.gradient[0, :, :m] = wanted[layers.present]
    (shared,) = torch.autograd.grad((found.rows() * wanted).sum(), [found.shared])
    found.share_gradient(layers)
    assert found.shared.grad is not None
    torch.testing.assert_close(found.shared.grad, shared)


def test_a_net_has_the_sums():
    found = network()
    activations = torch.rand(16)

    def net(model: dict[str, torch.Tensor]) -> np.ndarray:
        made = Checkpoint(
            feature_set=SET,
            settings={},
            epoch=1,
            model=model,
            optimizer={},
            activations=activations,
            generator=torch.zeros(1),
        )
        return quantize(made).w1

    state = dict(found.state_dict())
    own = {**state, "w1": found.rows().detach(), "shared": torch.zeros_like(found.shared)}
    np.testing.assert_array_equal(net(state), net(own))
    assert not np.array_equal(net(state), net({**state, "shared": own["shared"]}))
