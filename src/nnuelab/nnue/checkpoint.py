"""Checkpoints of nets."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import torch

from nnuelab.learning.checkpoint import RunState, consistent
from nnuelab.nnue.layers import USUAL, Layers
from nnuelab.nnue.network import Network
from nnuelab.settings.train import Training


@dataclass(kw_only=True)
class Checkpoint(RunState):
    """The state of a run that trains a net.

    Attributes
    ----------
    activations : float32 [inputs of the layer behind the accumulators]
        Their means over training positions: quantization needs them to centre
        the error that rounding the second layer's weights makes.
    shifts : dict
        Those of the integer net whose rounding the net was trained with; empty: none.
    """

    FORMAT: ClassVar[int] = 5

    activations: torch.Tensor
    shifts: dict[str, int] = field(default_factory=dict)

    @property
    def layers(self) -> Layers:
        """Those of its net."""
        (n, m), buckets = self.model["w1"].shape, len(self.model["b3"])
        l3 = len(self.model["bh"]) // buckets if "bh" in self.model else 0
        others = {name: self.settings.get(name, USUAL[name]) for name in ("activation", "pairwise")}
        others |= {"buckets": buckets, "psqt": "psqt" in self.model}
        return Layers(n, m, len(self.model["b2"]) // buckets, l3, **others)

    def network(self) -> Network:
        """The float net; one with fake quantization rounds here, too.

        Raises
        ------
        UserError
            When tensors don't fit each other or the feature set, or activations aren't finite.
        """
        factorize = (
            self.settings.get("factorize", Training.factorize) if "shared" in self.model else "none"
        )
        with consistent():
            numbers = self.features.shared_rows(factorize)
            network = Network(self.layers, torch.Generator(), numbers=numbers)
            network.load_state_dict(self.model)
            if self.layers.n_features != self.features.size:
                raise ValueError(f"{self.layers.n_features} features, not {self.features.size}")
            if self.activations.shape != self.model["w2"].shape[1:]:
                raise ValueError(f"activations of shape {list(self.activations.shape)}")
            if not self.activations.isfinite().all():
                raise ValueError("activations that aren't finite")
            network.shifts = {name: int(shift) for name, shift in self.shifts.items()}
        return network
