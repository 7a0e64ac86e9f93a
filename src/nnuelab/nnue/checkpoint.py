"""Checkpoints of nets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from nnuelab.learning.checkpoint import RunState
from nnuelab.nnue.network import Network
from nnuelab.settings.train import Training


@dataclass(kw_only=True)
class Checkpoint(RunState):
    """The state of a run that trains a net.

    Attributes
    ----------
    activations : float32 [2M]
        Mean outputs of the first layer over training positions: quantization needs them to centre
        the error that rounding the second layer's weights makes.
    shifts : dict
        Those of the integer net whose rounding the net was trained with; empty: none.
    """

    FORMAT: ClassVar[int] = 5

    activations: torch.Tensor
    shifts: dict[str, int] = field(default_factory=dict)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """N, M and O."""
        n, m = self.model["w1"].shape
        return n, m, self.model["b2"].shape[0] // self.buckets

    @property
    def buckets(self) -> int:
        """Layer stacks after the first layer."""
        return self.model["b3"].shape[0]

    def network(self) -> Network:
        """The float net; one with fake quantization rounds here, too."""
        factorize = (
            self.settings.get("factorize", Training.factorize) if "shared" in self.model else "none"
        )
        network = Network(
            *self.sizes,
            torch.Generator(),
            numbers=self.features.shared_rows(factorize),
            l3=self.model["bh"].shape[0] // self.buckets if "bh" in self.model else 0,
            activation=self.settings.get("activation", "clipped"),
            buckets=self.buckets,
        )
        network.load_state_dict(self.model)
        network.shifts = self.shifts
        return network
