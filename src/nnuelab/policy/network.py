"""Policies in torch: the float net, as :class:`nnuelab.policy.policyfile.Policy` describes it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.nn.functional import embedding_bag

from nnuelab.errors import UserError
from nnuelab.features import FeatureSet, fingerprint
from nnuelab.learning.sparse import Batch
from nnuelab.policy.policyfile import SQUARES, Policy, outputs_of
from nnuelab.settings.policy import PolicyTraining

PIECES = 12
LEVELS = "levels13"


class Network(torch.nn.Module):
    """A policy whose weights are drawn as Glorot and Bengio (2010) do, from normals.

    Parameters
    ----------
    feature_set : FeatureSet
    shape : PolicyTraining
        Whose inputs, layers, activation, head, rank and value_weight count.
    generator : torch.Generator

    Raises
    ------
    UserError
        When the inputs are for other features.
    """

    def __init__(
        self, feature_set: FeatureSet, shape: PolicyTraining, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.feature_set, self.shape = feature_set, shape
        self.tied = shape.inputs == LEVELS
        if self.tied:
            if feature_set.name != "ALL":
                raise UserError(
                    f"inputs levels13 are made of the features ALL, not of {feature_set.name}; "
                    "give --features ALL, or other --inputs"
                )
            self.levels, self.squares = _levels()
        self.rank = shape.rank if shape.head == "product" else 0
        width = SQUARES if self.tied else feature_set.size
        for i, neurons in enumerate(shape.layers):
            self._draw(f"w{i}", width, neurons, generator)
            self._zeros(f"b{i}", neurons)
            width = neurons
        outputs = outputs_of(shape.head, self.rank)
        self._draw("output", width, outputs, generator)
        self._zeros("output_bias", outputs)
        if shape.value_weight:
            self._draw("value_weights", width, 1, generator)
            self._zeros("value_bias", 1)

    def _of(self, name: str) -> torch.Tensor:
        found = getattr(self, name)
        assert isinstance(found, torch.Tensor)
        return found

    def _draw(self, name: str, inputs: int, outputs: int, generator: torch.Generator) -> None:
        weights = torch.randn(inputs, outputs, generator=generator)
        scaled = weights * (2 / (inputs + outputs)) ** 0.5
        self.register_parameter(name, torch.nn.Parameter(scaled))

    def _zeros(self, name: str, size: int) -> None:
        self.register_parameter(name, torch.nn.Parameter(torch.zeros(size)))

    @property
    def free(self) -> int:
        """How many numbers are learnt; rows that are tied count once."""
        return sum(parameter.numel() for parameter in self.parameters())

    def _rows(self, name: str) -> torch.Tensor:
        """A table with a row for each feature, [N, M]."""
        weights = self._of(name)
        return self.levels[:, None] * weights[self.squares] if self.tied else weights

    def forward(self, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs [B, O] and, with a value head, values [B] before their tanh."""
        active, offsets = _seen_by_the_mover(batch)

        def first(name: str) -> torch.Tensor:
            found: torch.Tensor = embedding_bag(active, self._rows(name), offsets, mode="sum")
            return found

        if not self.shape.layers:
            value = first("value_weights") if self.shape.value_weight else None
            return first("output") + self._of("output_bias"), self._value(value)
        hidden = self._activated(first("w0") + self._of("b0"))
        for i in range(1, len(self.shape.layers)):
            sums = torch.addmm(self._of(f"b{i}"), hidden, self._of(f"w{i}"))
            hidden = self._activated(sums)
        value = hidden @ self._of("value_weights") if self.shape.value_weight else None
        return torch.addmm(self._of("output_bias"), hidden, self._of("output")), self._value(value)

    def _value(self, value: torch.Tensor | None) -> torch.Tensor | None:
        return None if value is None else value[:, 0] + self._of("value_bias")

    def _activated(self, sums: torch.Tensor) -> torch.Tensor:
        return torch.relu(sums) if self.shape.activation == "relu" else torch.sigmoid(sums)

    def pair_logits(self, out: torch.Tensor) -> torch.Tensor:
        """The logits of all pairs of squares, [B, 4096], from outputs [B, O]."""
        if self.shape.head == "pair":
            return out
        starts, squares = out[:, :SQUARES], out[:, SQUARES : 2 * SQUARES]
        logits = starts[:, :, None] + squares[:, None, :]
        if self.rank:
            u, v = out[:, 2 * SQUARES :].view(len(out), 2, SQUARES, self.rank).unbind(1)
            logits = torch.baddbmm(logits, u, v.transpose(1, 2))
        return logits.reshape(len(out), SQUARES * SQUARES)

    @torch.no_grad()
    def policy(self, provenance: Mapping[str, Any]) -> Policy:
        """The same as a policy file has it."""
        depth = len(self.shape.layers)
        tables = {"w0" if depth else "output", *([] if depth else ["value_weights"])}

        def array(name: str) -> np.ndarray:
            found = self._rows(name) if name in tables else self._of(name)
            return np.array(found.numpy(), np.float32, order="C")

        value = self.shape.value_weight > 0
        return Policy(
            self.feature_set.name,
            weights=[array(f"w{i}") for i in range(depth)],
            biases=[array(f"b{i}") for i in range(depth)],
            output=array("output"),
            output_bias=array("output_bias"),
            head=self.shape.head,
            activation=self.shape.activation,
            loss=self.shape.loss,
            rank=self.rank,
            value_weights=array("value_weights")[:, 0] if value else None,
            value_bias=array("value_bias") if value else None,
            provenance={**provenance, "inputs": self.shape.inputs, "parameters": self.free},
            files=self.feature_set.contents,
            blocks=fingerprint.of_blocks(self.feature_set),
        )


def _levels() -> tuple[torch.Tensor, torch.Tensor]:
    """Level and square of each feature of ALL, which counts by file, rank, role and colour."""
    rows = torch.arange(SQUARES * PIECES)
    levels = (rows % PIECES + 1).float() / PIECES  # an empty square has the level 0
    return levels, rows // PIECES % 8 * 8 + rows // (8 * PIECES)


def _seen_by_the_mover(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Active features behind one another, and where each position begins."""
    rows, n = batch.rows[0], batch.n[0]
    active = rows[np.arange(rows.shape[1]) < n[:, None]]
    return torch.from_numpy(active), torch.from_numpy((n.cumsum() - n).astype(np.int32))
