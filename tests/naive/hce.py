"""Slow, obvious twins of hand-crafted evaluations."""

from __future__ import annotations

import chess
import numpy as np

from nnuelab.chess import notation
from nnuelab.features.check import seen
from nnuelab.hce.evaluation import Evaluation

# Values -------------------------------------------------------------------------------------------


def sums(evaluation: Evaluation, board: chess.Board) -> tuple[int, int]:
    """Middlegame and endgame for White, by the definitions of the blocks."""
    starts, weights = evaluation.members
    total = [0, 0]
    position = notation.from_fen(board.fen())
    for perspective, sign in ((0, 1), (1, -1)):
        for feature in evaluation.features.defined(seen(position, perspective)):
            for weight in weights[starts[feature] : starts[feature + 1]]:
                total[0] += sign * int(evaluation.weights[weight][0])
                total[1] += sign * int(evaluation.weights[weight][1])
    return total[0], total[1]


def phase(evaluation: Evaluation, board: chess.Board) -> int:
    """0 to 24, by the pieces that are left."""
    pieces = board.piece_map().values()
    return min(24, sum(int(evaluation.phase[piece.piece_type - 1]) for piece in pieces))


def value(evaluation: Evaluation, board: chess.Board) -> int:
    """Centipawns for the side to move."""
    (middlegame, endgame), p = sums(evaluation, board), phase(evaluation, board)
    total = middlegame * p + endgame * (24 - p)
    centipawns = int(np.sign(total)) * (abs(total) // 24)
    return centipawns if board.turn == chess.WHITE else -centipawns
