"""Settings of the stage train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import setting

WITHOUT_L2 = {
    "l3": (0,),
    "activation": ("clipped", "squared"),
    "buckets": (1,),
    "pairwise": (False,),
    "psqt": (False,),
    "fake_quantize_epochs": (0,),
}
"""What nets without a second layer can have."""


@dataclass(frozen=True)
class Training:
    """The network, its loss and its optimizer; the same for every feature set."""

    l1: int = setting(256, "Neurons of an accumulator, one for each perspective.", ge=1, le=16384)
    l2: int = setting(
        32,
        "Neurons of the second layer; 0: there is none, accumulators are weighed by themselves.",
        ge=0,
        le=16384,
    )
    l3: int = setting(0, "Neurons of a further hidden layer; 0: there is none.", ge=0, le=16384)
    activation: Literal["clipped", "squared", "dual"] = setting(
        "clipped",
        "Of hidden layers: clipped ReLU, or its square, or both side by side behind the first.",
    )
    buckets: int = setting(
        1,
        "Layer stacks after the first layer, chosen by the number of pieces on the board.",
        ge=1,
        le=32,
    )
    pairwise: bool = setting(
        False,
        "The second layer gets products of neurons i and i + l1 / 2 in place of their activations.",
    )
    psqt: bool = setting(
        False, "Each feature has a value of its own, which is added behind the last layer."
    )
    factorize: Literal["none", "kings", "all"] = setting(
        "kings",
        "Features that share weights in training: none; those of king buckets; all that differ in "
        "one concept, or in one factor, alone.",
    )
    # With this rate, this decay and small batches, a few hundred thousand positions gave the lowest
    # validation loss. The study's, for billions: 16384, 5e-4 and 0.99.
    epochs: int = setting(6, "Passes over the training data.", ge=1)
    fake_quantize_epochs: int = setting(
        0, "The last ones, with the rounding of the integer net.", ge=0
    )
    games_share: float = setting(1.0, "Share of the games to train on.", gt=0, le=1)
    epoch_share: float = setting(
        1.0, "Share of the positions that an epoch has, drawn anew for each.", gt=0, le=1
    )
    epoch_positions: int = setting(
        0,
        "Positions of an epoch, which begins where the one before it ends; 0: one pass over all.",
        ge=0,
    )
    min_ply: int = setting(
        0, "Learn from positions with so many half-moves before, at least.", ge=0
    )
    min_pieces: int = setting(2, "Learn from positions with so many pieces, at least.", ge=2, le=32)
    max_pieces: int = setting(32, "Learn from positions with so many pieces, at most.", ge=2, le=32)
    skip_check: bool = setting(False, "Leave out positions in check.")
    skip_captures: bool = setting(
        False, "Leave out positions whose move played is a capture or a promotion."
    )
    max_disagreement: float = setting(
        1.0,
        "For scores: leave out positions whose result is further than this from the expected "
        "score; 1: none.",
        gt=0,
        le=1,
    )
    batch_size: int = setting(1024, "Positions per step.", ge=1)
    optimizer: Literal["adam", "rowwise-adam"] = setting(
        "adam", "Adam; or a variant for tables of tens of thousands of rows."
    )
    learning_rate: float = setting(2e-3, "Of Adam, the peak rate.", gt=0)
    schedule: Literal["step", "cosine", "one-cycle"] = setting(
        "step",
        "Of the rate: a factor per epoch; half a cosine to 0; up and down.",
    )
    lr_decay: float = setting(
        0.5, "For step: factor of the learning rate from one epoch to the next.", gt=0, le=1
    )
    warmup: int = setting(0, "First steps, over which the rate rises.", ge=0)
    weight_decay: float = setting(
        0.0, "Of AdamW: a step takes this times the rate from each weight, as a share.", ge=0
    )
    average: float = setting(
        0.0,
        "The net has the mean weights of about this share of the run, its last; 0: the last ones.",
        ge=0,
        le=1,
    )
    clip_norm: float = setting(0.0, "Clip gradients to this norm; 0: never.", ge=0)
    patience: int = setting(
        0,
        "Stop after this many epochs without a lower validation loss, keep the best net; 0: never.",
        ge=0,
    )
    method: Literal["scores", "pqr", "triplet"] = setting(
        "scores",
        "Learn scores, or the difference of the move played (P to Q) from another one (P to R).",
    )
    exponent: float = setting(
        2.6,
        "For scores: the loss is mean |sigmoid(out / output_scale) - target|^exponent.",
        ge=1,
    )
    output_scale: float = setting(
        361.0, "Centipawns of the net that mean an expected score of 73 %.", ge=1
    )
    target_scale: float = setting(
        410.0, "For scores: centipawns of the labels that mean an expected score of 73 %.", ge=1
    )
    score_share: float = setting(
        1.0, "For scores: 1 learns the scores, 0 the results of the games.", ge=0, le=1
    )
    score_share_end: float | None = setting(
        None, "Of the last epoch, to which score_share moves evenly; null: it stays.", ge=0, le=1
    )
    kappa: float = setting(1.0, "For pqr: weight of f(P) = -f(Q).", ge=0)
    margin: float = setting(
        0.1, "For triplet: by how much Q is nearer to P than R, in values of -1..1.", ge=0
    )
    moves_quantile: float = setting(
        0.0,
        "For pqr and triplet: leave out positions with fewer legal moves than this quantile, for "
        "their colour and move number.",
        ge=0,
        le=1,
    )
    device: Literal["auto", "cpu", "cuda"] = setting(
        "cpu",
        "Where a net is trained; auto: on a GPU if available. Reproducible only on the CPU.",
    )

    def __post_init__(self) -> None:
        if self.pairwise and self.l1 % 2:
            raise ValueError(f"pairwise needs an even number of neurons: l1 is {self.l1}")
        wrong = [name for name, known in WITHOUT_L2.items() if getattr(self, name) not in known]
        if wrong and not self.l2:
            needed = (
                f"{name}: {' or '.join(map(str, WITHOUT_L2[name])).lower()}" for name in wrong
            )
            raise ValueError(f"without a second layer (l2: 0) a net needs {', '.join(needed)}")
        if self.min_pieces > self.max_pieces:
            raise ValueError(
                f"min_pieces {self.min_pieces} is larger than max_pieces {self.max_pieces}"
            )
        if self.epoch_positions and self.epoch_share < 1:
            raise ValueError(
                "epoch_positions and epoch_share both say how long an epoch is: set one of them"
            )
        if 0 < self.epoch_positions < self.batch_size:
            raise ValueError(
                f"an epoch of {self.epoch_positions} positions (epoch_positions) is less than one "
                f"batch of {self.batch_size}"
            )
        if self.max_disagreement < 1 and self.method != "scores":
            raise ValueError("max_disagreement compares results with scores: method must be scores")
        if self.patience and self.fake_quantize_epochs:
            raise ValueError(
                "patience might end a run before its fake_quantize_epochs: set one of them to 0"
            )
