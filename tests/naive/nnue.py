"""Slow, obvious twins of the kernels of nnuelab.nnue."""

from __future__ import annotations

import numpy as np
import torch

from nnuelab.nnue.first_layer import Batch
from nnuelab.nnue.netfile import Net


def accumulator(net: Net, rows: list[int]) -> np.ndarray:
    """int16[M], by exact sums, modulo 2^16."""
    total = net.b1.astype(np.int64) + net.w1[rows].astype(np.int64).sum(axis=0)
    return total.astype(np.int16)


def forward(net: Net, stm: np.ndarray, other: np.ndarray) -> int:
    """Centipawns from two accumulators, by the formulas of ``Net`` in int64."""
    x = np.concatenate([stm, other]).astype(np.int64)
    x = np.clip(x >> net.l1_shift, 0, 127)
    y = (net.b2.astype(np.int64) + net.w2.astype(np.int64) @ x) >> net.l2_shift
    value = int(net.b3[0]) + int(net.w3.astype(np.int64) @ np.clip(y, 0, 127))
    return value >> net.out_shift


def evaluate(net: Net, stm_rows: list[int], other_rows: list[int]) -> int:
    """Centipawns for the side to move from the active features of both perspectives."""
    return forward(net, accumulator(net, stm_rows), accumulator(net, other_rows))


def first_layer(weight: torch.Tensor, bias: torch.Tensor, batch: Batch) -> torch.Tensor:
    """Clipped accumulators [B, 2M] by torch's EmbeddingBag; any floating type."""
    sides = []
    for rows, n in zip(batch.rows, batch.n, strict=True):
        flat = np.concatenate([r[:k] for r, k in zip(rows, n, strict=True)])
        offsets = np.cumsum(n) - n
        sides.append(
            torch.nn.functional.embedding_bag(
                torch.from_numpy(flat.astype(np.int64)),
                weight,
                torch.from_numpy(offsets),
                mode="sum",
            )
            + bias
        )
    return torch.cat(sides, 1).clamp(0, 1)
