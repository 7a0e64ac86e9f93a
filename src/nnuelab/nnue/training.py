"""Training: data and settings to a checkpoint, the same bit for bit however often it is killed.

What is guaranteed, each with a test:

* Weights, order of positions and result depend on the settings (with the seed) and the data alone:
  not on the number of threads, not on interruptions.
* A checkpoint is complete at every moment. While training it is ``CHECKPOINT.partial``, which is
  renamed at the end, so that a workflow never takes an unfinished run for a finished one.
"""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from nnuelab import artifacts, features
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.nnue import checkpoint as checkpoints
from nnuelab.nnue import first_layer, memory
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.first_layer import Threads
from nnuelab.nnue.loader import Labelled, Loader
from nnuelab.nnue.losses import Objective
from nnuelab.nnue.network import Network
from nnuelab.progress import Progress

HEAD_CHUNK = 512  # positions of one task of the dense layers; part of what the result depends on
CALIBRATION = 65536  # positions over which activations are averaged
FREE_SETTINGS = ("epochs",)  # may differ when a run is continued


@dataclass(frozen=True)
class Settings:
    """Everything about a run but its data.

    The defaults suit a few hundred thousand positions, where small batches and a fast decay gave
    the lowest validation loss. The study's, for billions: 16384, 5e-4 and 0.99.

    Attributes
    ----------
    feature_set : str
        Canonical expression.
    l1, l2 : int
        M and O.
    epochs, batch_size : int
    learning_rate : float
        Of Adam in the first epoch.
    lr_decay : float
        Factor per epoch.
    seed : int
    objective : Objective
    """

    feature_set: str
    l1: int = 512
    l2: int = 32
    epochs: int = 6
    batch_size: int = 1024
    learning_rate: float = 2e-3
    lr_decay: float = 0.5
    seed: int = 1
    objective: Objective = field(default_factory=Objective)


