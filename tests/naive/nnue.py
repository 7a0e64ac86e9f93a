"""Slow, obvious twins of the kernels of nnuelab.nnue."""

from __future__ import annotations

import numpy as np
import torch

from nnuelab.learning.sparse import Batch
from nnuelab.nnue.netfile import Net


def accumulator(net: Net, rows: list[int]) -> np.ndarray:
    """int16[M], by exact sums, modulo 2^16."""
    total = net.b1.astype(np.int64) + net.w1[rows].astype(np.int64).sum(axis=0)
    return total.astype(np.int16)


def activation(kind: str, sums: np.ndarray, shift: int) -> np.ndarray:
    """int64: clipped; or the square, or products of the halves, rounded by exact division.

    Of dual ones the square, and what is clipped rounded likewise.
    """
    if kind == "dual":
        rounded = np.floor_divide(2 * sums + 2**shift, 2 * 2**shift)
        return np.concatenate([activation("squared", sums, shift), np.clip(rounded, 0, 127)])
    if kind == "clipped":
        return np.clip(sums >> shift, 0, 127)
    one = other = np.clip(sums, 0, 127 * 2**shift)
    if kind == "pairwise":
        one, other = one[: len(one) // 2], one[len(one) // 2 :]
    return np.floor_divide(2 * one * other + 128 * 4**shift, 2 * 128 * 4**shift)


def forward(
    net: Net, stm: np.ndarray, other: np.ndarray, pieces: int = 32, balance: int = 0
) -> int:
    """Centipawns from two accumulators, by the formulas of ``Net`` in int64.

    ``balance`` is the psqt's.
    """
    bucket = (pieces - 1) * net.buckets // 32
    of_bucket = {
        name: array.astype(np.int64).reshape(net.buckets, -1, *array.shape[1:])[bucket]
        for name, array in net.arrays().items()
        if name not in ("w1", "b1", "psqt")
    }
    plain = "squared" if net.activation == "squared" else "clipped"
    first = "pairwise" if net.pairwise else plain
    sides = [activation(first, side.astype(np.int64), net.l1_shift) for side in (stm, other)]
    x = np.concatenate(sides)
    y = activation(net.activation, of_bucket["b2"] + of_bucket["w2"] @ x, net.l2_shift)
    if net.l3:
        y = activation(net.activation, of_bucket["bh"] + of_bucket["wh"] @ y, net.l3_shift)
    value = balance + int(of_bucket["b3"][0]) + int(of_bucket["w3"] @ y)
    return value >> net.out_shift


def evaluate(net: Net, stm_rows: list[int], other_rows: list[int], pieces: int = 32) -> int:
    """Centipawns for the side to move from the active features of both perspectives."""
    balance = 0
    if net.psqt is not None:
        bucket = (pieces - 1) * net.psqt_buckets // 32
        values = net.psqt.reshape(net.n_features, -1)[:, bucket]
        balance = sum(values[stm_rows].tolist()) - sum(values[other_rows].tolist())
    sides = accumulator(net, stm_rows), accumulator(net, other_rows)
    return forward(net, *sides, pieces, balance)


def rows(weight: torch.Tensor, shared: torch.Tensor, numbers: np.ndarray) -> torch.Tensor:
    """The sum of each feature's own row and those that it shares."""
    return torch.stack(
        [own + shared[of[of >= 0]].sum(0) for own, of in zip(weight, numbers, strict=True)]
    )


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


def inputs(clipped: torch.Tensor, activation: str) -> torch.Tensor:
    """What the second layer gets of clipped accumulators [B, 2M]."""
    if activation == "pairwise":
        a, b, c, d = clipped.chunk(4, 1)
        return torch.cat([a * b, c * d], 1)
    return clipped**2 if activation == "squared" else clipped


def product(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """c + a @ b in float32, each number a chain of fused multiply-adds.

    80 bits hold a product exactly, and the sum with an error that the rounding to 24 doesn't see.
    """
    for k in range(a.shape[1]):
        exact = a[:, k, None].astype(np.longdouble) * b[k] + c
        c = exact.astype(np.float32)
    return c
