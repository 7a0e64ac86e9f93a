"""Settings of the sequential test between two feature sets."""

from __future__ import annotations

from dataclasses import dataclass

from nnuelab.settings import setting


@dataclass(frozen=True)
class Stopping:
    """When rounds of one net of each set may end."""

    rounds: int = setting(10, "At most.", ge=3)
    alpha: float = setting(
        0.05, "Chance that any interval misses the true difference.", gt=0, lt=0.5
    )
    equivalence: float = setting(
        0.0, "Also end where the difference is surely smaller, Elo; 0: never.", ge=0
    )
