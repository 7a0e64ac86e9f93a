"""What a search has tried: a row for each screen of each set, and the front of loss and cost."""

from __future__ import annotations

import csv
import io
import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

import numpy as np


@dataclass(frozen=True)
class Row:
    """A set on one screen; the columns of history.csv.

    Attributes
    ----------
    number : int
        Of the set, in the order of proposals; the anchor is 0.
    generation : int
    rung : int
        The screen, from 0 on; a later one has more positions.
    feature_set : str
    move : str
        That made it: anchor, block, add, drop, swap, unite, multiply.
    parents : str
        Their numbers, separated by spaces.
    n_features : int
    rows : float
        Rows that a legal move changes in one accumulator.
    cost : float
        Of a node relative to the anchor's, foretold by what its terms cost.
    loss : float
        Of validation; infinite, an empty cell, of a set that costs too much and wasn't trained.
    """

    number: int
    generation: int
    rung: int
    feature_set: str
    move: str
    parents: str
    n_features: int
    rows: float
    cost: float
    loss: float


COLUMNS = tuple(column.name for column in fields(Row))


def to_csv(rows: Iterable[Row]) -> str:
    """Rows as text: rows and cost with four decimals, the loss with eight."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        known = [getattr(row, name) for name in COLUMNS[:-3]]
        loss = f"{row.loss:.8f}" if math.isfinite(row.loss) else ""
        writer.writerow([*known, f"{row.rows:.4f}", f"{row.cost:.4f}", loss])
    return text.getvalue()


def layers(rows: Sequence[Row]) -> np.ndarray:
    """int[n]: 0 for rows that no other one beats in loss and cost, 1 without those, and so on.

    A row beats another if it is no worse in both and better in one.
    """
    found, ends = np.zeros(len(rows), np.int64), list[float]()
    known: dict[tuple[float, float], int] = {}
    # By cost, a row is beaten by the earlier ones that lose no more: it stands behind the longest
    # chain of them. ``ends`` has the lowest loss of each layer so far, which rises with the layer.
    for i in sorted(range(len(rows)), key=lambda i: (rows[i].cost, rows[i].loss)):
        point = rows[i].cost, rows[i].loss
        if point not in known:  # equal ones don't beat each other
            layer = known[point] = bisect_right(ends, rows[i].loss)
            ends[layer : layer + 1] = [rows[i].loss]
        found[i] = known[point]
    return found


def best_first(rows: Sequence[Row]) -> list[Row]:
    """Rows by layer, and by loss within it."""
    order = zip(layers(rows), rows, strict=True)
    return [
        row for _, row in sorted(order, key=lambda each: (each[0], each[1].loss, each[1].number))
    ]


def front(rows: Sequence[Row]) -> list[Row]:
    """Rows of the last screen that no other one of it beats, by cost."""
    last = max((row.rung for row in rows), default=0)
    longest = [row for row in rows if row.rung == last and math.isfinite(row.loss)]
    chosen = [row for row, layer in zip(longest, layers(longest), strict=True) if layer == 0]
    return sorted(chosen, key=lambda row: (row.cost, row.number))
