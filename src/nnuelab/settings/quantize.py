"""Settings of the stages quantize and verify."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nnuelab.settings import setting


@dataclass(frozen=True)
class Quantization:
    """How float nets become integers."""

    scheme: Literal["fine", "int8", "study"] | None = setting(
        "fine",
        "fine: as much resolution as the integers hold, centred; int8: the same with first-layer "
        "weights of one byte; study: that of .nn files.",
        implied="study with --format nn",
    )
    count: int = setting(
        50_000,
        "fine, int8: training positions whose mean error is subtracted; 0: none.",
        ge=0,
    )


@dataclass(frozen=True)
class Verification:
    """The bounds on the difference of integer and float net; a net beyond them isn't played."""

    count: int = setting(
        50_000, "Positions of the validation set to compare on, evenly spaced.", ge=1
    )
    max_abs_mean: float = setting(10.0, "Largest |mean| of the difference, centipawns.", gt=0)
    min_share_within_50: float = setting(
        0.97,
        "Smallest share of positions that differ by at most 50 centipawns.",
        ge=0,
        le=1,
    )
