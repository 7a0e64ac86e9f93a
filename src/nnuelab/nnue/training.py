"""Training: data and settings to a checkpoint, bit for bit the same however often interrupted.

What is guaranteed, each with a test:

* Weights, order of positions and result depend on the settings (with the seed) and the data alone:
  not on the number of threads, not on interruptions.
* A checkpoint is complete at every moment. While training it is ``CHECKPOINT.partial``, written
  after each epoch and every ten minutes, which gets the checkpoint's name at the end, so that a
  workflow never takes an unfinished run for a finished one.
* Nothing is lost by a loss that is no number: the run stops, and keeps the batch that made it so.
"""

from __future__ import annotations

import json
import math
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from nnuelab import artifacts, features
from nnuelab.data import dataset
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.learning import memory
from nnuelab.learning.checkpoint import Running
from nnuelab.learning.loader import Loader
from nnuelab.learning.parallel import Group, Threads, device_of
from nnuelab.nnue.checkpoint import Checkpoint
from nnuelab.nnue.trainer import Settings, Trainer
from nnuelab.progress import Progress

SAVE_SECONDS = 600.0  # between two checkpoints of a long epoch


def train(
    settings: Settings,
    train_path: Path,
    validation_path: Path,
    checkpoint_path: Path,
    history_path: Path,
    n_threads: int = 0,
    start: Path | None = None,
    save_seconds: float = SAVE_SECONDS,
    device_name: str = "cpu",
) -> Checkpoint:
    """Trains a net, or resumes an interrupted run.

    Parameters
    ----------
    settings : Settings
    train_path, validation_path : Path
        Datasets.
    checkpoint_path : Path
        Written as ``.partial`` on the way, under its name at the end.
    history_path : Path
        CSV with a row per epoch, written after each epoch.
    n_threads : int
        0: all that the process may use. Doesn't change the result.
    start : Path, optional
        Checkpoint whose net the training begins with (fine-tuning); its optimizer is left behind.
    save_seconds : float
        Between two checkpoints within an epoch. Doesn't change the result.
    device_name : str
        cpu, cuda, or auto: cuda where there is one. The guarantee of equal bits is for the CPU.

    Raises
    ------
    UserError
        When there is too little memory or data, data is damaged, a checkpoint doesn't fit, the loss
        is no number any more, or a file can't be written.
    """
    if settings.patience and settings.fake_quantize_epochs:
        raise UserError(
            "patience may end a run before its last epochs, which --fake-quantize-epochs asks for; "
            "give one of them"
        )
    device = device_of(device_name)
    group = Group(device)
    threads = Threads(n_threads)
    try:
        run = _Run(
            settings, (train_path, validation_path), checkpoint_path, start, threads, group, device
        )
        run.epochs(history_path, save_seconds)
        if group.rank == 0:
            run.finish(history_path)
            inputs = {"train": train_path, "validation": validation_path}
            for path in (checkpoint_path, history_path):
                artifacts.provenance(
                    path,
                    inputs=inputs if start is None else {**inputs, "from": start},
                    parameters=asdict(settings),
                    seed=settings.seed,
                    module="nnue.training",
                )
        group.wait()
    finally:
        threads.close()
        group.close()
    return Checkpoint.read(checkpoint_path)


