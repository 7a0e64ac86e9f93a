"""Settings of the stage policy train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import setting

MOST_LAYERS, WIDEST = 4, 1 << 14


@dataclass(frozen=True)
class PolicyTraining:
    """A policy: its input, layers and head, its loss and its optimizer."""

    inputs: Literal["features", "levels13"] = setting(
        "features",
        "A row of weights for each feature; or, with ALL, one for each square, times a level in "
        "0..1 that says which of twelve pieces stands there.",
    )
    layers: list[int] = setting(
        [], "Neurons of each hidden layer; none: outputs are linear in the features."
    )
    activation: Literal["relu", "sigmoid"] = setting("relu", "Of hidden layers.")
    head: Literal["fromto", "product", "pair"] = setting(
        "pair",
        "Outputs: 64 squares to go from and 64 to go to; the same with products of low rank; "
        "64 x 64 pairs.",
    )
    rank: int = setting(16, "Of a head product.", ge=1, le=64)
    loss: Literal["mse", "softmax", "masked"] = setting(
        "softmax",
        "Squared error of sigmoid outputs; cross-entropy of the move played among all pairs; "
        "cross-entropy among legal pairs.",
    )
    legal_weight: float = setting(
        0.0,
        "For masked: adds this times minus the log of the probability on legal pairs; 1 gives the "
        "loss softmax.",
        ge=0,
    )
    value_weight: float = setting(
        0.0,
        "Of the squared error of a value head, which learns results of games; 0: it has none.",
        ge=0,
    )
    epochs: int = setting(1, "Passes over the training data; 0: untrained.", ge=0)
    mirror: bool = setting(
        True, "Every second epoch sees boards mirrored, where nobody may castle any more."
    )
    games_share: float = setting(1.0, "Share of the games to train on.", gt=0, le=1)
    batch_size: int = setting(1024, "Positions per step.", ge=1)
    learning_rate: float = setting(2e-3, "Of AdamW, the peak rate.", gt=0)
    weight_decay: float = setting(
        0.2, "Of AdamW: a step takes this times the rate from each weight, as a share.", ge=0
    )
    schedule: Literal["step", "cosine", "one-cycle"] = setting(
        "cosine", "Of the rate: a factor per epoch; half a cosine to 0; up and down."
    )
    lr_decay: float = setting(
        0.5, "For step: factor of the learning rate from one epoch to the next.", gt=0, le=1
    )
    warmup: int = setting(0, "First steps, over which the rate rises.", ge=0)
    patience: int = setting(
        0,
        "Stop after this many epochs without a lower validation loss, keep the best; 0: never.",
        ge=0,
    )

    def __post_init__(self) -> None:
        if len(self.layers) > MOST_LAYERS:
            raise ValueError(f"{len(self.layers)} layers are more than {MOST_LAYERS}")
        for width in self.layers:
            if not 1 <= width <= WIDEST:
                raise ValueError(f"a layer of {width} neurons: give 1 to {WIDEST:,}")
        if self.loss == "mse" and self.head == "product":
            raise ValueError("loss mse is for outputs of their own, not for a head product")
        if self.legal_weight and self.loss != "masked":
            raise ValueError(f"legal_weight is for the loss masked, not for {self.loss}")
