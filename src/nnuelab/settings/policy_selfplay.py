"""Settings of policies that learn from their own games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import setting

Head = Literal["fromto", "product", "pair"]
Activation = Literal["relu", "sigmoid"]


@dataclass(frozen=True)
class Expert:
    """Expert iteration: a search that the policy guides teaches it, and results its value."""

    features: str = setting("ALL", "The feature set.")
    layers: list[int] = setting([256, 64], "Widths of the hidden layers; may be repeated.")
    head: Head = setting("pair", "The numbers that moves are chosen by.")
    rank: int = setting(0, "Of the head product.", ge=0)
    activation: Activation = setting("relu", "Of hidden layers.")
    iterations: int = setting(60, "Games, then training on those of the last ones.", ge=1)
    games: int = setting(640, "Of an iteration.", ge=1)
    window: int = setting(8, "Iterations whose games are trained on.", ge=1)
    reuse: float = setting(4.0, "How often a position is trained on, on average.", gt=0)
    simulations: int = setting(48, "Of the search, for each move.", ge=2, le=10_000)
    exploration: float = setting(1.5, "Of the search: how much prior probabilities count.", ge=0)
    unvisited: float = setting(
        0.1, "How much worse than its position an unvisited move is taken to be.", ge=0, le=2
    )
    concentration: float = setting(0.3, "Of Dirichlet's noise at the root.", gt=0)
    noise: float = setting(0.25, "Its share there; 0: none.", ge=0, le=1)
    discount: float = setting(0.99, "Of the value, for each half-move until the end.", gt=0, le=1)
    drawn_plies: int = setting(
        40, "First half-moves of a game, whose moves are drawn by their visits.", ge=0
    )
    random_plies: int = setting(20, "At most so many random half-moves come before.", ge=0)
    max_plies: int = setting(200, "A game ends after this many half-moves.", ge=1, le=10_000)
    material_share: float = setting(
        0.5, "What material can be worth at that end, of a win; 0: a draw is a draw.", ge=0, le=1
    )
    material_scale: float = setting(6.0, "Points ahead that are worth 76 % of it.", gt=0)
    search_share: float = setting(
        0.5, "Of the value to learn: what the search found, the rest is the result.", ge=0, le=1
    )
    value_weight: float = setting(1.0, "Of the value in the loss.", ge=0)
    learning_rate: float = setting(1e-3, "Of Adam.", gt=0)
    batch_size: int = setting(1024, "Positions per step.", ge=1)
    seed: int = setting(1, "Of weights, games and draws.", ge=0)
