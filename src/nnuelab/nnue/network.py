"""The float network in torch: N -> M x2 -> O -> 1, with a sparse first layer."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from nnuelab.nnue.first_layer import Batch, FirstLayers, Threads, sums

CENTIPAWNS = 600.0  # what 1.0 of the last layer stands for
L2_BOUND = 127 / 64  # |weight| of the second layer that int8 holds at the study's scale of 64


def merged(own: torch.Tensor, shared: torch.Tensor, virtual: torch.Tensor) -> torch.Tensor:
    """Rows [N, M] of features that have their own and a part in the shared ones (-1 for none)."""
    padded = torch.cat([shared, torch.zeros_like(shared[:1])])  # the last row is that of -1
    return own + padded[virtual]


class Network(nn.Module):
    """A net that values a position in centipawns for the side to move.

    The accumulators of the two perspectives share ``w1`` and ``b1``; they are clipped to [0, 1] and
    concatenated, side to move first. The second layer is clipped likewise.

    Parameters
    ----------
    n_features, l1, l2 : int
        N, M and O.
    generator : torch.Generator
        Where the initial weights come from: they depend on its seed alone.
    active : float
        Features that are typically active; sets the scale of the first weights.
    virtual : int64[N], optional
        Number of the weights that a feature shares with others, -1 for none: FeatureSet.virtual.
        What a feature adds to an accumulator is the sum of its own row and the shared one.
    """

    def __init__(
        self,
        n_features: int,
        l1: int,
        l2: int,
        generator: torch.Generator,
        active: float = 32,
        virtual: np.ndarray | None = None,
    ) -> None:
        super().__init__()
        self._virtual = None if virtual is None else torch.from_numpy(virtual)
        if virtual is not None:
            self.shared = nn.Parameter(torch.zeros(int(virtual.max()) + 1, l1))

        def uniform(bound: float, *shape: int) -> nn.Parameter:
            return nn.Parameter((torch.rand(*shape, generator=generator) * 2 - 1) * bound)

        # A dense layer is drawn from +-1/sqrt(inputs). Of a sparse one only active inputs count,
        # and a quarter of that without biases learns better: a loss of .0019 instead of .0020.
        self.w1 = uniform(active**-0.5 / 4, n_features, l1)
        self.b1 = nn.Parameter(torch.zeros(l1))
        self.w2 = uniform((2 * l1) ** -0.5, l2, 2 * l1)
        self.b2 = uniform((2 * l1) ** -0.5, l2)
        self.w3 = uniform(l2**-0.5, l2)
        self.b3 = uniform(l2**-0.5, 1)

    @property
    def sizes(self) -> tuple[int, int, int]:
        """N, M and O."""
        return self.w1.shape[0], self.w1.shape[1], self.b2.shape[0]

    def forward(self, batch: Batch, threads: Threads) -> torch.Tensor:
        """Centipawns for the side to move, float32[B]."""
        return self.valued(batch, FirstLayers(*self.sizes, threads))

    def valued(self, batch: Batch, layers: FirstLayers) -> torch.Tensor:
        """The same by kernels that hold their memory; see ``first_layer.sums`` for gradients."""
        return self.rest(sums(self.rows().detach(), self.b1, self.w2, self.b2, batch, layers))

    def accumulators(self, active: torch.Tensor) -> torch.Tensor:
        """Clipped accumulators [B, 2M] by torch's own operators, on any device; differentiable.

        Parameters
        ----------
        active : int [2, B, K]
            Features seen by the side to move and by the other; N stands for none.
        """
        rows = self.rows()
        padded = torch.cat([rows, torch.zeros_like(rows[:1])])
        sides = [
            nn.functional.embedding_bag(side, padded, mode="sum", padding_idx=len(rows)) + self.b1
            for side in active
        ]
        return torch.cat(sides, 1).clamp(0, 1)

    def rows(self) -> torch.Tensor:
        """What each feature adds to an accumulator, float32[N, M]."""
        if self._virtual is None:
            return self.w1
        return merged(self.w1, self.shared, self._virtual)

    @torch.no_grad()
    def share_gradient(self, layers: FirstLayers) -> None:
        """Takes the gradient of :meth:`rows` in ``layers`` for that of what rows share."""
        if self._virtual is None:
            return
        virtual = self._virtual[torch.from_numpy(layers.present).long()]
        shares = virtual >= 0
        rows = torch.from_numpy(layers.gradient).permute(1, 0, 2).flatten(1)[:, : self.sizes[1]]
        self.shared.grad = torch.zeros_like(self.shared).index_add_(
            0, virtual[shares], rows[shares]
        )

    def head(self, accumulators: torch.Tensor) -> torch.Tensor:
        """From clipped accumulators [B, 2M] to centipawns [B]."""
        return self.rest(torch.addmm(self.b2, accumulators, self.w2.T))

    def rest(self, sums: torch.Tensor) -> torch.Tensor:
        """From the sums of the second layer [B, O] to centipawns [B]."""
        return CENTIPAWNS * (sums.clamp(0, 1) @ self.w3 + self.b3)

    def dense_parameters(self) -> list[nn.Parameter]:
        """All parameters but the rows of the first layer."""
        return [parameter for name, parameter in self.named_parameters() if name != "w1"]

    @torch.no_grad()
    def clip_weights(self) -> None:
        """Keeps the second layer's weights within what int8 holds; after each optimizer step."""
        self.w2.clamp_(-L2_BOUND, L2_BOUND)