class _Run:
    """A training run: the net, the data, and how far it has come."""

    def __init__(
        self,
        settings: Settings,
        data: tuple[Path, Path],
        path: Path,
        start: Path | None,
        threads: Threads,
        group: Group,
        device: torch.device,
    ) -> None:
        self.settings, self.path, self.group = settings, path, group
        self.partial = path.with_name(path.name + ".partial")
        self.best = path.with_name(path.name + ".best")  # only with patience
        feature_set = features.parse(settings.feature_set)
        positions = settings.batch_size * settings.objective.positions
        memory.check_training(feature_set, settings.l1, positions, settings.optimizer)
        # On the CPU the threads have the training to do.
        workers = 1 if device.type == "cpu" else threads.n
        self.loader, self.validation = _loaders(settings, feature_set, data, group, workers)
        self.per_epoch = self.loader.batches
        self.described = _describe(settings, data, start) | {"device": device.type}
        before, finished, other = _earlier(self.partial, path, self.described, settings.extendable)
        self.trainer = Trainer(settings, feature_set, threads, group, device)
        self.epoch, self.running, self.history = 0, Running(), list[dict[str, float]]()
        self._batch: Any = None  # records of the last step
        self.done = finished and not settings.extendable
        if before is not None:
            self.trainer.restore(before)
            self.epoch, self.running, self.history = before.epoch, before.running, before.history
        else:
            if start is not None:
                self.trainer.start_from(Checkpoint.read(start), start)
            if group.rank == 0:
                self.best.unlink(missing_ok=True)
        # What begins anew follows from the settings, with the seed.
        group.agree(json.dumps(self.described) if before is None else before.checksum())
        if other and group.rank == 0:  # all have read it now
            self._set_aside(other)

    def _set_aside(self, different: str) -> None:
        """Keeps an unfinished run of other settings from being overwritten."""
        aside = self.partial.with_name(self.partial.name + ".old")
        os.replace(self.partial, aside)
        print(
            f"{self.partial} is of an unfinished run with other settings ({different}); "
            f"it is {aside} from now on",
            file=sys.stderr,
        )

    def epochs(self, history_path: Path, save_seconds: float) -> None:
        """Trains what is left of the run."""
        unit = "positions" if self.settings.objective.positions == 1 else "triplets"
        progress = Progress(
            self.settings.epochs * len(self.loader),
            unit,
            f"train {self.settings.feature_set}",
            self.epoch * len(self.loader) + self.running.samples,
            quiet=self.group.rank != 0,
        )
        with progress:
            while not self._ended():
                row = self._epoch(progress, save_seconds)
                self._check(row["validation_loss"], saving=True)
                self.epoch, self.running = self.epoch + 1, Running()
                self.history = [*self.history, row]
                if self.group.rank == 0:
                    if self.settings.patience and self._best_epoch() == self.epoch:
                        self._state().write(self.best)
                    self._state().write(self.partial)
                    _write_history(history_path, self.history)

    def _ended(self) -> bool:
        patience = self.settings.patience
        stopped = patience and self.epoch and self.epoch - self._best_epoch() >= patience
        return bool(self.done or stopped or self.epoch >= self.settings.epochs)

    def _best_epoch(self) -> int:
        """With the lowest validation loss, counted from 1; the first of equal ones."""
        losses = [row["validation_loss"] for row in self.history]
        return losses.index(min(losses)) + 1

    def _epoch(self, progress: Progress, save_seconds: float) -> dict[str, float]:
        """Trains what is left of an epoch; returns its row of the history."""
        trainer, running = self.trainer, self.running
        rounding = self.epoch >= self.settings.epochs - self.settings.fake_quantize_epochs
        if rounding and not trainer.network.shifts:  # else the run goes on within these epochs
            trainer.fake_quantize()
        before, start = running.seconds, time.perf_counter()
        saved, rate = start, 0.0
        for labelled in self.loader.shuffled(self.settings.seed, self.epoch, running.batches):
            done = self.epoch * self.per_epoch + running.batches
            rate = trainer.learning_rate(done, self.per_epoch)
            self._batch = labelled.records
            self._check(loss := trainer.step(labelled, rate))
            running.loss += loss
            running.samples += labelled.total
            running.batches += 1
            mean = running.loss / running.samples
            progress.advance(labelled.total, epoch=self.epoch + 1, loss=f"{mean:.6f}")
            now = time.perf_counter()
            running.seconds = before + now - start
            if now - saved >= save_seconds and running.batches < self.per_epoch:
                self._check(loss, saving=True)
                if self.group.rank == 0:
                    self._state().write(self.partial)
                saved = time.perf_counter()
        positions = running.samples * self.settings.objective.positions
        return {
            "epoch": self.epoch + 1,
            "train_loss": running.loss / running.samples,
            **trainer.validate(self.validation),
            "positions_per_second": positions / running.seconds,
            "learning_rate": rate,
            "seconds": before + time.perf_counter() - start,
        }

    def _check(self, loss: float, saving: bool = False) -> None:
        """Ends a run that can't go on; keeps the batch."""
        if math.isfinite(loss) and (not saving or self.trainer.is_finite()):
            return
        what = "weights became no numbers" if math.isfinite(loss) else f"the loss became {loss}"
        kept = self.path.with_name(f"{self.path.name}.nan{self.group.rank or ''}.npy")
        with dataset.writing(kept) as writer:
            writer.append(self._batch)
        before = f", the last checkpoint in {self.partial}" if self.partial.exists() else ""
        raise UserError(
            f"{what} in epoch {self.epoch + 1} after {self.running.samples:,} samples; lower "
            f"--learning-rate or set --clip-norm. The batch is kept in {kept}{before}"
        )

    def _state(self) -> Checkpoint:
        return self.trainer.state(
            self.epoch, self.running, self.described, self.loader, self.history
        )

    def finish(self, history_path: Path) -> None:
        """Gives the checkpoint its name: the last one, or with patience the best."""
        if self.best.exists():
            best = Checkpoint.load(self.best)
            best.history = self.history
            best.write(self.path)
            # In this order: after a kill between the two the next run finds the best one again.
            self.partial.unlink(missing_ok=True)
            self.best.unlink()
        elif self.partial.exists():
            os.replace(self.partial, self.path)
        _write_history(history_path, self.history)


