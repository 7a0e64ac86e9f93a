"""Policies in torch: the float net, as :class:`nnuelab.policy.policyfile.Policy` describes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from nnuelab.errors import UserError
from nnuelab.features import FeatureSet, fingerprint
from nnuelab.learning.sparse import Batch
from nnuelab.policy.pair_logits import PairLogits
from nnuelab.policy.policyfile import SQUARES, Policy, outputs_of

PIECES = 12
LEVELS = "levels13"


class Network(torch.nn.Module):
    """A policy whose weights are drawn as Glorot and Bengio (2010) do, from normals.

    Parameters
    ----------
    feature_set : FeatureSet
    generator : torch.Generator
    layers : sequence of int
        Neurons of the hidden layers.
    head, rank, activation : str, int, str
        As of a Policy; the rank counts for the head product alone.
    value : bool
        Whether it says what result it expects; at first always a draw.
    inputs : str
        ``levels13`` ties the rows of ALL, see :class:`nnuelab.settings.policy.PolicyTraining`.

    Raises
    ------
    UserError
        When the inputs are for other features.
    """

    def __init__(
        self,
        feature_set: FeatureSet,
        generator: torch.Generator,
        *,
        layers: Sequence[int],
        head: str,
        rank: int = 0,
        activation: str = "relu",
        value: bool = False,
        inputs: str = "features",
    ) -> None:
        super().__init__()
        self.feature_set, self.head, self.activation = feature_set, head, activation
        self.rank = rank if head == "product" else 0
        self.depth, self.has_value, self.inputs = len(layers), value, inputs
        if inputs == LEVELS:
            if feature_set.name != "ALL":
                raise UserError(
                    f"inputs levels13 are made of the features ALL, not of {feature_set.name}; "
                    "give --features ALL, or other --inputs"
                )
            self.levels, self.squares = _levels()
        width = SQUARES if inputs == LEVELS else feature_set.size
        for i, neurons in enumerate(layers):
            self._draw(f"w{i}", width, neurons, generator)
            self._zeros(f"b{i}", neurons)
            width = neurons
        outputs = outputs_of(head, self.rank)
        self._draw("output", width, outputs, generator)
        self._zeros("output_bias", outputs)
        if value:
            self._zeros("value_weights", width, 1)
            self._zeros("value_bias", 1)

    def _of(self, name: str) -> torch.Tensor:
        found = getattr(self, name)
        assert isinstance(found, torch.Tensor)
        return found

    def _draw(self, name: str, inputs: int, outputs: int, generator: torch.Generator) -> None:
        weights = torch.randn(inputs, outputs, generator=generator)
        scaled = weights * (2 / (inputs + outputs)) ** 0.5
        if name == "output" and self.depth:
            scaled = scaled.T.contiguous().T  # the weights of a pair lie together
        self.register_parameter(name, torch.nn.Parameter(scaled))

    def _zeros(self, name: str, *shape: int) -> None:
        self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))

    @property
    def free(self) -> int:
        """How many numbers are learnt; rows that are tied count once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _rows(self, name: str) -> torch.Tensor:
        """A table with a row for each feature, [N, M]."""
        weights = self._of(name)
        return self.levels[:, None] * weights[self.squares] if self.inputs == LEVELS else weights

    def _first(self, name: str, active: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        """Sums of the rows of active features, [B, M]."""
        found: torch.Tensor = embedding_bag(active, self._rows(name), n.cumsum(0) - n, mode="sum")
        return found

    def hidden(self, active: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        """The last hidden layer of a net that has one, [B, H].

        Parameters
        ----------
        active : int [total]
            Features seen by the side to move, of one position after another.
        n : int64 [B]
            How many each position has.
        """
        found = self._activated(self._first("w0", active, n) + self._of("b0"))
        for i in range(1, self.depth):
            sums = torch.addmm(self._of(f"b{i}"), found, self._of(f"w{i}"))
            found = self._activated(sums)
        return found

    def seen(self, active: torch.Tensor, n: torch.Tensor) -> Seen:
        """What it makes of a batch; parameters as of `hidden`."""
        return Seen(self, active, n)

    def linear(self, active: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        """All outputs, [B, O], of a net without hidden layers."""
        return self._first("output", active, n) + self._of("output_bias")

    def linear_value(self, active: torch.Tensor, n: torch.Tensor) -> torch.Tensor:
        """Values, [B], of a net without hidden layers."""
        return self._expected(self._first("value_weights", active, n))

    def outputs(self, last: torch.Tensor) -> torch.Tensor:
        """All outputs, [B, O], from the last hidden layer."""
        return torch.addmm(self._of("output_bias"), last, self._of("output"))

    def value(self, last: torch.Tensor) -> torch.Tensor:
        """Values, [B], from the last hidden layer."""
        return self._expected(last @ self._of("value_weights"))

    def _expected(self, sums: torch.Tensor) -> torch.Tensor:
        return torch.tanh(sums[:, 0] + self._of("value_bias"))

    def _activated(self, sums: torch.Tensor) -> torch.Tensor:
        return torch.relu(sums) if self.activation == "relu" else torch.sigmoid(sums)

    def pair_logits(self, out: torch.Tensor) -> torch.Tensor:
        """The logits of all pairs of squares, [B, 4096], from outputs [B, O]."""
        if self.head == "pair":
            return out
        starts, squares = out[:, :SQUARES], out[:, SQUARES : 2 * SQUARES]
        logits = starts[:, :, None] + squares[:, None, :]
        if self.rank:
            u, v = self._factors(out)
            logits = torch.baddbmm(logits, u, v.transpose(1, 2))
        return logits.reshape(len(out), SQUARES * SQUARES)

    def _factors(self, out: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        u, v = out[:, 2 * SQUARES :].reshape(len(out), 2, SQUARES, self.rank).unbind(1)
        return u, v

    def logits_of(
        self, last: torch.Tensor, owner: torch.Tensor, pairs: torch.Tensor
    ) -> torch.Tensor:
        """Logits of some pairs of squares: of a head ``pair`` much cheaper than all outputs.

        Parameters
        ----------
        last : float32 [B, H]
        owner : int64 [total]
            Which position of the batch a pair belongs to.
        pairs : int64 [total]
            64 * start + square, as the player to move sees them.
        """
        if self.head == "pair":
            return PairLogits.of(last, self._of("output").T, self._of("output_bias"), owner, pairs)
        out = self.outputs(last)
        start, square = pairs >> 6, pairs & 63
        found = out[owner, start] + out[owner, SQUARES + square]
        if self.rank:
            u, v = self._factors(out)
            found = found + (u[owner, start] * v[owner, square]).sum(1)
        return found

    def is_finite(self) -> bool:
        """Whether all weights are numbers."""
        return all(bool(weights.isfinite().all()) for weights in self.parameters())

    @torch.no_grad()
    def policy(self, loss: str, provenance: Mapping[str, Any]) -> Policy:
        """The same as a policy file has it, a copy.

        Raises
        ------
        UserError
            When training has made weights that are no numbers.
        """
        tables = {"w0" if self.depth else "output", *([] if self.depth else ["value_weights"])}

        def array(name: str) -> np.ndarray:
            found = self._rows(name) if name in tables else self._of(name)
            return np.array(found.numpy(), np.float32, order="C")

        if not self.is_finite():
            raise UserError("the net's weights became no numbers; lower --learning-rate")
        return Policy(
            self.feature_set.name,
            weights=[array(f"w{i}") for i in range(self.depth)],
            biases=[array(f"b{i}") for i in range(self.depth)],
            output=array("output"),
            output_bias=array("output_bias"),
            head=self.head,
            activation=self.activation,
            loss=loss,
            rank=self.rank,
            value_weights=array("value_weights")[:, 0].copy() if self.has_value else None,
            value_bias=array("value_bias") if self.has_value else None,
            provenance={**provenance, "inputs": self.inputs, "parameters": self.free},
            files=self.feature_set.contents,
            blocks=fingerprint.of_blocks(self.feature_set),
        )


class Seen:
    """What a net makes of a batch, each part when it is asked for."""

    def __init__(self, network: Network, active: torch.Tensor, n: torch.Tensor) -> None:
        self._network, self._given = network, (active, n)

    @cached_property
    def _last(self) -> torch.Tensor:
        return self._network.hidden(*self._given)

    @cached_property
    def outputs(self) -> torch.Tensor:
        """All of them, [B, O]."""
        network = self._network
        return network.outputs(self._last) if network.depth else network.linear(*self._given)

    @cached_property
    def values(self) -> torch.Tensor:
        """Of a net with a value head, [B]."""
        network = self._network
        return network.value(self._last) if network.depth else network.linear_value(*self._given)

    def legal(self, pairs: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
        """Logits of legal pairs, [B, L], minus infinity behind the last one.

        Parameters
        ----------
        pairs, counts : int64 [B, L], [B]
            See ``labels.legal_pairs``.
        """
        there = torch.arange(pairs.shape[1]) < counts[:, None]
        if not self._network.depth:
            logits = self._network.pair_logits(self.outputs).gather(1, pairs)
            return logits.masked_fill(~there, -torch.inf)
        owner = torch.repeat_interleave(torch.arange(len(counts)), counts)
        flat = self._network.logits_of(self._last, owner, pairs[there])
        return flat.new_full(pairs.shape, -torch.inf).masked_scatter(there, flat)


def _levels() -> tuple[torch.Tensor, torch.Tensor]:
    """Level and square of each feature of ALL, which counts by file, rank, role and colour."""
    rows = torch.arange(SQUARES * PIECES)
    levels = (rows % PIECES + 1).float() / PIECES  # an empty square has the level 0
    return levels, rows // PIECES % 8 * 8 + rows // (8 * PIECES)


def seen_by_the_mover(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """What `Network.hidden` takes of a batch."""
    rows, n = batch.rows[0], batch.n[0]
    active = rows[np.arange(rows.shape[1]) < n[:, None]]
    return torch.from_numpy(active.astype(np.int64)), torch.from_numpy(n)
