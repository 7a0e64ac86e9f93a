"""The study's results, which stand beside ours: validation losses and Elo by experiment and set."""

from __future__ import annotations

import csv
from functools import lru_cache
from pathlib import Path

from nnuelab.report.trained import TrainedNet

FILE = Path(__file__).with_name("published.csv")


def of(experiment: str, net: TrainedNet, variant: str) -> tuple[float | None, float | None]:
    """Validation loss and elo of the study for a net's row: by size where it tried several."""
    found = [row for row in rows() if (row[0], row[1]) == (experiment, net.feature_set)]
    if any(row[2] for row in found):
        found = [row for row in found if row[2] == variant]
    elif variant or len(found) > 1:
        found = [row for row in found if row[3:5] == (net.l1, net.l2)]
    return found[0][5:] if found else (None, None)


@lru_cache
def rows() -> list[tuple[str, str, str, int, int, float | None, float]]:
    """Of the study: experiment, feature set, variant, sizes, validation loss (if printed), elo."""
    with open(FILE, newline="") as file:
        return [
            (
                row["experiment"],
                row["feature_set"],
                row["variant"],
                int(row["l1"]),
                int(row["l2"]),
                float(row["val_loss"]) if row["val_loss"] else None,
                float(row["elo"]),
            )
            for row in csv.DictReader(file)
        ]
