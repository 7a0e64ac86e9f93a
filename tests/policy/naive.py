"""Policies as their definition says, in numpy and python-chess: slow and obvious."""

from __future__ import annotations

import chess
import numpy as np

from nnuelab.chess import notation
from nnuelab.data.records import to_fen
from nnuelab.features.tables import compiled
from nnuelab.learning.loader import extract
from nnuelab.policy.policyfile import Policy


def position_of(record: np.void) -> np.void:
    return notation.from_fen(to_fen(record))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def naive_outputs(policy: Policy, record: np.void) -> tuple[np.ndarray, float]:
    """All outputs, and the value."""
    feature_set = policy.features
    batch = extract(compiled(feature_set), np.array([record]), feature_set.max_active)
    layer = np.zeros(feature_set.size)
    layer[batch.rows[0, 0, : batch.n[0, 0]]] = 1
    for weights, biases in zip(policy.weights, policy.biases, strict=True):
        sums = layer @ weights.astype(np.float64) + biases
        layer = np.maximum(sums, 0) if policy.activation == "relu" else sigmoid(sums)
    out = layer @ policy.output.astype(np.float64) + policy.output_bias
    if policy.value_weights is None or policy.value_bias is None:
        return out, 0.0
    return out, float(np.tanh(layer @ policy.value_weights.astype(float) + policy.value_bias[0]))


def naive_pairs(policy: Policy, out: np.ndarray) -> np.ndarray:
    """The logits of all pairs of squares."""
    if policy.head == "pair":
        return out
    r = policy.rank
    u, v = out[128 : 128 + 64 * r].reshape(64, r), out[128 + 64 * r :].reshape(64, r)
    pairs = [
        out[start] + out[64 + square] + float(u[start] @ v[square])
        for start in range(64)
        for square in range(64)
    ]
    return np.array(pairs)


def literal_walk(policy: Policy, record: np.void, out: np.ndarray) -> tuple[int, int, int, int]:
    """First pair, pair that is played, pairs looked at, checks of legality: by sorting."""
    board = chess.Board(to_fen(record))
    turned = 0 if board.turn else 56
    legal = {64 * (m.from_square ^ turned) + (m.to_square ^ turned) for m in board.legal_moves}
    own = {
        square
        for square in range(64)
        if (piece := board.piece_at(square ^ turned)) is not None and piece.color == board.turn
    }
    if policy.head == "fromto":
        starts = sorted(range(64), key=lambda s: -out[s])
        squares = sorted(range(64), key=lambda s: -out[64 + s])
        order = [64 * start + square for start in starts for square in squares]
    else:
        pairs = naive_pairs(policy, out)
        order = sorted(range(4096), key=lambda pair: -pairs[pair])
    checks = 0
    for tries, pair in enumerate(order, 1):
        checks += pair // 64 in own and pair % 64 not in own
        if pair in legal:
            return order[0], pair, tries, checks
    return order[0], -1, 4096, checks
