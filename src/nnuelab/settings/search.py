"""Settings of the search for feature sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import seed_setting, setting


@dataclass(frozen=True)
class Searching:
    """What sets are made of, how they are screened, and when the search ends."""

    terms: list[str] = setting(
        ["ALL", "H", "V", "D1", "D2", "PH", "PV", "MB", "MC", "AB", "AC", "PP"],
        "Blocks, or products of them, that sums are made of; repeatable.",
    )
    factors: list[str] = setting([], "What terms may be multiplied by, such as KING; repeatable.")
    anchor: str = setting("ALL", "The set whose node costs 1; it is screened, too.")
    hours: float = setting(1.0, "Ends with the generation in which they are over.", gt=0)
    generations: int = setting(0, "At most; 0: without another limit.", ge=0)
    population: int = setting(12, "Sets of a generation.", ge=2)
    max_terms: int = setting(5, "Of a sum.", ge=1)
    max_features: int = setting(20_000, "Of a set.", ge=1)
    max_cost: float = setting(1.8, "Of a node, as its terms' prices foretell it.", ge=1)
    positions: int = setting(600_000, "Of the first screen.", ge=1)
    epochs: int = setting(2, "Of each training.", ge=1)
    learning_rate: float = setting(2e-3, "Of each training, the peak rate.", gt=0)
    schedule: Literal["step", "cosine", "one-cycle"] = setting(
        "one-cycle", "Of the learning rate, as in train."
    )
    l1: int = setting(256, "Neurons of the first layer.", ge=32, multiple_of=32)
    rungs: int = setting(1, "Screens; each is for the best sets of the one before.", ge=1)
    eta: int = setting(3, "A share 1/eta of the sets goes on, with eta times the positions.", ge=2)
    seeds: int = setting(2, "Trainings of a set in each screen.", ge=1, le=100)
    play: int = setting(5, "Sets of the front that play, beside the anchor.", ge=1)
    play_seeds: int = setting(
        2, "Nets of each of these, of seeds that no screen has.", ge=1, le=100
    )
    seed: int = seed_setting("Draws the sets.")
