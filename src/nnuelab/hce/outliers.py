"""The positions whose results an evaluation is most wrong about: wrong terms, or bad data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnuelab.data import dataset, records
from nnuelab.errors import UserError
from nnuelab.hce.error import Error, sigmoid
from nnuelab.hce.evaluation import Evaluation
from nnuelab.hce.trace import Trace


@dataclass(frozen=True)
class Outlier:
    """A position; all numbers are White's.

    Attributes
    ----------
    fen : str
    game : int
    score : float
        Centipawns.
    expected, result : float
        0 to 1.
    """

    fen: str
    game: int
    score: float
    expected: float
    result: float


def find(
    evaluation: Evaluation, trace: Trace, positions: Path, k: float, count: int = 20
) -> list[Outlier]:
    """Those with the largest error, largest first; of a game the worst one alone.

    Raises
    ------
    UserError
        When the dataset isn't the one that was traced.
    """
    data = dataset.open(positions)
    games = np.concatenate([part["game"] for part in data.parts(0, len(data))])
    if len(data) != len(trace) or (games != trace.games).any():
        raise UserError(
            f"{positions} has other positions than {trace.path}; give the dataset that was traced"
        )
    scores = Error(trace, k).scores(evaluation.weights.astype(np.float64))
    expected = sigmoid(scores, k)
    order = np.argsort(-np.abs(expected - trace.results), kind="stable")
    _, firsts = np.unique(trace.games[order], return_index=True)
    found = []
    for i in order[np.sort(firsts)][:count].tolist():
        record = np.concatenate([*data.parts(i, i + 1)])[0]
        told = float(scores[i]), float(expected[i]), float(trace.results[i])
        found.append(Outlier(records.to_fen(record), int(trace.games[i]), *told))
    return found
