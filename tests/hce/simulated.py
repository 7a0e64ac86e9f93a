"""Traces of made-up positions whose best weights are known."""

from __future__ import annotations

import numpy as np

from nnuelab.hce.evaluation import Evaluation, Term
from nnuelab.hce.trace import Trace

K = 1.2


def evaluation(weights: np.ndarray, sizes: tuple[int, ...] | None = None) -> Evaluation:
    """An evaluation in name: terms of so many weights each, by default one."""
    from nnuelab.features import parse

    features = parse("ALL")
    terms = []
    for number, size in enumerate(sizes or (1,) * len(weights)):
        labels = ("",) if size == 1 else tuple(f"kind {i}" for i in range(size))
        group = np.zeros(features.size, np.int64)
        terms.append(Term(f"term_{number}", features, (), False, group, labels))
    phase = np.array([0, 1, 1, 2, 4, 0])
    return Evaluation("simulated", tuple(terms), phase, np.asarray(weights, np.int64))


def trace(
    weights: np.ndarray,
    n: int = 6000,
    seed: int = 1,
    k: float = K,
    twins: bool = False,
    per_game: int = 1,
) -> Trace:
    """Positions that hit four weights each; the results are drawn by the sigmoid of their scores.

    Parameters
    ----------
    weights : float64 [n_weights, 2]
        Those that the results are drawn with.
    n : int
        Different positions, each of a game of its own.
    twins : bool
        The last weight counts whenever the one before it does.
    per_game : int
        How often a position stands in its game, each time with its result.
    """
    random = np.random.default_rng(seed)
    hit = len(weights) - twins
    phase = random.integers(0, 25, n)
    counts = np.zeros((n, len(weights)), np.int8)
    for i in range(n):
        terms = random.choice(hit, min(4, hit), replace=False)
        counts[i, terms] = random.choice([-3, -2, -1, 1, 2, 3], len(terms))
    if twins:
        counts[:, -1] = counts[:, -2]
    share = np.stack([phase, 24 - phase], -1) / 24
    scores = np.einsum("ij,jp,ip->i", counts, weights, share)
    results = (random.random(n) < 1 / (1 + 10 ** (-k * scores / 400))).astype(np.float32)
    game = np.repeat(np.arange(n), per_game)
    counts, phase, results = counts[game], phase[game], results[game]
    position, term = np.nonzero(counts)
    starts = np.searchsorted(position, np.arange(len(game) + 1))
    return Trace(
        None,
        "simulated",
        len(weights),
        starts.astype(np.uint64),
        term.astype(np.uint16),
        counts[position, term],
        phase.astype(np.uint8),
        results,
        game.astype(np.uint32),
    )
