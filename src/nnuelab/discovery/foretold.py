"""Losses on a screen and after a full training: how well the one foretells the other."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class Foretold:
    """A set, its loss on the first screen and after a full training; the columns of the table."""

    feature_set: str
    screen: float
    full: float


def to_csv(rows: Iterable[Foretold]) -> str:
    """Rows as text, the losses with eight decimals."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in fields(Foretold)])
    writer.writerows([row.feature_set, f"{row.screen:.8f}", f"{row.full:.8f}"] for row in rows)
    return text.getvalue()


def agreement(rows: Sequence[Foretold]) -> float:
    """Spearman's rank correlation of the losses; not a number where all are equal."""
    from scipy.stats import spearmanr

    return float(spearmanr([row.screen for row in rows], [row.full for row in rows]).statistic)


def scatter(rows: Sequence[Foretold]) -> float:
    """What both losses of a set differ by, as a share: its standard deviation between sets."""
    return float(np.std([np.log(row.full / row.screen) for row in rows], ddof=1))
