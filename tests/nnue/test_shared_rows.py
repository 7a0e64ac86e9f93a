"""Features that share rows of weights in training: in king buckets, or all that are alike."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pytest
import torch

from nnuelab.features import FeatureSet, parse
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.layers import Layers
from nnuelab.nnue.network import Network
from nnuelab.nnue.quantize import quantize
from tests import feature_sets
from tests.naive import nnue as naive_nets
from tests.naive import sharing as naive

SET = "H+KB(4)"
LARGEST = 12_000  # features that the slow twin takes


def network() -> Network:
    features = parse(SET)
    found = Network(
        Layers(features.size, 8, 4),
        torch.Generator().manual_seed(1),
        numbers=features.shared_rows("all"),
    )
    with torch.no_grad():
        found.shared.copy_(torch.randn(found.shared.shape) * 0.01)
    return found


def alike(features: FeatureSet, table: np.ndarray) -> Counter[frozenset[int]]:
    """The groups of features that share a row."""
    assert table.shape[0] == features.size
    assert (np.unique(table[table >= 0]) == np.arange(table.max(initial=-1) + 1)).all()
    rows: dict[int, set[int]] = defaultdict(set)
    for index, number in zip(*np.nonzero(table >= 0), strict=True):
        rows[int(table[index, number])].add(int(index))
    return Counter(map(frozenset, rows.values()))


SETS = [*feature_sets.blocks(), *feature_sets.PRODUCTS, "PHASE(2,KB(2)+PP)+H*V"]


@pytest.mark.parametrize(
    "name", [name for name in SETS if "TOPK" not in name and parse(name).size < LARGEST]
)
def test_features_share_with_what_differs_in_one_concept_or_factor(name):
    features = parse(name)
    groups = (frozenset(group) for group in naive.parts(features).values() if len(group) > 1)
    assert alike(features, features.shared_rows("all")) == Counter(groups)


def test_features_that_differ_only_in_the_bucket_share_weights():
    features = parse(SET)
    table = features.shared_rows("kings")
    assert table.shape == (features.size, 1)
    shared = table[:, 0]
    assert (shared[:96] == -1).all()
    for index in (96, 96 + 500, 96 + 767):
        same = np.flatnonzero(shared == shared[index])
        assert same.tolist() == [index + bucket * 768 for bucket in range(4)]
        words = {features.feature_name(i).split(" (mirrored")[0] for i in same.tolist()}
        assert len(words) == 1
    assert not parse("ALL+KA+KING*H").shared_rows("kings").size
    assert not parse("KB(1)").shared_rows("kings").size
    assert not parse(SET).shared_rows("none").size


def test_phases_and_named_sums_share_the_weights_of_what_they_are_made_of(tmp_path, monkeypatch):
    path = tmp_path / "mine.py"
    path.write_text(
        "from nnuelab.features import named, parse\n"
        'mine = named("MINE", parse("KB(4)+H"), "King buckets and files.")\n'
    )
    monkeypatch.setenv("NNUELAB_BLOCKS", str(path))
    inner = parse("KB(4)+H").shared_rows("kings")
    np.testing.assert_array_equal(parse("MINE").shared_rows("kings"), inner)
    features = parse("V+PHASE(3,MINE)")
    shared = features.shared_rows("kings")[:, 0]
    assert (shared[:96] == -1).all()
    for index in (96, 96 + 500, 96 + len(inner) + 7):  # king buckets of the first and second phase
        same = np.flatnonzero(shared == shared[index])
        assert same.tolist() == [index + bucket * 768 for bucket in range(4)]
    for phase in range(3):
        start = 96 + phase * len(inner)
        assert (shared[start + 4 * 768 : start + len(inner)] == -1).all()
    assert not parse("PHASE(3,H)").shared_rows("kings").size


def test_a_row_is_its_own_and_the_shared_ones():
    found = network()
    numbers = parse(SET).shared_rows("all")
    assert numbers.shape[1] > 3
    torch.testing.assert_close(found.rows(), naive_nets.rows(found.w1, found.shared, numbers))


def test_a_net_has_the_sums():
    found = network()
    activations = torch.rand(16)

    def net(model: dict[str, torch.Tensor]) -> np.ndarray:
        made = Checkpoint(
            feature_set=SET,
            settings={"factorize": "all"},
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
