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


def among_legal(logits: torch.Tensor, played: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of the move played among legal pairs, [B].

    Parameters
    ----------
    logits : [B, L]
        Of legal pairs; minus infinity behind the last one.
    played : int64 [B]
        Which of these was played.
    """
    return cross_entropy(logits, played, reduction="none")


def of_legality(logits: torch.Tensor, legal: torch.Tensor) -> torch.Tensor:
    """Minus the log of the probability on legal pairs, [B].

    Together with `among_legal` that is the cross-entropy among all pairs.

    Parameters
    ----------
    logits, legal : [B, 4096], [B, L]
        Of all pairs; of legal ones, minus infinity behind the last one.
    """
    return logits.logsumexp(1) - legal.logsumexp(1)


def of_values(values: torch.Tensor, results: torch.Tensor) -> torch.Tensor:
    """Squared error of values, [B]; 0 where the result is unknown."""
    known = results != UNKNOWN_RESULT
    return torch.where(known, (values - results).square(), 0.0)
