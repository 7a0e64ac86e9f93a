"""95 % intervals of the numbers of a table, as its figures draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt

import altair as alt

from nnuelab.report.table import entry
from nnuelab.report.words import number

Row = Mapping[str, str]
LOSS = "val_loss_mean"
_ERRORS = {"games": "error_games", "seeds": "error"}  # of new trainings: the error to quote
ENDS = [
    alt.Tooltip(f"{kind}_{end}:Q", title=f"{kind}, {word}", format="+.1f")
    for kind in _ERRORS
    for end, word in (("low", "from"), ("high", "to"))
]


def ends(row: Row, column: str) -> dict[str, float]:
    """Both ends of the intervals of an Elo by games and with new trainings, as far as known."""
    value = float(row[column])
    found: dict[str, float] = {}
    for kind, name in _ERRORS.items():
        if (error := number(row, f"{column}_{name}")) is not None:
            found |= {f"{kind}_low": value - error, f"{kind}_high": value + error}
    return found


def of_losses(rows: Sequence[Row]) -> dict[str, float]:
    """Half an interval of each mean validation loss with new trainings, as a share of it, by set.

    In such shares the loss of one training is taken to scatter alike in all sets, since a few seeds
    tell little of that alone: Student's t on all of them. Empty where each set has one seed.
    """
    from scipy.special import stdtrit

    squares, known = 0.0, dict[str, int]()
    for row in rows:
        mean, sd, seeds = (number(row, name) for name in (LOSS, "val_loss_sd", "seeds"))
        if mean and sd is not None and seeds:
            squares += (seeds - 1) * (sd / mean) ** 2
            known[entry(row)] = int(seeds)
    if not (freedom := sum(known.values()) - len(known)):
        return {}
    half = float(stdtrit(freedom, 0.975)) * sqrt(squares / freedom)
    return {name: half / sqrt(seeds) for name, seeds in known.items()}
