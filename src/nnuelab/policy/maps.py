"""What a policy says of the squares of a board: to go from, and to go to given these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from nnuelab.policy.policyfile import SQUARES


class Maps(NamedTuple):
    """Two maps by square of the board.

    Attributes
    ----------
    start : float [64]
        Of the squares to go from.
    goal : float [64, 64], or [1, 64] where it is the same for all
        Of the squares to go to, by the square to go from; nan where none is gone to.
    """

    start: np.ndarray
    goal: np.ndarray


def of_moves(moves: Sequence[int], probabilities: Sequence[float]) -> Maps:
    """The marginals of moves with their probabilities, and the conditionals."""
    pairs, played = np.zeros((SQUARES, SQUARES)), np.asarray(moves, np.int64)
    np.add.at(pairs, (played & 63, played >> 6 & 63), probabilities)
    start = pairs.sum(axis=1)
    with np.errstate(invalid="ignore"):
        return Maps(start, pairs / start[:, None])


def of_outputs(values: np.ndarray, loss: str, turn: int) -> Maps:
    """The same of all pairs of squares, legal or not.

    Parameters
    ----------
    values : float32 [128] or [4096]
        Of `Mover.activations`.
    loss : str
        Of the policy; see `halves`.
    turn : int
        The player to move.
    """
    start, square = halves(values, loss)
    if len(values) == 2 * SQUARES:
        goal = square[None]
    else:
        goal = on_board(_scaled(values.reshape(SQUARES, SQUARES), loss), turn)
    return Maps(on_board(start, turn), on_board(goal.T, turn).T)


def halves(values: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """What a policy says of the squares to go from and to go to, as the player to move sees them.

    Sigmoids of a net trained with the loss ``mse``, else probabilities. Of pairs of squares it is
    the highest sigmoid, or the sum of the probabilities.

    Parameters
    ----------
    values : float32 [128] or [4096]
        Of `Mover.activations`.

    Returns
    -------
    tuple of float [64]
    """
    if len(values) == 2 * SQUARES:
        start, goal = _scaled(values.reshape(2, SQUARES), loss)
        return start, goal
    pairs = _scaled(values, loss).reshape(SQUARES, SQUARES)
    if loss == "mse":
        return pairs.max(axis=1), pairs.max(axis=0)
    return pairs.sum(axis=1), pairs.sum(axis=0)


def on_board(values: np.ndarray, turn: int) -> np.ndarray:
    """By square of the board, from values by square (axis 0) as the player to move sees it."""
    return values[np.arange(SQUARES) ^ 56 * turn]


def _scaled(values: np.ndarray, loss: str) -> np.ndarray:
    """Sigmoids, or softmax along the last axis."""
    values = values.astype(float)
    if loss == "mse":
        return 1 / (1 + np.exp(-values))
    weights = np.exp(values - values.max(axis=-1, keepdims=True))
    found: np.ndarray = weights / weights.sum(axis=-1, keepdims=True)
    return found
