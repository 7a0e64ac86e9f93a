"""Slow, obvious twins of the tournament room."""

from __future__ import annotations

import math

import numpy as np

from nnuelab.settings.games import Rules


def fit(
    players: int, white: np.ndarray, black: np.ndarray, points: np.ndarray, cluster: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """Ordo's model by Newton's method, game by game: ratings, their covariance, white advantage."""
    slope = math.log(0.76 / 0.24) / 202
    theta = np.zeros(players)  # ratings of all but the first player, then white's advantage
    for _ in range(12):
        gradient = np.zeros(players)
        information = np.zeros((players, players))
        scores: dict[int, np.ndarray] = {}
        for w, b, y, c in zip(white, black, points, cluster, strict=True):
            x = np.zeros(players + 1)
            x[w], x[b], x[players] = 1, -1, 1
            x = slope * x[1:]
            p = 1 / (1 + math.exp(-float(x @ theta)))
            gradient += (y - p) * x
            information += p * (1 - p) * np.outer(x, x)
            scores[c] = scores.get(c, np.zeros(players)) + (y - p) * x
        theta = theta + np.linalg.solve(information, gradient)
    bread = np.linalg.inv(information)
    meat = sum(np.outer(s, s) for s in scores.values())
    games, groups = len(points), len(scores)
    correction = groups / (groups - 1) * (games - 1) / (games - players)
    sandwich = correction * bread @ meat @ bread
    ratings = np.concatenate([[0.0], theta[:-1]])
    full = np.zeros((players, players))
    full[1:, 1:] = sandwich[:-1, :-1]
    centre = np.eye(players) - 1 / players
    return centre @ ratings, centre @ full @ centre.T, float(theta[-1])


def adjudicate(scores: list[int], moves: list[int], rules: Rules) -> tuple[int, str, str] | None:
    """The first ply after which the scores (White's view) end a game: ply, result, reason."""
    for end in range(1, len(scores) + 1):
        last = scores[max(end - rules.draw_plies, 0) : end]
        if (
            0 < rules.draw_plies == len(last)
            and moves[end - 1] >= rules.draw_move
            and all(abs(score) <= rules.draw_score for score in last)
        ):
            return end, "1/2-1/2", "level scores"
        last = scores[max(end - rules.resign_plies, 0) : end]
        if 0 < rules.resign_plies == len(last):
            if all(score >= rules.resign_score for score in last):
                return end, "1-0", "decisive scores"
            if all(score <= -rules.resign_score for score in last):
                return end, "0-1", "decisive scores"
    return None
