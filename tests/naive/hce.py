"""Slow, obvious twins of the kernels of hand-crafted evaluations."""

from __future__ import annotations

import math
from collections import Counter

import chess
import numpy as np

from nnuelab.chess import notation
from nnuelab.features.check import defined
from nnuelab.hce.evaluation import Evaluation

# Values, traces and errors -----------------------------------------------------------------------


def traced(evaluation: Evaluation, fen: str) -> dict[int, int]:
    """Weights that a position counts, White's less Black's, by the definitions of the blocks."""
    position, found = notation.from_fen(fen), Counter()
    starts, weights = evaluation.members
    for perspective, sign in ((0, 1), (1, -1)):
        for feature in defined(evaluation.features, position, perspective):
            for weight in weights[starts[feature] : starts[feature + 1]].tolist():
                found[weight] += sign
    return {weight: count for weight, count in found.items() if count}


def phase(evaluation: Evaluation, fen: str) -> int:
    """What the pieces count together, at most 24."""
    pieces = chess.Board(fen).piece_map().values()
    return min(24, sum(int(evaluation.phase[piece.piece_type - 1]) for piece in pieces))


def score(evaluation: Evaluation, fen: str) -> float:
    """Centipawns for White, not rounded."""
    mg = eg = 0
    for weight, count in traced(evaluation, fen).items():
        mg += count * int(evaluation.weights[weight, 0])
        eg += count * int(evaluation.weights[weight, 1])
    p = phase(evaluation, fen)
    return (mg * p + eg * (24 - p)) / 24


def value(evaluation: Evaluation, board: chess.Board) -> int:
    """Whole centipawns for the side to move, towards 0."""
    centipawns = int(score(evaluation, board.fen()))
    return centipawns if board.turn == chess.WHITE else -centipawns


def mean_error(scores: list[float], results: list[float], k: float) -> float:
    """Mean squared error of expected results."""
    total = 0.0
    for cp, result in zip(scores, results, strict=True):
        total += (result - 1 / (1 + 10 ** (-k * cp / 400))) ** 2
    return total / len(scores)


# Tuning -------------------------------------------------------------------------------------------


def decoded(string: list[bool], fields: list[tuple[int, int, int]], encoding: str) -> list[int]:
    """Numbers of a string of bits; fields are widths, steps and signs."""
    found = []
    for width, step, sign in fields:
        own, string = string[:width], string[width:]
        text = "".join("01"[bit] for bit in own)
        if encoding == "offset":
            number = int(text, 2) - 2 ** (width - 1)
        elif encoding == "magnitude":
            number = sign * int(text, 2)
        else:
            number = -int(text[1:], 2) if own[0] else int(text[1:], 2)
        found.append(number * step)
    return found


def squared_error(trace, k: float, weights) -> float:
    """Mean squared error of weights [n, 2] on a trace, position by position."""
    total = 0.0
    for i in range(len(trace)):
        total += (float(trace.results[i]) - expected(trace, k, weights, i)) ** 2
    return total / len(trace)


def expected(trace, k: float, weights, i: int) -> float:
    """Expected result of a position."""
    mg = eg = 0.0
    for j in range(int(trace.starts[i]), int(trace.starts[i + 1])):
        mg += int(trace.counts[j]) * float(weights[trace.terms[j]][0])
        eg += int(trace.counts[j]) * float(weights[trace.terms[j]][1])
    phase = int(trace.phase[i])
    return 1 / (1 + 10 ** (-k * (mg * phase + eg * (24 - phase)) / 24 / 400))


def entropy_bits(probabilities: list[float]) -> float:
    """Sum of the entropies of bits."""
    return sum(-q * math.log2(q) for p in probabilities for q in (p, 1 - p) if q > 0)


def sandwich(trace, k: float, weights) -> np.ndarray:
    """Standard errors of all weights, [2 n]: A^-1 B A^-1 with B by game, from dense matrices."""
    n = trace.n_weights
    derivatives, residuals = np.zeros((len(trace), 2 * n)), np.zeros(len(trace))
    for i in range(len(trace)):
        e = expected(trace, k, weights, i)
        residuals[i] = e - float(trace.results[i])
        share = int(trace.phase[i]) / 24
        for j in range(int(trace.starts[i]), int(trace.starts[i + 1])):
            slope = k * math.log(10) / 400 * e * (1 - e) * int(trace.counts[j])
            derivatives[i, 2 * trace.terms[j]] = slope * share
            derivatives[i, 2 * trace.terms[j] + 1] = slope * (1 - share)
    bread = derivatives.T @ derivatives
    meat = np.zeros_like(bread)
    games = sorted(set(trace.games.tolist()))
    for game in games:
        own = trace.games == game
        push = derivatives[own].T @ residuals[own]
        meat += np.outer(push, push)
    meat *= len(games) / (len(games) - 1)
    return np.sqrt(np.diag(np.linalg.inv(bread) @ meat @ np.linalg.inv(bread)))
