"""The learning rate of a feature set: of trainings that differ by it alone, the best one's."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from nnuelab import artifacts
from nnuelab.errors import UserError
from nnuelab.nnue.checkpoint import Checkpoint


@dataclass(frozen=True)
class Trial:
    """A training at some rate.

    Attributes
    ----------
    learning_rate : float
        Of Adam.
    validation_loss : float
        Of the net that it ended with.
    """

    learning_rate: float
    validation_loss: float


def read(paths: Sequence[Path]) -> list[Trial]:
    """What trainings came to, by rising rate.

    Raises
    ------
    UserError
        For trainings that differ by more than the rate, or by nothing.
    """
    trials: dict[float, Trial] = {}
    others: dict[str, Path] = {}
    for path in paths:
        done = Checkpoint.load(path)
        settings = dict(done.settings)
        rate = settings.pop("learning_rate")
        others.setdefault(repr((done.feature_set, sorted(settings.items()))), path)
        trials[rate] = Trial(rate, done.history[done.epoch - 1]["validation_loss"])
    if len(others) > 1:
        first, second, *_ = others.values()
        raise UserError(f"{first} and {second} differ by more than their learning rate")
    if len(trials) < max(len(paths), 2):
        raise UserError("give two or more trainings, each with another learning rate")
    return [trials[rate] for rate in sorted(trials)]


def best(trials: Sequence[Trial]) -> Trial:
    """The one with the lowest validation loss; of equal ones that with the lowest rate."""
    return min(trials, key=lambda trial: trial.validation_loss)


def write(path: Path, trials: Sequence[Trial]) -> None:
    """Writes the table of trials: CSV with a column for each attribute."""
    with artifacts.atomic(path) as temporary, temporary.open("w", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Trial)])
        writer.writeheader()
        writer.writerows(map(asdict, trials))
