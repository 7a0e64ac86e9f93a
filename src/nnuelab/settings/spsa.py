"""Settings of tuning by game play."""

from __future__ import annotations

from dataclasses import dataclass

from nnuelab.settings import NO_LIMIT, seed_setting, setting


@dataclass(frozen=True)
class Spsa:
    """Gains as on fishtest, and the games of an iteration."""

    iterations: int = setting(
        5000, "Steps; each plays one opening twice, with colours swapped.", ge=1
    )
    rate: float = setting(
        0.01, "Learning rate at the end, r_end: the last a_k is r_end * c_end^2.", gt=0
    )
    alpha: float = setting(0.602, "Of a_k = a / (A + k)^alpha, the gain of a step.", ge=0, le=1)
    gamma: float = setting(0.101, "Of c_k = c / k^gamma, how far a step looks.", ge=0, le=1)
    stability: float = setting(0.1, "A, as a share of the iterations.", ge=0)
    ahead: int = setting(
        64, "Iterations that are played before the result of one counts; bounds the workers.", ge=1
    )
    nodes: int | None = setting(400, "Nodes per move.", ge=1, implied=NO_LIMIT)
    hash: int = setting(4, "Hash table of each player, MB.", ge=1, le=65536)
    seed: int = seed_setting("Of everything random.")
