"""Samples that stay on a device are those of the loader, batch by batch; here on the CPU."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from nnuelab import features
from nnuelab.features.tables import compiled
from nnuelab.learning.filters import Filters
from nnuelab.learning.loader import Loader, Objective, extract
from nnuelab.learning.optimizers import DenseAdam
from nnuelab.learning.parallel import Group, Threads
from nnuelab.learning.resident import Resident, hold
from nnuelab.learning.run import Run
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.losses import PQR, Scores
from nnuelab.nnue.trainer import Settings, Trainer
from tests.nnue_data import write_datasets

SETTINGS = Settings("ALL+MB", l1=16, l2=8, batch_size=100)
FEATURES = features.parse("ALL+MB")
ROOM = 1 << 30


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_datasets(tmp_path_factory.mktemp("resident"))[0]


def loader(path: Path, objective: Objective = SETTINGS.objective, **options: Any) -> Loader:
    prepare = Trainer(SETTINGS, FEATURES, Threads(1)).ready
    return Loader(path, FEATURES, objective, 100, prepare=prepare, **options)


def held(streamed: Loader) -> Resident:
    found = hold(streamed, ROOM)
    assert isinstance(found, Resident)
    return found


@pytest.mark.parametrize("filters", [Filters(), Filters(epoch_share=0.5, min_ply=30)])
def test_batches_have_the_samples_of_the_loader(path: Path, filters: Filters) -> None:
    streamed = loader(path, filters=filters)
    resident = held(streamed)
    for epoch in range(2):
        ours, theirs = (
            [sorted(map(bytes, each.records)) for each in source.shuffled(7, epoch, 1)]
            for source in (resident, streamed)
        )
        assert len(ours) == streamed.batches - 1 >= 2
        assert ours == theirs


def test_a_step_takes_what_the_records_say_that_are_kept_when_it_fails(path: Path) -> None:
    prepare = Trainer(SETTINGS, FEATURES, Threads(1)).ready
    for samples in held(loader(path)).shuffled(1, 0):
        records, (active, target, pieces) = samples.records, samples.ready
        assert samples.total == len(records) == len(target)
        batch = extract(compiled(FEATURES), records, FEATURES.max_active)
        known = prepare(batch, target)
        width = known.active.shape[2]
        assert torch.equal(active[..., :width].int(), known.active)
        assert (active[..., width:] == FEATURES.size).all()
        assert torch.equal(pieces, known.pieces)
        scores = torch.from_numpy(records["score"].astype(np.float32))
        torch.testing.assert_close(target, torch.sigmoid(scores / Scores().target_scale))


def test_validation_is_of_all_samples(path: Path) -> None:
    trainer, streamed = Trainer(SETTINGS, FEATURES, Threads(1)), loader(path)
    expected = trainer.validate(streamed)["validation_loss"]
    trainer._layers = None  # as on another device
    assert trainer.validate(held(streamed))["validation_loss"] == pytest.approx(expected, rel=1e-5)


def test_a_run_on_a_device_holds_its_samples(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same losses as of a run that streams them."""
    held: list[int] = []

    def losses(room: int) -> str:
        monkeypatch.setattr(torch.cuda, "mem_get_info", lambda: held.append(room) or (room, ROOM))
        trainer = Trainer(SETTINGS, FEATURES, Threads(1))
        trainer._layers = None  # as on another device
        trainer.optimizer = DenseAdam(trainer.network.parameters(), 1e-3)
        data, history = (path, path.with_name("validation.npy")), tmp_path / f"{room}.csv"
        run = Run(
            Checkpoint,
            SETTINGS,
            trainer,
            data,
            tmp_path / f"{room}.pt",
            group=Group(trainer.device),
            prepare=trainer.ready,
            device="cuda",
        )
        run.epochs(history, 600.0)
        run.finish(history)
        return history.read_text()

    expected = pd.read_csv(StringIO(losses(0)))
    found = pd.read_csv(StringIO(losses(ROOM)))
    pd.testing.assert_frame_equal(found, expected, rtol=1e-4)
    assert held == [0, 0, ROOM, ROOM]


def test_what_changes_or_does_not_fit_is_streamed(path: Path) -> None:
    moving = Scores(score_share=1, score_share_end=0.2)
    others = [
        loader(path, PQR()),
        loader(path, moving, epochs=5),
        loader(path, parts=2),
        loader(path, filters=Filters(epoch_positions=900)),
    ]
    for streamed in others:
        assert hold(streamed, ROOM) is streamed
    streamed = loader(path)
    assert hold(streamed, 1 << 16) is streamed
