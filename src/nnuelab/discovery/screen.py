"""A feature set on one screen: what its updates touch, and what a short training has taught it.

All sets of a screen see the same positions, in the same order, with the same seeds.
"""

from __future__ import annotations

import csv
import io
import math
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

import numpy as np

from nnuelab import data, features
from nnuelab.data import feature_counts, sampler, validation
from nnuelab.data.dataset import evenly, writing
from nnuelab.data.records import NO_SCORE, RECORD
from nnuelab.errors import UserError
from nnuelab.nnue.losses import Scores
from nnuelab.nnue.trainer import Settings
from nnuelab.nnue.training import train
from nnuelab.settings.search import Searching
from nnuelab.settings.train import Training

COUNTED = 300  # positions whose legal moves are counted
VALIDATED = 50_000  # positions, at most


@dataclass(frozen=True)
class Task:
    """A training of a set that a screen asks for.

    Attributes
    ----------
    feature_set : str
    rung : int
        From 0 on.
    seed : int
    folder : Path
        What `prepare` has written.
    cost : float
        Of a node; beyond max_cost the set isn't trained.
    settings : Searching
    """

    feature_set: str
    rung: int
    seed: int
    folder: Path
    cost: float
    settings: Searching


@dataclass(frozen=True)
class Measured:
    """What a training says of a set, or all its trainings of a screen: `mean`.

    Attributes
    ----------
    n_features : int
    rows : float
        Rows that a legal move changes in one accumulator, on average; all at a refresh.
    loss : float
        Of validation. Infinite where a node would cost too much, and the set wasn't trained.
    seconds : float
        Of CPU time, all in all; no part of the result.
    """

    n_features: int
    rows: float
    loss: float
    seconds: float


def mean(found: Sequence[Measured]) -> Measured:
    """Of the trainings of a set; their time is the sum."""
    return replace(
        found[0],
        loss=fmean(each.loss for each in found),
        seconds=sum(each.seconds for each in found),
    )


def prepare(folder: Path, train_path: Path, validation_path: Path, settings: Searching) -> None:
    """Writes the positions of each rung, whole games, and those that validate.

    Raises
    ------
    UserError
        For no dataset, weights, or less than a batch of positions in the first screen.
    """
    records = data.open(train_path)
    if records.weights:
        raise UserError(
            f"{train_path} has files with weights, by which a screen draws no games; make an index "
            "without them: nnuelab data index"
        )
    for rung in range(settings.rungs):
        asked = settings.positions * settings.eta**rung
        if rung and asked > len(records):
            raise UserError(
                f"screen {rung + 1} asks for {asked:,} positions, and {train_path} has "
                f"{len(records):,}; ask for fewer rungs or positions"
            )
        share = asked / max(len(records), 1)
        parts = [part[sampler.of_games(part, share)] for part in sampler.parts(records)]
        chosen = np.concatenate([np.empty(0, RECORD), *parts])
        if len(chosen) < Training.batch_size:
            raise UserError(
                f"a screen has {len(chosen):,} positions of {train_path}, less than a batch of "
                f"{Training.batch_size:,}; give more games, or a larger number of positions"
            )
        _save(folder / f"train-{rung}.npy", chosen)
    validating = validation.spaced(validation_path, VALIDATED)
    if not (validating["score"] != NO_SCORE).any():
        raise UserError(f"{validation_path} has {Scores.missing}")
    _save(folder / "validation.npy", validating)


def _save(path: Path, records: np.ndarray) -> None:
    with writing(path) as writer:
        writer.append(records)


def rows_of(feature_set: str, folder: Path) -> float:
    """Rows that a legal move changes in one accumulator; all active ones at a refresh."""
    records = np.load(folder / "validation.npy", mmap_mode="r")
    chosen = records[evenly(len(records), COUNTED)]
    counts, _ = feature_counts.count(features.parse(feature_set), chosen)
    return float(counts["touched"].sum() / counts["moves"].sum())


def measure(task: Task) -> Measured:
    """Counts and trains a set."""
    start = time.process_time()
    chosen, found = task.settings, features.parse(task.feature_set)
    rows = rows_of(task.feature_set, task.folder)
    if task.cost > chosen.max_cost:
        return Measured(found.size, rows, math.inf, time.process_time() - start)
    settings = Training(
        l1=chosen.l1,
        epochs=chosen.epochs,
        learning_rate=chosen.learning_rate,
        schedule=chosen.schedule,
    )
    # Its progress is not of interest among hundreds.
    with tempfile.TemporaryDirectory() as name, redirect_stderr(io.StringIO()):
        history = Path(name) / "history.csv"
        train(
            Settings.of(found.name, settings, task.seed),
            task.folder / f"train-{task.rung}.npy",
            task.folder / "validation.npy",
            Path(name) / "checkpoint.pt",
            history,
            n_threads=1,
        )
        with open(history, newline="") as file:
            loss = float(list(csv.DictReader(file))[-1]["validation_loss"])
    return Measured(found.size, rows, loss, time.process_time() - start)
