"""Settings of the stage that tunes a hand-crafted evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import setting


@dataclass(frozen=True)
class Tuning:
    """The optimiser, what it may change, and what it pays for."""

    optimizer: Literal["pbil", "ga", "adam", "gauss-newton", "lbfgs", "local"] = setting(
        "pbil", "Bit strings without or with parents, gradients, curvature, or Texel's own search."
    )
    generations: int = setting(
        0, "At most so many; 0: as many as the optimizer usually needs.", ge=0
    )
    k: float = setting(
        0.0, "Of the sigmoid 1 / (1 + 10^(-k cp / 400)); 0: fitted to the start.", ge=0
    )
    refit_k: bool = setting(False, "Fits k again after each generation, to the best weights.")
    l2: float = setting(
        0.0, "Added to the error: this times the mean square of (weight - home) / 100.", ge=0
    )
    towards: Literal["start", "zero"] = setting("start", "Home of l2: the start weights, or 0.")
    tie: list[str] = setting(
        [], "Equal weights: mg=eg, or NAME for the phases of a term, or NAME=NAME for two terms."
    )
    freeze: list[str] = setting([], "Terms, or weights by their labels, that stay as they are.")
    # Bit strings. The post has 515 bits and passes its reference error before generation 100; with
    # these rates so do 58 and 150 weights that begin at chance (80 and 45 generations). Half the
    # learning rate takes twice as long and ends no lower.
    population: int = setting(64, "Strings per generation.", ge=2, le=4096)
    elite: int = setting(4, "For pbil: the best, which are learnt from; for ga: which stay.", ge=1)
    learning_rate: float = setting(
        0.2, "For pbil: share of the way to the mean of the elite.", gt=0, le=1
    )
    mutation: float = setting(
        0.02, "For pbil: share of the bits whose probability is shifted.", ge=0, le=1
    )
    mutation_shift: float = setting(0.05, "For pbil: share of the way to 0 or 1.", ge=0, le=1)
    tournament: int = setting(3, "For ga: strings that compete to be a parent.", ge=1)
    crossover: float = setting(0.9, "For ga: share of the children with two parents.", ge=0, le=1)
    flips: float = setting(1.0, "For ga: bits of a child that are flipped, on average.", ge=0)
    encoding: Literal["sign-magnitude", "magnitude", "offset"] = setting(
        "sign-magnitude", "Of a weight in bits; magnitude: each keeps the sign of its start."
    )
    bits: int = setting(0, "Width of the genome; 0: as the start weights need.", ge=0)
    width: dict[str, int] = setting({}, "Bits of each weight of a term, or of one weight.")
    certainty: float = setting(
        0.0, "How near the bits begin to those of the start weights; 0: at one half.", ge=0, lt=1
    )
    # Gradients.
    step_size: float = setting(4.0, "For adam: centipawns of a step, the highest rate.", gt=0)
    schedule: Literal["step", "cosine"] = setting(
        "cosine", "For adam, of the rate: a factor per generation, or to 0 by half a cosine."
    )
    lr_decay: float = setting(
        0.98, "For the schedule step: factor of the rate per generation.", gt=0, le=1
    )
    batch_size: int = setting(0, "For adam: positions per step; 0: all.", ge=0)
    damping: float = setting(1e-3, "For gauss-newton: of the first step.", gt=0)
    stride: int = setting(1, "For local: centipawns of the first steps.", ge=1)
    growing: bool = setting(False, "For local: a step that helps is twice as long the next time.")

    def __post_init__(self) -> None:
        if self.elite >= self.population:
            raise ValueError(
                f"elite is {self.elite} of a population of {self.population}: make it smaller"
            )
