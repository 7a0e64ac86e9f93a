"""An average of a net's weights over its training, which depends less on where training ends."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Generic, TypeVar

import torch
from torch import nn

EVERY = 16  # steps between two weights that are averaged at most: neighbours hardly differ, ...
FINEST = 100  # ... but a short run takes in so many at least

Model = TypeVar("Model", bound=nn.Module)


class Average(Generic[Model]):
    """Mean of the weights after each step, those of step t weighted by t^(2 / share - 2).

    Their mean age is that of the last ``share`` of all steps so far; 1 is the plain mean of all.
    The length of the run needn't be known. (Polynomial-decay averaging, Shamir and Zhang 2013;
    "power function EMA", Karras et al. 2024.)

    Parameters
    ----------
    model : Module
        With its first weights.
    share : float
        Above 0, at most 1.

    Attributes
    ----------
    model : Module
        Another one, with the averaged weights.
    steps, taken : int
        Steps so far, and the last one whose weights are in the average.
    """

    def __init__(self, model: Model, share: float) -> None:
        self.model = deepcopy(model).requires_grad_(False)
        self.steps = self.taken = 0
        self._power = 2 / share - 1

    @torch.no_grad()
    def step(self, model: Model) -> None:
        """Is told after each step of the optimizer."""
        self.steps += 1
        if self.steps - self.taken < min(EVERY, 1 + self.steps // FINEST):
            return
        new = 1 - (self.taken / self.steps) ** self._power
        for mean, weights in zip(self.model.parameters(), model.parameters(), strict=True):
            mean.lerp_(weights, new)
        self.taken = self.steps

    def state_dict(self) -> dict[str, int]:
        """All that the next step depends on, but for the models."""
        return {"steps": self.steps, "taken": self.taken}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on from there."""
        self.steps, self.taken = state["steps"], state["taken"]
