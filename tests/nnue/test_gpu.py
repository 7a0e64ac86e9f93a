"""Steps as a GPU makes them: here on the CPU, and where there is one on it."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from nnuelab import features
from nnuelab.learning.loader import Loader
from nnuelab.learning.optimizers import DenseAdam
from nnuelab.learning.parallel import Threads
from nnuelab.learning.sparse import pad
from nnuelab.nnue import network
from nnuelab.nnue.trainer import Trainer
from tests.nnue.test_training import SETTINGS, labelled, random_batch
from tests.nnue_data import write_datasets


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("ALL+H", {"psqt": True, "buckets": 8}),
        ("KB(4)", {}),
        ("ALL", {"l2": 0, "activation": "squared"}),
        ("KB(4)+PP", {"factorize": "all"}),
    ],
)
@pytest.mark.parametrize("dense", [0, 16384], ids=["gathered", "dense"])
def test_steps_of_torch_operators_are_those_of_the_kernels(
    name: str, others: dict[str, Any], dense: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a GPU does, here on the CPU."""
    monkeypatch.setitem(network.DENSE, "cpu", dense)
    settings = replace(SETTINGS, feature_set=name, batch_size=300, **others)
    feature_set = features.parse(name)
    ours, theirs = (Trainer(settings, feature_set, Threads(1)) for _ in range(2))
    theirs._layers = None  # as on another device
    theirs.optimizer = DenseAdam(theirs.network.parameters(), 1e-3)
    for seed in range(2):
        batch = random_batch(feature_set.size, 300, seed=seed)
        target = torch.rand(300, generator=torch.Generator().manual_seed(seed))
        losses = [t.step(labelled(batch, target), 1e-3) for t in (ours, theirs)]
        assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    outputs = [t.outputs(labelled(batch, target)) for t in (ours, theirs)]
    apart = (outputs[0] - outputs[1]).abs()
    # Adam divides by the size of the gradient, which magnifies the rounding of tiny ones.
    assert float(apart.median()) < 0.05
    assert float(apart.max()) < 0.05 * float(outputs[0].abs().max())


@pytest.mark.parametrize("l2", [SETTINGS.l2, 0])
def test_half_of_the_bits_suffice_for_the_values_of_a_step(
    l2: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(network.DENSE, "cpu", 16384)
    feature_set = features.parse("ALL+H")
    trainer = Trainer(replace(SETTINGS, feature_set="ALL+H", l2=l2), feature_set, Threads(1))
    batch = random_batch(feature_set.size, 300)
    active, _, pieces = trainer.ready(batch, torch.zeros(300))
    whole, half = (
        trainer.network.by_torch(active, pieces, dtype).detach()
        for dtype in (torch.float32, torch.bfloat16)
    )
    assert half.dtype == torch.float32
    assert 0 < float((half - whole).std()) < 0.05 * float(whole.std())


@pytest.mark.skipif(not torch.cuda.is_available(), reason="a CUDA graph needs a GPU")
@pytest.mark.parametrize("buckets", [1, 8])
@pytest.mark.parametrize("name", ["ALL+H", "ALL+MB"])
def test_steps_that_are_replayed_are_those_that_run(name: str, buckets: int) -> None:
    settings = replace(SETTINGS, feature_set=name, batch_size=300, buckets=buckets)
    feature_set, device = features.parse(name), torch.device("cuda")
    replayed, run = (Trainer(settings, feature_set, Threads(1), None, device) for _ in range(2))
    run._graphed = False
    for seed in range(8):
        batch = random_batch(feature_set.size, 300, seed=seed, width=20 + 20 * (seed % 2))
        target = torch.rand(300, generator=torch.Generator().manual_seed(seed))
        losses = [t.step(labelled(batch, target), 1e-3 / (1 + seed)) for t in (replayed, run)]
        assert float(losses[0]) == float(losses[1])
    assert replayed._replayed is not None
    for ours, theirs in zip(replayed.network.parameters(), run.network.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


def test_threads_of_the_loader_prepare_batches_for_the_device(tmp_path: Path) -> None:
    feature_set = features.parse("ALL+MB")
    trainer = Trainer(replace(SETTINGS, feature_set="ALL+MB"), feature_set, Threads(1))
    loader = Loader(
        write_datasets(tmp_path)[0],
        feature_set,
        SETTINGS.objective,
        64,
        workers=3,
        prepare=trainer.ready,
    )
    for found in islice(loader.shuffled(1, 0), 4):
        assert found.ready is not None
        torch.testing.assert_close(found.ready, trainer.ready(found.batch, found.target))
        for side, rows, n in zip(found.ready.active, found.batch.rows, found.batch.n, strict=True):
            for active, row, count in zip(side.tolist(), rows, n, strict=True):
                assert active[:count] == row[:count].tolist()
                assert set(active[count:]) <= {feature_set.size}


def test_features_that_are_none_stand_behind_the_others() -> None:
    rng = np.random.default_rng(8)
    rows, n = rng.integers(0, 768, (2, 50, 9), np.int32), rng.integers(0, 8, (2, 50))
    out = np.full((2, 50, 7), -5, np.int32)
    pad(rows, n, 768, out)
    np.testing.assert_array_equal(out, np.where(np.arange(7) < n[..., None], rows[..., :7], 768))
