"""Tournaments of players whose strength is known."""

from __future__ import annotations

import numpy as np

from nnuelab.tournament import details, model
from nnuelab.tournament.headers import Results


def simulate(
    rng: np.random.Generator,
    elo: np.ndarray,
    pairs: int,
    advantage: float = 30.0,
    opening: float = 0.0,
    davidson: float | None = None,
) -> Results:
    """A round robin of ``pairs`` openings per pairing; ``opening`` = sd of an opening's bias.

    Draws by Davidson's model with this share between equals, or 0.7 of what is possible.
    """
    n = len(elo)
    first, second = np.triu_indices(n, 1)
    a, b = np.repeat(first, pairs), np.repeat(second, pairs)
    bias = rng.normal(0, opening, len(a))
    white = np.concatenate([a, b])
    black = np.concatenate([b, a])
    p = 1 / (1 + np.exp(-model.SLOPE * (elo[white] + advantage + np.tile(bias, 2) - elo[black])))
    draw = 0.7 * np.minimum(p, 1 - p) if davidson is None else details.draw_rate(p, davidson)
    u = rng.random(len(p))
    points = np.where(u < p - draw / 2, 1.0, np.where(u < p + draw / 2, 0.5, 0.0))
    return Results([f"p{i}" for i in range(n)], white, black, points, np.tile(np.arange(len(a)), 2))
