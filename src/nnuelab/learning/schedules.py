"""Learning rates over a run, as factors of the peak rate."""

from __future__ import annotations

import math

_RISE = 0.3  # share of a one-cycle run in which the rate rises, ...
_FIRST, _LAST = 1 / 25, 1 / 25e4  # ... from and to these factors: the defaults of torch


def factor(
    schedule: str, done: int, per_epoch: int, epochs: int, decay: float, warmup: int = 0
) -> float:
    """The learning rate of a step.

    Parameters
    ----------
    schedule : str
        step: ``decay**epoch``, as in the study. cosine: from 1 to 0 over the run (Loshchilov and
        Hutter, 2017). one-cycle: up and down again by cosines (Smith and Topin, 2018).
    done : int
        Steps before this one.
    per_epoch, epochs : int
        Steps of an epoch, and epochs of the run.
    decay : float
        Of step.
    warmup : int
        So many steps at the beginning are smaller: the first ``1 / warmup`` of what it would be.

    Returns
    -------
    float
        Above 0, at most 1.
    """
    warm = min(1.0, (done + 1) / warmup) if warmup else 1.0
    if schedule == "step":
        return float(warm * decay ** (done // per_epoch))
    total = per_epoch * epochs
    if schedule == "cosine":
        return warm * _between(1.0, 0.0, done / total)
    peak = _RISE * total - 1
    if done <= peak:
        return warm * _between(_FIRST, 1.0, done / peak)
    return warm * _between(1.0, _LAST, (done - peak) / (total - 1 - peak))


def _between(start: float, end: float, share: float) -> float:
    """Half a cosine wave from ``start`` to ``end``."""
    return end + (start - end) * (1 + math.cos(math.pi * share)) / 2
