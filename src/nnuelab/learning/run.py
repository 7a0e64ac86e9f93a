"""A training run, whatever it trains: bit for bit the same however often interrupted.

Weights, order of positions and result depend on the settings (with the seed) and the data alone. A
checkpoint is complete at every moment: while training it is ``CHECKPOINT.partial``, written after
each epoch and every few minutes, which gets the checkpoint's name at the end. Nothing is lost by a
loss that is no number: the run stops, and keeps the batch that made it so. How long epochs took is
in a file of its own (`artifacts.times_of` the history), so that equal runs make equal files.
"""

from __future__ import annotations

import csv
import json
import math
import os
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Generic, Protocol, SupportsFloat, TypeVar

import torch

from nnuelab import artifacts, features
from nnuelab.data import dataset
from nnuelab.errors import UserError
from nnuelab.features import fingerprint
from nnuelab.learning.checkpoint import Running, RunState, consistent, set_aside
from nnuelab.learning.loader import ALL, Labelled, Loader, Objective, Ready
from nnuelab.learning.parallel import Group
from nnuelab.learning.resident import Held, Resident, hold
from nnuelab.learning.sparse import Batch
from nnuelab.progress import Progress

SAVE_SECONDS = 600.0  # between two checkpoints of a long epoch
BEHIND = 2  # steps whose losses may be unknown when the next one starts: a GPU never waits for us

State = TypeVar("State", bound=RunState)


class Settings(Protocol):
    """What a run has to know of the settings of what it trains.

    Attributes
    ----------
    objective : Objective
        What a sample is.
    extendable : bool
        Whether a run of more epochs begins as this one does.
    """

    @property
    def feature_set(self) -> str: ...
    @property
    def epochs(self) -> int: ...
    @property
    def batch_size(self) -> int: ...
    @property
    def patience(self) -> int: ...
    @property
    def seed(self) -> int: ...
    @property
    def games_share(self) -> float: ...
    @property
    def objective(self) -> Objective: ...
    @property
    def extendable(self) -> bool: ...

    def described(self) -> dict[str, Any]:
        """All of it as flat JSON types."""
        ...


class Trainer(Protocol[State]):
    """What a run trains: a model with its optimizer."""

    def learning_rate(self, done: int, per_epoch: int) -> float:
        """After ``done`` steps, with ``per_epoch`` in an epoch."""
        ...

    def begin_epoch(self, epoch: int) -> None:
        """Is told before each epoch, and before what is left of one."""
        ...

    def step(self, samples: Any, rate: float) -> SupportsFloat:
        """One step of the optimizer; returns the sum of the losses before it, maybe to come."""
        ...

    def is_finite(self) -> bool:
        """Whether all weights are numbers."""
        ...

    def validate(self, loader: Any) -> dict[str, float]:
        """Means over all samples of a dataset, validation_loss among them."""
        ...

    def state(self, loader: Loader, **run: Any) -> State:
        """The checkpoint: its model, and what the run says of itself."""
        ...

    def restore(self, checkpoint: State) -> None:
        """Resumes from a checkpoint."""
        ...

    def start_from(self, checkpoint: State, path: Path) -> None:
        """Begins with the model of another run."""
        ...


