"""A small net for tests of what features are worth: of ALL+H, trained on material."""

from __future__ import annotations

from pathlib import Path

from nnuelab.nnue.trainer import Settings
from nnuelab.nnue.training import train
from tests.nnue_data import write_datasets

SETTINGS = Settings("ALL+H", l1=16, l2=8, epochs=3, batch_size=128, learning_rate=5e-3)


def train_on_material(folder: Path) -> None:
    """Writes training and validation positions and ``checkpoint.pt`` to a folder."""
    data = write_datasets(folder, greedy=True)
    train(SETTINGS, *data, folder / "checkpoint.pt", folder / "history.csv", 1)
