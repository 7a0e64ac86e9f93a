"""How far equal trainings scatter: what nets that differ by their seed say of the same positions.

It needs no games, so one training more or less shows what a setting does to the spread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnuelab.data import validation
from nnuelab.errors import UserError
from nnuelab.nnue import netfile
from nnuelab.nnue.inference import integer_outputs
from nnuelab.settings.train import Training


@dataclass(frozen=True)
class Spread:
    """What several nets say of the same positions.

    Attributes
    ----------
    nets, positions : int
    sd_cp : float
        Of the evaluations of one net, centipawns, the mean of all: the scale of what follows.
    rms_cp : float
        Of the difference of two nets, root of the mean square over all pairs and positions. A net's
        own part is this divided by the root of 2.
    rms_score : float
        The same of expected scores, S(cp / 361), where positions that are won anyway hardly count.
    """

    nets: int
    positions: int
    sd_cp: float
    rms_cp: float
    rms_score: float


def measure(nets: Sequence[Path], positions: Path, count: int) -> Spread:
    """The spread of integer nets over ``count`` positions of a dataset, evenly spaced.

    Raises
    ------
    UserError
        When there are less than two nets or positions, or a file is missing or damaged.
    """
    if len(nets) < 2:
        raise UserError("one net has no spread; give two or more that differ by their seed")
    chosen = validation.spaced(positions, count)
    if len(chosen) < 2:
        raise UserError(f"{positions} has one position; give a dataset with more")
    return of_values(np.array([integer_outputs(netfile.read_net(net), chosen) for net in nets]))


def of_values(values: np.ndarray) -> Spread:
    """The spread of evaluations in centipawns, [nets, positions]."""
    return Spread(
        nets=values.shape[0],
        positions=values.shape[1],
        sd_cp=float(values.std(axis=1).mean()),
        rms_cp=_rms(values),
        rms_score=_rms(1 / (1 + np.exp(-values / Training.output_scale))),
    )


def _rms(values: np.ndarray) -> float:
    """Over all pairs of rows: the mean square of differences is twice the unbiased variance."""
    return float(np.sqrt(2 * values.var(axis=0, ddof=1).mean()))
