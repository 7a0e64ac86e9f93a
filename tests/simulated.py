"""Tournaments of players whose strength is known."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from nnuelab.tournament import details, model
from nnuelab.tournament.headers import Results


def simulate(
    rng: np.random.Generator,
    elo: np.ndarray,
    pairs: int | np.ndarray,
    advantage: float = 30.0,
    opening: float = 0.0,
    davidson: float | None = None,
    taste: float = 0.0,
    alike: int = 1,
    book: int | None = None,
) -> Results:
    """A round robin of ``pairs`` openings, by pairing if need be; ``opening`` = sd of their bias.

    Draws by Davidson's model with this share between equals, or 0.7 of what is possible. ``taste``
    is the sd of what an opening adds to a player's strength, the same for ``alike`` neighbours.
    Each pairing draws its openings from a ``book`` of so many; without one all are different.
    """
    n = len(elo)
    first, second = np.triu_indices(n, 1)
    a, b = np.repeat(first, pairs), np.repeat(second, pairs)
    if book is None:
        book = len(a)
        drawn = np.arange(book)
    else:
        each = np.broadcast_to(pairs, len(first))
        drawn = np.concatenate([rng.permutation(book)[:count] for count in each])
    bias = rng.normal(0, opening, book)
    strength = elo[:, None] + np.repeat(rng.normal(0, taste, (n // alike, book)), alike, axis=0)
    white, black, at = np.concatenate([a, b]), np.concatenate([b, a]), np.tile(drawn, 2)
    lead = strength[white, at] + advantage + bias[at] - strength[black, at]
    p = 1 / (1 + np.exp(-model.SLOPE * lead))
    draw = 0.7 * np.minimum(p, 1 - p) if davidson is None else details.draw_rate(p, davidson)
    u = rng.random(len(p))
    points = np.where(u < p - draw / 2, 1.0, np.where(u < p + draw / 2, 0.5, 0.0))
    return Results([f"p{i}" for i in range(n)], white, black, points, at)


def by_least_squares(names: list[str], openings: Mapping[tuple[str, str], float]) -> np.ndarray:
    """Covariance of the players' ratings [n, n], the difference of two in an opening having 1."""
    information = np.zeros((len(names), len(names)))
    for (first, second), count in openings.items():
        i, j = names.index(first), names.index(second)
        information[[i, j], [i, j]] += count
        information[[i, j], [j, i]] -= count
    return np.linalg.pinv(information)
