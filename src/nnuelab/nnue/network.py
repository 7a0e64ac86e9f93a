"""The float network in torch: N -> M x2 -> O -> 1, with a sparse first layer."""

from __future__ import annotations

import torch
from torch import nn

from nnuelab.nnue.first_layer import Batch, Threads, first_layer

CENTIPAWNS = 600.0  # what 1.0 of the last layer stands for
L2_BOUND = 127 / 64  # |weight| of the second layer that int8 holds at the study's scale of 64


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
    """

    def __init__(
        self, n_features: int, l1: int, l2: int, generator: torch.Generator, active: float = 32
    ) -> None:
        super().__init__()

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
        return self.head(first_layer(self.w1, self.b1, batch, threads))

    def head(self, accumulators: torch.Tensor) -> torch.Tensor:
        """From clipped accumulators float32[B, 2M] to centipawns float32[B]."""
        hidden = torch.addmm(self.b2, accumulators, self.w2.T).clamp(0, 1)
        return CENTIPAWNS * (hidden @ self.w3 + self.b3)

    def head_parameters(self) -> list[nn.Parameter]:
        """The parameters of the layers behind the first."""
        return [self.w2, self.b2, self.w3, self.b3]

    @torch.no_grad()
    def clip_weights(self) -> None:
        """Keeps the second layer's weights within what int8 holds; after each optimizer step."""
        self.w2.clamp_(-L2_BOUND, L2_BOUND)
