"""Logits of some pairs of squares and their gradients: legal ones are a hundredth of all 4,096."""

from __future__ import annotations

from typing import Any

import torch

from nnuelab.jit import at, jit
from nnuelab.policy.inference import dot


@jit
def _logits(last, by_pair, bias, owner, pairs, found):
    for i in range(pairs.size):
        pair = pairs[at(i)]
        found[at(i)] = bias[at(pair)] + dot(last[at(owner[at(i)])], by_pair[at(pair)])


@jit
def _gradients(given, last, by_pair, owner, pairs, to_last, to_pairs, to_bias):
    for i in range(pairs.size):
        board, pair = owner[at(i)], pairs[at(i)]
        slope = given[at(i)]
        to_bias[at(pair)] += slope
        for k in range(last.shape[1]):
            to_last[at(board), at(k)] += slope * by_pair[at(pair), at(k)]
            to_pairs[at(pair), at(k)] += slope * last[at(board), at(k)]


class PairLogits(torch.autograd.Function):
    """One thread, and sums in the order of the pairs: the same bits each time."""

    @staticmethod
    def of(
        last: torch.Tensor,
        by_pair: torch.Tensor,
        bias: torch.Tensor,
        owner: torch.Tensor,
        pairs: torch.Tensor,
    ) -> torch.Tensor:
        """bias[pairs] + last[owner] . by_pair[pairs], [total].

        Parameters
        ----------
        last : float [B, H]
        by_pair : float [4096, H], contiguous
        bias : float [4096]
        owner, pairs : int64 [total]
        """
        found: torch.Tensor = PairLogits.apply(last, by_pair, bias, owner, pairs)
        return found

    @staticmethod
    def forward(ctx: Any, *given: torch.Tensor) -> torch.Tensor:
        """See `of`."""
        last, by_pair, _, owner, pairs = given
        ctx.save_for_backward(last, by_pair, owner, pairs)
        found = torch.empty(len(pairs), dtype=last.dtype)
        _logits(*(tensor.detach().numpy() for tensor in (*given, found)))
        return found

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        """Gradients of the first three."""
        last, by_pair, owner, pairs = ctx.saved_tensors
        found = torch.zeros_like(last), torch.zeros_like(by_pair), by_pair.new_zeros(len(by_pair))
        given = (slopes[0].contiguous(), last, by_pair, owner, pairs, *found)
        _gradients(*(tensor.detach().numpy() for tensor in given))
        return (*found, None, None)
