"""The error of evaluations and nets on the same positions with results, each with the K it fits."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import partial
from pathlib import Path

import numpy as np

from nnuelab.data import validation
from nnuelab.data.records import UNKNOWN_RESULT, white_results
from nnuelab.errors import UserError
from nnuelab.evaluator import Evaluator
from nnuelab.hce.error import best_k, sigmoid
from nnuelab.intervals import SIGNIFICANCE, clustered_mean
from nnuelab.progress import Progress
from nnuelab.selfplay.quiet import Quiet
from nnuelab.tournament.own import OwnEntrant
from nnuelab.tournament.players import Defaults, read_players

BATCH = 1 << 14  # positions


@dataclass(frozen=True)
class Row:
    """An evaluation, or a net.

    Attributes
    ----------
    name : str
    error : float
        Mean of (result - sigmoid(score))^2 with the static score in whole centipawns.
    k : float
        Of the sigmoid: that of the least error on these positions.
    difference, half_width : float
        The error less that of the first, and half of its 95 % interval: position by position, those
        of a game taken together.
    """

    name: str
    error: float
    k: float
    difference: float
    half_width: float


def evaluators(words: Sequence[str]) -> dict[str, Evaluator]:
    """Evaluators of players, told as in `nnuelab tournament`.

    Raises
    ------
    UserError
        When there is none, or one is an engine: what it evaluates with isn't known.
    """
    found = {}
    for name, entrant in read_players(None, list(words), Defaults({"nodes": 1})).items():
        if not isinstance(entrant, OwnEntrant):
            raise UserError(f"player {name} is an engine; give nets and evaluations")
        found[name] = entrant.evaluator()
    return found


def compare(evaluated: Mapping[str, Evaluator], positions: Path) -> list[Row]:
    """A row for each evaluator, in their order.

    Raises
    ------
    UserError
        When a position is damaged or has no result, or no K fits.
    """
    parts = list(validation.chunks(positions))
    if not parts:
        raise UserError(f"{positions} has no positions")
    records = np.concatenate(parts)
    if (records["result"] == UNKNOWN_RESULT).any():
        raise UserError(f"{positions} has positions without a result; take those of finished games")
    sign = np.where(records["flags"] & 1, -1, 1)  # from the side to move to White
    results = (white_results(records).astype(np.float64) + 1) / 2
    rows: list[Row] = []
    first = np.zeros(0)
    with Progress(len(evaluated) * len(records), "positions", "errors") as progress:
        for name, evaluator in evaluated.items():
            values, scores = Quiet(evaluator).values, np.empty(len(records), np.int64)
            for start in range(0, len(records), BATCH):
                part = records[start : start + BATCH]
                scores[start : start + BATCH] = values(part)
                progress.advance(len(part))
            scores *= sign
            k = best_k(partial(_mean_error, scores, results))
            errors = _errors(scores, results, k)
            first = errors if not rows else first
            difference, error = clustered_mean(errors - first, records["game"])
            rows.append(Row(name, float(errors.mean()), k, difference, SIGNIFICANCE * error))
    return rows


def to_csv(rows: Sequence[Row]) -> str:
    """The table: errors with seven digits behind the point."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([field.name for field in fields(Row)])
    for row in rows:
        name, *numbers = astuple(row)
        writer.writerow([name, *(f"{number:.7f}" for number in numbers)])
    return out.getvalue()


def _errors(scores: np.ndarray, results: np.ndarray, k: float) -> np.ndarray:
    with np.errstate(over="ignore"):  # of lost positions, whose sigmoid is 0 then
        return np.square(results - sigmoid(scores, k))


def _mean_error(scores: np.ndarray, results: np.ndarray, k: float) -> float:
    return float(_errors(scores, results, k).mean())
