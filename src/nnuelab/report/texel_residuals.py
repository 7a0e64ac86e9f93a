"""Where an evaluation is wrong: residuals by phase and by material, the curve of K, outliers."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.data import dataset
from nnuelab.hce import outliers
from nnuelab.hce.error import Error, best_k, sigmoid
from nnuelab.hce.evaluation import Evaluation
from nnuelab.hce.trace import Trace
from nnuelab.intervals import SIGNIFICANCE, clustered_mean

OUTLIERS = 12
FACTORS = np.geomspace(0.25, 4, 41)  # of K, in its curve
PAWNS = np.array([1, 3, 3, 5, 9, 0])  # what a piece of each role counts, as everywhere
WIDEST = 9  # pawns; a larger difference counts as this


def content(
    evaluation: Evaluation, trace: Trace, positions: Path, k: float | None = None, threads: int = 1
) -> dict[str, Any]:
    """All figures as JSON.

    Parameters
    ----------
    evaluation : Evaluation
    trace : Trace
        Of its terms.
    positions : path
        The dataset that was traced.
    k : float, optional
        Of the sigmoid; by default the one that the evaluation was tuned with, or else the best.
    threads : int

    Returns
    -------
    dict
        ``positions``, ``games``; ``k`` and ``best_k``, that of the least error here; ``error`` and
        ``constant``, that of betting on the mean; ``k_curve``, pairs of K and error; ``phase`` and
        ``material``, see `groups`; ``outliers``, see `outliers.Outlier`.

    Raises
    ------
    UserError
        When the dataset is another one.
    """
    error = Error(trace, 1.0, threads)
    scores = error.scores(evaluation.weights.astype(np.float64))
    best = best_k(partial(error.of_scores, scores))
    k = k or float(evaluation.provenance.get("k") or best)
    # Finds out whether the positions are those of the trace, too.
    worst = outliers.find(evaluation, trace, positions, k, OUTLIERS)
    residuals = trace.results - sigmoid(scores, k)
    constant = float(np.var(trace.results, dtype=np.float64))
    return {
        "evaluation": evaluation.name,
        "positions": len(trace),
        "games": len(np.unique(trace.games)),
        "k": k,
        "best_k": best,
        "error": float(np.square(residuals).mean()),
        "constant": constant,
        "k_curve": [[x, error.of_scores(scores, x)] for x in (best * FACTORS).tolist()],
        "phase": groups(trace.phase.astype(np.int64), residuals, trace.games),
        "material": groups(material(positions), residuals, trace.games),
        "outliers": [asdict(each) for each in worst],
    }


def groups(values: np.ndarray, residuals: np.ndarray, games: np.ndarray) -> list[dict[str, Any]]:
    """Means of positions with the same value, ascending.

    Parameters
    ----------
    values : int64 [n]
    residuals : float64 [n]
        Result less expected result, White's.
    games : uint32 [n]

    Returns
    -------
    list of dict
        ``value``, ``positions``, ``residual`` (mean), ``half_width`` of its 95 % interval, with
        the positions of a game taken together, and ``error``, the mean square.
    """
    found = []
    for value in np.unique(values).tolist():
        own = values == value
        mean, error = clustered_mean(residuals[own], games[own])
        found.append(
            {
                "value": value,
                "positions": int(own.sum()),
                "residual": mean,
                "half_width": SIGNIFICANCE * error,
                "error": float(np.square(residuals[own]).mean()),
            }
        )
    return found


def material(positions: Path) -> np.ndarray:
    """White's pieces less Black's in pawns, int64 [n], at most WIDEST either way."""
    worth = np.zeros(16, np.int64)
    worth[: 2 * len(PAWNS)] = np.stack([PAWNS, -PAWNS], axis=1).ravel()  # role * 2 + colour
    data = dataset.open(positions)
    found = []
    for records in data.parts(0, len(data)):
        pieces = np.bitwise_count(records["occupied"])
        total = np.zeros(len(records), np.int64)
        for piece in range(32):
            half = records["pieces_low" if piece < 16 else "pieces_high"]
            code = half >> np.uint64(4 * (piece % 16)) & np.uint64(15)
            total += np.where(piece < pieces, worth[code.astype(np.int64)], 0)
        found.append(total)
    return np.concatenate(found).clip(-WIDEST, WIDEST)
