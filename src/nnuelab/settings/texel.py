"""Settings of the stage texel positions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import seed_setting, setting


@dataclass(frozen=True)
class Positions:
    """Which positions an evaluation is tuned on, and which it is checked on."""

    sample: int = setting(8_000_000, "Positions drawn of all that pass; 0: all.", ge=0)
    # Opening theory says little about evaluation.
    min_ply: int = setting(16, "Half-moves played before, at least, where they are known.", ge=0)
    max_score: int = setting(
        600,
        "Leave out a larger |score|, centipawns: its own, or the static evaluation; 0: none.",
        ge=0,
    )
    # Without what hangs there are few positions in the middlegame where material isn't equal.
    quiet: Literal["skip", "replace", "keep"] = setting(
        "replace",
        "Positions whose static evaluation isn't the value of their quiescence search: leave them "
        "out, take the end of the quiescence line instead, or keep them.",
    )
    validation_share: float = setting(
        0.1, "Share of the games that are held out to check on.", gt=0, lt=1
    )
    max_unusable: int = setting(
        100, "Lines of a text file that may be left out because they can't be used.", ge=0
    )
    seed: int = seed_setting("Seed of the draw and of the split.")