class Run(Generic[State]):
    """A training run: the model, the data, and how far it has come.

    Parameters
    ----------
    kind : type of RunState
        Of the checkpoints.
    settings : Settings
    trainer : Trainer
    data : tuple of Path
        Datasets to train on and to validate with.
    path : Path
        Of the checkpoint.
    start : Path, optional
        Checkpoint whose model the training begins with.
    group : Group
        Processes that train together.
    workers : int
        Threads that make batches.
    prepare : callable, optional
        See ``Loader``.
    device : str
        Its type, which the checkpoint names.

    Raises
    ------
    UserError
        When data are missing or too few, or a checkpoint doesn't fit.
    """

    def __init__(
        self,
        kind: type[State],
        settings: Settings,
        trainer: Trainer[State],
        data: tuple[Path, Path],
        path: Path,
        start: Path | None = None,
        *,
        group: Group,
        workers: int = 1,
        prepare: Callable[[Batch, torch.Tensor], Ready] | None = None,
        device: str = "cpu",
    ) -> None:
        self.kind, self.settings, self.trainer = kind, settings, trainer
        self.path, self.group = path, group
        self.partial = path.with_name(path.name + ".partial")
        self.best = path.with_name(path.name + ".best")  # only with patience
        self._feature_set = features.parse(settings.feature_set)
        self.loader, self.validation = _loaders(
            settings, self._feature_set, data, group, workers, prepare
        )
        self._inputs = {"train": data[0], "validation": data[1]}
        if start is not None:
            self._inputs["from"] = start
        self.per_epoch = self.loader.batches
        self.described = _describe(settings, data, start) | {"device": device}
        self._samples: tuple[Loader | Resident, ...] = self.loader, self.validation
        before, finished, other = _earlier(
            kind, self.partial, path, self.described, settings.extendable
        )
        self.epoch, self.running, self.history = 0, Running(), list[dict[str, float]]()
        self._times = dict[int, dict[str, float]]()  # by epoch, from 1; the last may be running
        self._last: Labelled | Held  # samples of the last step
        self.done = finished and not settings.extendable
        if before is not None:
            with consistent(path if finished else self.partial):
                self.trainer.restore(before)
            self.epoch, self.running, self.history = before.epoch, before.running, before.history
        else:
            if start is not None:
                self.trainer.start_from(kind.read(start), start)
            if group.rank == 0:
                self.best.unlink(missing_ok=True)
        # What begins anew follows from the settings, with the seed.
        group.agree(json.dumps(self.described) if before is None else before.checksum())
        if other and group.rank == 0:  # all have read it now
            set_aside(self.partial, other)

    def epochs(self, history_path: Path, save_seconds: float) -> None:
        """Trains what is left of the run."""
        if self.described["device"] == "cuda" and not self._ended():
            loaders, room = (self.loader, self.validation), torch.cuda.mem_get_info
            self._samples = tuple(hold(each, room()[0]) for each in loaders)
        times_path = artifacts.times_of(history_path)
        self._times = _read_times(times_path, self.epoch + (self.running.batches > 0))
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
                row = self._epoch(progress, save_seconds, times_path)
                self._check(row["validation_loss"], saving=True)
                self.epoch, self.running = self.epoch + 1, Running()
                self.history = [*self.history, row]
                if self.group.rank == 0:
                    if self.settings.patience and self._best_epoch() == self.epoch:
                        self._state().write(self.best)
                    _write_rows(times_path, self._times.values())
                    self._state().write(self.partial)
                    _write_rows(history_path, self.history)

    def _ended(self) -> bool:
        patience = self.settings.patience
        stopped = patience and self.epoch and self.epoch - self._best_epoch() >= patience
        return bool(self.done or stopped or self.epoch >= self.settings.epochs)

    def _best_epoch(self) -> int:
        """With the lowest validation loss, counted from 1; the first of equal ones."""
        losses = [row["validation_loss"] for row in self.history]
        return losses.index(min(losses)) + 1

    def _epoch(self, progress: Progress, save_seconds: float, times: Path) -> dict[str, float]:
        """Trains what is left of an epoch; returns its row of the history."""
        trainer, running = self.trainer, self.running
        trainer.begin_epoch(self.epoch)
        before = self._times.get(self.epoch + 1, {}).get("seconds", 0.0)
        start = saved = now = time.perf_counter()
        rate, behind = 0.0, deque[tuple[Labelled | Held, SupportsFloat]]()
        for samples in self._samples[0].shuffled(self.settings.seed, self.epoch, running.batches):
            done = self.epoch * self.per_epoch + running.batches + len(behind)
            rate = trainer.learning_rate(done, self.per_epoch)
            behind.append((samples, loss := trainer.step(samples, rate)))
            self._account(behind, 0 if isinstance(loss, float) else BEHIND, progress)
            now = time.perf_counter()
            self._time(before + now - start)
            if now - saved >= save_seconds and running.batches + len(behind) < self.per_epoch:
                self._account(behind, 0, progress)
                self._check(running.loss, saving=True)
                if self.group.rank == 0:
                    _write_rows(times, self._times.values())
                    self._state().write(self.partial)
                saved = time.perf_counter()
        self._account(behind, 0, progress)
        self._time(before + now - start)
        row = {
            "epoch": self.epoch + 1,
            "train_loss": running.loss / running.samples,
            **trainer.validate(self._samples[1]),
            "learning_rate": rate,
        }
        self._times[self.epoch + 1]["seconds"] = before + time.perf_counter() - start
        return row

    def _account(
        self, behind: deque[tuple[Labelled | Held, SupportsFloat]], most: int, progress: Progress
    ) -> None:
        """Counts steps that were started, but for the last ``most``."""
        running = self.running
        while len(behind) > most:
            self._last, loss = behind.popleft()
            self._check(number := float(loss))
            running.loss += number
            running.samples += self._last.total
            running.batches += 1
            mean = running.loss / running.samples
            progress.advance(self._last.total, epoch=self.epoch + 1, loss=f"{mean:.6f}")

    def _time(self, seconds: float) -> None:
        """Says how long the epoch has taken, without validation so far."""
        positions = self.running.samples * self.settings.objective.positions
        self._times[self.epoch + 1] = _timed(self.epoch + 1, positions / seconds, seconds)

    def _check(self, loss: float, saving: bool = False) -> None:
        """Ends a run that can't go on; keeps the batch."""
        if math.isfinite(loss) and (not saving or self.trainer.is_finite()):
            return
        what = "weights became no numbers" if math.isfinite(loss) else f"the loss became {loss}"
        kept = self.path.with_name(f"{self.path.name}.nan{self.group.rank or ''}.npy")
        with dataset.writing(kept) as writer:
            writer.append(self._last.records)
        before = f", the last checkpoint in {self.partial}" if self.partial.exists() else ""
        raise UserError(
            f"{what} in epoch {self.epoch + 1} after {self.running.samples:,} samples; lower "
            f"--learning-rate or set --clip-norm. The batch is kept in {kept}{before}"
        )

    def _state(self) -> State:
        return self.trainer.state(
            self.loader,
            feature_set=self.settings.feature_set,
            settings=self.described,
            epoch=self.epoch,
            running=self.running,
            history=self.history,
            files=self._feature_set.contents,
            blocks=fingerprint.of_blocks(self._feature_set),
        )

    def finish(self, history_path: Path) -> None:
        """Gives the checkpoint its name: the last one, or with patience the best."""
        if self.best.exists():
            best = self.kind.load(self.best)
            best.history = self.history
            best.write(self.path)
            # In this order: after a kill between the two the next run finds the best one again.
            self.partial.unlink(missing_ok=True)
            self.best.unlink()
        elif self.partial.exists():
            os.replace(self.partial, self.path)
        elif not self.path.exists():  # of no epoch
            self._state().write(self.path)
        _write_rows(history_path, self.history)
        _write_rows(artifacts.times_of(history_path), self._times.values())

    def provenance(self, outputs: Iterable[Path], parameters: dict[str, Any], module: str) -> None:
        """Says beside each output what it was made from, and by which module."""
        for path in outputs:
            artifacts.provenance(
                path,
                inputs=self._inputs,
                parameters=parameters,
                seed=self.settings.seed,
                module=module,
            )