def _loaders(
    settings: Settings,
    feature_set: features.FeatureSet,
    data: tuple[Path, Path],
    group: Group,
    workers: int,
) -> tuple[Loader, Loader]:
    quantile = getattr(settings.objective, "moves_quantile", 0.0)
    loader = Loader(
        data[0],
        feature_set,
        settings.objective,
        settings.batch_size,
        quantile,
        group.rank,
        group.size,
        settings.games_share,
        workers,
    )
    if len(loader) < settings.batch_size:
        kind = "positions with a score" if settings.objective.positions == 1 else "triplets"
        raise UserError(
            f"{data[0]} has {len(loader):,} {kind}, less than one batch of "
            f"{settings.batch_size:,}; give more games, or set a smaller --batch-size"
        )
    # What validates is the same for every quantile.
    return loader, Loader(data[1], feature_set, settings.objective, settings.batch_size)


def _describe(settings: Settings, data: tuple[Path, Path], start: Path | None) -> dict[str, Any]:
    """What the result depends on, as flat JSON types."""
    flat = settings.described()
    flat["train_sha256"], flat["validation_sha256"] = map(artifacts.sha256, data)
    flat["blocks"] = fingerprint.code(features.parse(settings.feature_set))
    if start is not None and not start.is_file():
        raise UserError(f"there is no checkpoint {start} to start from; make it with nnuelab train")
    flat["from_sha256"] = "" if start is None else artifacts.sha256(start)
    return flat


def _earlier(
    partial: Path, finished: Path, described: dict[str, Any], extendable: bool
) -> tuple[Checkpoint | None, bool, str]:
    """The checkpoint to continue from, if there is one, and whether its run was finished.

    A finished run of other settings is never overwritten. The third is what an unfinished one has
    otherwise, nothing where there is none.
    """
    found = Checkpoint.load(finished) if finished.exists() else None
    if found is not None and (different := _differences(found, described, extendable)):
        raise UserError(f"{finished} belongs to another run ({different}); delete it to retrain")
    if not partial.exists():
        return found, found is not None, ""
    begun = Checkpoint.load(partial)
    different = _differences(begun, described, extendable)
    if not different:
        return begun, False, ""
    return found, found is not None, different


def _differences(found: Checkpoint, described: dict[str, Any], extendable: bool) -> str:
    """What another run has otherwise, in words; nothing where this one goes on from there."""
    different = [
        f"{key} {found.settings.get(key)!r} there, {value!r} here"
        for key, value in described.items()
        if not (extendable and key == "epochs") and found.settings.get(key) != value
    ]
    if found.epoch > described["epochs"]:
        different.append(f"epochs {found.epoch} there, {described['epochs']} here")
    return "; ".join(different)


def _write_history(path: Path, history: list[dict[str, float]]) -> None:
    with artifacts.atomic(path) as temporary:
        pd.DataFrame(history).to_csv(temporary, index=False)