class Trainer:
    """A network, its optimizer, and the step that fuses them.

    Parameters
    ----------
    settings : Settings
    active : float
        Features that are typically active.
    threads : Threads
    """

    def __init__(self, settings: Settings, active: float, threads: Threads) -> None:
        torch.set_num_threads(1)  # the pool splits the work; torch would split sums by threads
        self.settings, self.threads = settings, threads
        self.generator = torch.Generator().manual_seed(settings.seed)
        self.feature_set = features.parse(settings.feature_set)
        self.network = Network(
            self.feature_set.size,
            settings.l1,
            settings.l2,
            self.generator,
            active,
            self.feature_set.virtual(),
        )
        self.optimizer = torch.optim.Adam(
            self.network.parameters(), lr=settings.learning_rate, fused=True
        )
        self._accumulators = torch.empty(settings.batch_size, 2 * settings.l1)
        self._gradients = torch.empty(settings.batch_size, 2 * settings.l1)

    def learning_rate(self, epoch: int) -> float:
        """Of the epoch, counted from 0."""
        return self.settings.learning_rate * self.settings.lr_decay**epoch

    def step(self, labelled: Labelled) -> float:
        """One step of the optimizer; returns the sum of the losses before it."""
        network, batch = self.network, labelled.batch
        accumulators = self._forward(labelled)
        gradients = self._gradients[: len(batch)]
        head = network.head_parameters()

        def backward(part: slice) -> tuple[float, tuple[torch.Tensor, ...]]:
            inputs = accumulators[part].detach().requires_grad_()
            losses = self.settings.objective.losses(network.head(inputs), labelled.target[part])
            loss = losses.sum()
            gradients[part], *others = torch.autograd.grad(loss / len(batch), [inputs, *head])
            return float(loss.detach()), tuple(others)

        parts = list(self.threads.map(backward, _parts(len(batch))))
        for i, parameter in enumerate(head):
            parameter.grad = torch.stack([others[i] for _, others in parts]).sum(0)
        weight, bias = first_layer.backward(
            accumulators.numpy(), gradients.numpy(), batch, self.threads, network.sizes[0]
        )
        network.set_gradient(torch.from_numpy(weight))
        network.b1.grad = torch.from_numpy(bias)
        self.optimizer.step()
        network.clip_weights()
        return math.fsum(loss for loss, _ in parts)

    @torch.no_grad()
    def outputs(self, labelled: Labelled) -> torch.Tensor:
        """Centipawns for the side to move, float32[B]."""
        accumulators = self._forward(labelled)

        def head(part: slice) -> torch.Tensor:
            # The pool's threads don't inherit no_grad.
            with torch.no_grad():
                return self.network.head(accumulators[part])

        return torch.cat(list(self.threads.map(head, _parts(len(labelled.batch)))))

    def validation_loss(self, loader: Loader) -> float:
        """Mean loss over all positions of a dataset."""
        total = 0.0
        for labelled in loader.in_order():
            losses = self.settings.objective.losses(self.outputs(labelled), labelled.target)
            total += float(losses.double().sum())
        return total / len(loader)

    def _forward(self, labelled: Labelled) -> torch.Tensor:
        batch = labelled.batch
        accumulators = self._accumulators[: len(batch)]
        first_layer.forward(
            self.network.rows().detach().numpy(),
            self.network.b1.detach().numpy(),
            batch,
            self.threads,
            accumulators.numpy(),
        )
        return accumulators

    @torch.no_grad()
    def mean_activations(self, loader: Loader) -> torch.Tensor:
        """Mean outputs of the first layer, float32[2M], over a fixed random choice of positions."""
        batches = max(CALIBRATION // loader.batch_size, 1)
        total, positions = torch.zeros(2 * self.settings.l1, dtype=torch.float64), 0
        for labelled in islice(loader.shuffled(self.settings.seed, 0), batches):
            total += self._forward(labelled).double().sum(0)
            positions += len(labelled.batch)
        return (total / positions).float()

    def state(
        self, epoch: int, settings: dict[str, Any], loader: Loader, history: list[dict]
    ) -> Checkpoint:
        """The checkpoint after ``epoch`` epochs."""
        return Checkpoint(
            feature_set=self.settings.feature_set,
            settings=settings,
            epoch=epoch,
            model=dict(self.network.state_dict()),
            optimizer=self.optimizer.state_dict(),
            activations=self.mean_activations(loader),
            generator=self.generator.get_state(),
            history=history,
            files=self.feature_set.contents,
            blocks=fingerprint.of_blocks(self.feature_set),
        )

    def restore(self, checkpoint: Checkpoint) -> None:
        """Continues where a checkpoint stopped."""
        self.network.load_state_dict(checkpoint.model)
        self.optimizer.load_state_dict(checkpoint.optimizer)
        self.generator.set_state(checkpoint.generator)


def _parts(n: int) -> Iterator[slice]:
    return (slice(start, min(start + HEAD_CHUNK, n)) for start in range(0, n, HEAD_CHUNK))


def train(
    settings: Settings,
    train_path: Path,
    validation_path: Path,
    checkpoint_path: Path,
    history_path: Path,
    n_threads: int = 0,
) -> Checkpoint:
    """Trains a net, or continues a run that was stopped.

    Parameters
    ----------
    settings : Settings
    train_path, validation_path : Path
        Datasets.
    checkpoint_path : Path
        Written after each epoch as ``.partial``, under its name at the end.
    history_path : Path
        CSV with a row per epoch, written after each epoch.
    n_threads : int
        0: all that the process may use. Doesn't change the result.

    Raises
    ------
    UserError
        When there is too little memory or data, a checkpoint of another run is in the way, or the
        loss is no number any more.
    """
    feature_set = features.parse(settings.feature_set)
    memory.check_training(feature_set, settings.l1, settings.batch_size)
    loader = Loader(train_path, feature_set, settings.objective, settings.batch_size)
    validation = Loader(validation_path, feature_set, settings.objective, settings.batch_size)
    if len(loader) < settings.batch_size:
        raise UserError(
            f"{train_path} has {len(loader):,} positions with a score, less than one batch of "
            f"{settings.batch_size:,}; label more games or set a smaller --batch-size"
        )
    described = _describe(settings, train_path, validation_path)
    partial = checkpoint_path.with_name(checkpoint_path.name + ".partial")
    before = _earlier(partial, checkpoint_path, described)
    threads = Threads(n_threads)
    trainer = Trainer(settings, min(feature_set.max_active, feature_set.size), threads)
    history: list[dict[str, float]] = []
    if before is not None:
        trainer.restore(before)
        history = before.history
    done = before.epoch if before is not None else 0
    per_epoch = len(loader)
    with Progress(
        settings.epochs * per_epoch, "positions", f"train {settings.feature_set}", done * per_epoch
    ) as progress:
        for epoch in range(done, settings.epochs):
            row = _epoch(trainer, epoch, loader, validation, progress)
            history = [*history, row]
            trainer.state(epoch + 1, described, loader, history).write(partial)
            _write_history(history_path, history)
    threads.close()
    if partial.exists():
        os.replace(partial, checkpoint_path)
    _write_history(history_path, history)
    for path in (checkpoint_path, history_path):
        artifacts.provenance(
            path,
            inputs={"train": train_path, "validation": validation_path},
            parameters=asdict(settings),
            seed=settings.seed,
            module="nnue.training",
        )
    return checkpoints.read(checkpoint_path)


def _epoch(
    trainer: Trainer, epoch: int, loader: Loader, validation: Loader, progress: Progress
) -> dict[str, float]:
    """Trains an epoch; returns its row of the history."""
    rate = trainer.learning_rate(epoch)
    for group in trainer.optimizer.param_groups:
        group["lr"] = rate
    start = time.perf_counter()
    total, positions = 0.0, 0
    for labelled in loader.shuffled(trainer.settings.seed, epoch):
        loss = trainer.step(labelled)
        if not math.isfinite(loss):
            raise UserError(
                f"the loss became {loss} in epoch {epoch + 1} after {positions:,} positions; "
                "lower --learning-rate, the last checkpoint is kept"
            )
        total += loss
        positions += len(labelled.batch)
        progress.advance(len(labelled.batch), epoch=epoch + 1, loss=f"{total / positions:.6f}")
    seconds = time.perf_counter() - start
    return {
        "epoch": epoch + 1,
        "train_loss": total / positions,
        "validation_loss": trainer.validation_loss(validation),
        "positions_per_second": positions / seconds,
        "learning_rate": rate,
        "seconds": time.perf_counter() - start,
    }


def _describe(settings: Settings, train_path: Path, validation_path: Path) -> dict[str, Any]:
    """What the result depends on, as flat JSON types."""
    flat = asdict(settings)
    flat.update(flat.pop("objective"))
    flat["train_sha256"] = artifacts.sha256(train_path)
    flat["validation_sha256"] = artifacts.sha256(validation_path)
    flat["blocks"] = artifacts.code_hash(None, features.block_files(settings.feature_set))
    return flat


def _earlier(partial: Path, finished: Path, described: dict[str, Any]) -> Checkpoint | None:
    """The checkpoint to continue from, if there is one.

    An unfinished run of other settings is of no use to anyone and gives way; a finished one is
    never overwritten.
    """
    path = partial if partial.exists() else finished
    if not path.exists():
        return None
    found = checkpoints.load(path)
    different = [
        f"{key} {found.settings.get(key)!r} there, {value!r} here"
        for key, value in described.items()
        if key not in FREE_SETTINGS and found.settings.get(key) != value
    ]
    if found.epoch > described["epochs"]:
        different.append(f"epochs {found.epoch} there, {described['epochs']} here")
    if not different:
        return found
    if path == finished:
        raise UserError(
            f"{path} is of another run ({'; '.join(different)}); delete it to train anew"
        )
    print(
        f"{path} is of an unfinished run with other settings ({'; '.join(different)}); "
        "training anew",
        file=sys.stderr,
    )
    return None


def _write_history(path: Path, history: list[dict[str, float]]) -> None:
    with artifacts.atomic(path) as temporary:
        pd.DataFrame(history).to_csv(temporary, index=False)