def _loaders(
    settings: Settings,
    feature_set: features.FeatureSet,
    data: tuple[Path, Path],
    group: Group,
    workers: int,
    prepare: Callable[[Batch, torch.Tensor], Ready] | None,
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
        settings.epochs,
        getattr(settings, "filters", ALL),
        prepare,
    )
    if len(loader) < settings.batch_size:
        raise UserError(
            f"{data[0]} has {len(loader):,} {settings.objective.samples}, less than one batch of "
            f"{settings.batch_size:,}; give more games, or set a smaller --batch-size"
        )
    # What validates is the same for every quantile and all filters.
    validation = Loader(
        data[1],
        feature_set,
        settings.objective,
        settings.batch_size,
        workers=workers,
        prepare=prepare,
    )
    return loader, validation


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
    kind: type[State], partial: Path, finished: Path, described: dict[str, Any], extendable: bool
) -> tuple[State | None, bool, str]:
    """The checkpoint to continue from, if there is one, and whether its run was finished.

    A finished run of other settings is never overwritten. The third is what an unfinished one has
    otherwise, nothing where there is none.
    """
    found = kind.load(finished) if finished.exists() else None
    if found is not None and (different := _differences(found, described, extendable)):
        raise UserError(f"{finished} belongs to another run ({different}); delete it to retrain")
    if not partial.exists():
        return found, found is not None, ""
    begun = kind.load(partial)
    different = _differences(begun, described, extendable)
    if not different:
        return begun, False, ""
    return found, found is not None, different


def _differences(found: RunState, described: dict[str, Any], extendable: bool) -> str:
    """What another run has otherwise, in words; nothing where this one goes on from there."""
    different = [
        f"{key} {found.settings.get(key)!r} there, {value!r} here"
        for key, value in described.items()
        if not (extendable and key == "epochs") and found.settings.get(key) != value
    ]
    if found.epoch > described["epochs"]:
        different.append(f"epochs {found.epoch} there, {described['epochs']} here")
    return "; ".join(different)


def _write_rows(path: Path, rows: Iterable[dict[str, float]]) -> None:
    rows = list(rows)
    with artifacts.atomic(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0] if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _timed(epoch: int, speed: float, seconds: float) -> dict[str, float]:
    return {"epoch": epoch, "positions_per_second": speed, "seconds": seconds}


def _read_times(path: Path, epochs: int) -> dict[int, dict[str, float]]:
    """The times of the first epochs, by their number; none where they can't be read."""
    try:
        with path.open(newline="") as file:
            rows = [
                _timed(int(row["epoch"]), float(row["positions_per_second"]), float(row["seconds"]))
                for row in csv.DictReader(file)
            ]
        return {int(row["epoch"]): row for row in rows if row["epoch"] <= epochs}
    except (OSError, ValueError, KeyError, TypeError, OverflowError, csv.Error):
        return {}
