"""Slow, obvious twins of the kernels of hand-crafted evaluations."""

from __future__ import annotations

from collections import Counter

import chess

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
