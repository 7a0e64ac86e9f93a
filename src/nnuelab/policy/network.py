"""The net of a policy in torch, for training."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from nnuelab.features import FeatureSet, fingerprint
from nnuelab.policy.policyfile import SQUARES, Policy, outputs_of


class Network(nn.Module):
    """A net with the meaning of :class:`nnuelab.policy.policyfile.Policy`.

    Parameters
    ----------
    features : FeatureSet
    layers : sequence of int
        Widths of the hidden layers.
    head, rank, activation
        As of a Policy.
    value : bool
        Whether it has a value head.
    generator : torch.Generator
        Of the initial weights.
    """

    def __init__(
        self,
        features: FeatureSet,
        layers: Sequence[int],
        head: str,
        rank: int,
        activation: str,
        value: bool,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.features, self.head, self.rank = features, head, rank
        self.activation, self.has_value = activation, value
        widths = [features.size, *layers]
        # About max_active inputs are ones: Glorot's rule for the others would drown them.
        self.weights = nn.ParameterList(
            _glorot(inputs, outputs, generator) for inputs, outputs in itertools.pairwise(widths)
        )
        self.biases = nn.ParameterList(torch.zeros(width) for width in layers)
        outputs = outputs_of(head, rank)
        self.output = nn.Parameter(_glorot(widths[-1], outputs, generator).T.contiguous())
        self.output_bias = nn.Parameter(torch.zeros(outputs))
        if value:
            self.value_weights = nn.Parameter(torch.zeros(widths[-1]))
            self.value_bias = nn.Parameter(torch.zeros(1))

    def hidden(self, rows: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        """The last hidden layer; a net without one can't be asked.

        Parameters
        ----------
        rows : int64 [total]
            Active features, of one position after another.
        n : int64 [batch]
            How many of them each position has.
        """
        starts = torch.cumsum(n, 0) - n
        found = functional.embedding_bag(rows, self.weights[0], starts, mode="sum")
        found = self._activate(found + self.biases[0])
        for weights, biases in zip(self.weights[1:], self.biases[1:], strict=True):
            found = self._activate(found @ weights + biases)
        return found

    def forward(self, rows: torch.Tensor, n: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """All outputs, float32 [batch, O], and values, float32 [batch] (0 without a value head)."""
        last = self.hidden(rows, n)
        return last @ self.output.T + self.output_bias, self.value(last)

    def value(self, last: torch.Tensor) -> torch.Tensor:
        """Values, from the last hidden layer."""
        if not self.has_value:
            return torch.zeros(len(last))
        return torch.tanh(last @ self.value_weights + self.value_bias)

    def pair_logits(
        self, last: torch.Tensor, owner: torch.Tensor, pairs: torch.Tensor
    ) -> torch.Tensor:
        """Logits of pairs of squares alone: much cheaper than all outputs of the head ``pair``.

        Parameters
        ----------
        last : float32 [batch, H]
        owner : int64 [total]
            Which position of the batch a pair belongs to.
        pairs : int64 [total]
            64 * start + square, as the player to move sees them.
        """
        if self.head == "pair":
            rows = functional.embedding(pairs, self.output)
            return (last[owner] * rows).sum(1) + self.output_bias[pairs]
        out = last @ self.output.T + self.output_bias
        start, square = pairs >> 6, pairs & 63
        found = out[owner, start] + out[owner, SQUARES + square]
        if self.rank:
            u, v = out[:, 2 * SQUARES :].reshape(len(out), 2, SQUARES, self.rank).unbind(1)
            found = found + (u[owner, start] * v[owner, square]).sum(1)
        return found

    def _activate(self, sums: torch.Tensor) -> torch.Tensor:
        return torch.relu(sums) if self.activation == "relu" else torch.sigmoid(sums)

    def to_policy(self, loss: str, provenance: Mapping[str, Any] | None = None) -> Policy:
        """The policy as it is now, a copy."""

        def copy(tensor: torch.Tensor) -> Any:
            return tensor.detach().numpy().copy()

        value: dict[str, Any] = {}
        if self.has_value:
            value = {name: copy(getattr(self, name)) for name in ("value_weights", "value_bias")}
        return Policy(
            self.features.name,
            [copy(weights) for weights in self.weights],
            [copy(biases) for biases in self.biases],
            output=copy(self.output.T.contiguous()),
            output_bias=copy(self.output_bias),
            head=self.head,
            activation=self.activation,
            loss=loss,
            rank=self.rank,
            provenance=dict(provenance or {}),
            blocks=fingerprint.of_blocks(self.features),
            **value,
        )


def _glorot(inputs: int, outputs: int, generator: torch.Generator) -> torch.Tensor:
    deviation = (2 / (inputs + outputs)) ** 0.5
    return torch.randn(inputs, outputs, generator=generator) * deviation
