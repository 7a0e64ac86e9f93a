"""What the training of a policy minimises."""

from __future__ import annotations

import torch
from torch.nn.functional import cross_entropy

from nnuelab.data.records import UNKNOWN_RESULT
from nnuelab.policy.network import Network
from nnuelab.policy.policyfile import SQUARES


def squared_error(
    network: Network, out: torch.Tensor, start: torch.Tensor, square: torch.Tensor
) -> torch.Tensor:
    """Mean squared error of sigmoid outputs, [B]: 1 is wanted of the move played, 0 of the rest.

    As in "Neural Chess", whose squares to go from and to each have an output.
    """
    target = torch.zeros_like(out)
    if network.head == "pair":
        target.scatter_(1, (SQUARES * start + square)[:, None], 1)
    else:
        target.scatter_(1, torch.stack([start, SQUARES + square], 1), 1)
    return (torch.sigmoid(out) - target).square().mean(1)


def among_all(
    network: Network, out: torch.Tensor, start: torch.Tensor, square: torch.Tensor
) -> torch.Tensor:
    """Cross-entropy of the move played among all pairs of squares, [B].

    Of a head fromto that is the sum of those of its two halves.
    """
    if network.head == "fromto":
        found = cross_entropy(out[:, :SQUARES], start, reduction="none")
        return found + cross_entropy(out[:, SQUARES:], square, reduction="none")
    logits = network.pair_logits(out)
    return cross_entropy(logits, SQUARES * start + square, reduction="none")


def among_legal(
    network: Network,
    out: torch.Tensor,
    start: torch.Tensor,
    square: torch.Tensor,
    pairs: torch.Tensor,
    counts: torch.Tensor,
    legal_weight: float,
) -> torch.Tensor:
    """Cross-entropy of the move played among legal pairs, [B], plus that of legality.

    Cross-entropy among all pairs is the sum of this one and of minus the log of the probability on
    legal pairs; the second has a weight of its own.

    Parameters
    ----------
    pairs, counts : int64 [B, L], [B]
        See ``labels.legal_pairs``.
    """
    logits = network.pair_logits(out)
    beyond = torch.arange(pairs.shape[1]) >= counts[:, None]
    legal = logits.gather(1, pairs).masked_fill(beyond, -torch.inf).logsumexp(1)
    found = legal - logits.gather(1, (SQUARES * start + square)[:, None])[:, 0]
    if legal_weight:
        found = found + legal_weight * (logits.logsumexp(1) - legal)
    return found


def of_values(values: torch.Tensor, results: torch.Tensor) -> torch.Tensor:
    """Squared error of values, [B]; 0 where the result is unknown."""
    known = results != UNKNOWN_RESULT
    return torch.where(known, (values - results).square(), 0.0)
