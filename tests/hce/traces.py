"""Evaluations, positions and traces that the tests of this room share."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from nnuelab.data import dataset
from nnuelab.data.records import RECORD, from_fen
from nnuelab.hce import evaluation, trace
from nnuelab.hce.evaluation import Evaluation
from nnuelab.hce.trace import Trace

# Blocks of several kinds; a feature in two terms; weights for groups and for single features.
TERMS = """
name: some terms
terms:
  material:
    features: OWN
    by: [ROLES]
    mg: [82, 337, 365, 477, 1025, 0]
    eg: [94, 281, 297, 512, 936, 0]
  squares: {features: OWN, by: [ROLES, RANKS], mg: 3, eg: -2}
  mobility: {features: MC, mg: 2, eg: 5}
  neighbours: {features: PH, by: [RANKS], mg: -7, eg: 1}
  files: {features: "H+KING", mg: 1, eg: 4}
"""


def some_terms(folder: Path, seed: int | None = None) -> Evaluation:
    """An evaluation, with random weights where there is a seed."""
    path = folder / "some_terms.yaml"
    path.write_text(TERMS)
    found = evaluation.read(path)
    if seed is None:
        return found
    return found.with_weights(np.random.default_rng(seed).integers(-200, 200, (found.n_weights, 2)))


def records(fens: list[str], results: list[float] | None = None) -> np.ndarray:
    """Records of positions, each a game of its own, with White's results."""
    found = np.array([from_fen(fen) for fen in fens], RECORD)
    found["game"] = np.arange(len(fens))
    white = np.array([0.5] * len(fens) if results is None else results)
    found["result"] = (2 * white - 1) * np.where(found["flags"] & 1, -1, 1)
    return found


def saved(path: Path, positions: np.ndarray) -> dataset.Dataset:
    """A dataset file of positions."""
    np.save(path, positions)
    return dataset.open(path)


def made(folder: Path, evaluation: Evaluation, fens: list[str], results: list[float]) -> Trace:
    """The trace of positions, by way of files."""
    positions = saved(folder / "positions.npy", records(fens, results))
    return trace.write(folder / "positions.trace", positions, evaluation)


def synthetic(n: int, n_weights: int, seed: int = 1) -> Trace:
    """A trace of random counts, with lists of all lengths, and results that follow from some."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(0, min(60, n_weights), n)
    lengths[: min(n, 12)] = np.arange(min(n, 12))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.uint64)
    terms = [np.sort(rng.choice(n_weights, k, replace=False)) for k in lengths]
    counts = rng.integers(1, 4, int(starts[-1])) * rng.choice([-1, 1], int(starts[-1]))
    weights = rng.normal(0, 60, n_weights)
    scores = np.array(
        [
            counts[int(a) : int(b)] @ weights[t]
            for a, b, t in zip(starts[:-1], starts[1:], terms, strict=True)
        ]
    )
    won = 1 / (1 + 10 ** (-scores / 400))
    results = np.rint(2 * (won + rng.normal(0, 0.3, n))).clip(0, 2) / 2
    return Trace(
        None,
        "",
        n_weights,
        starts,
        np.concatenate(terms).astype(np.uint16),
        counts.astype(np.int8),
        rng.integers(0, 25, n).astype(np.uint8),
        results.astype(np.float32),
        np.arange(n, dtype=np.uint32),
    )
