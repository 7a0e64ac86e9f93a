"""A subject of `spsa` whose optimum is known; in a module that its workers load quickly."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.tournament.spsa import Parameter, Trial

BEST = np.array([40, -30, 700])
SCALE = np.array([20, 20, 100])  # so far off costs as much in each
START = (
    Parameter("small", 0, -100, 100, 10.0),
    Parameter("negative", 30, -100, 100, 10.0),
    Parameter("large", 300, 0, 2000, 60.0),
)


@dataclass(frozen=True)
class Bowl:
    """A subject whose games are drawn: the nearer to `BEST`, the more likely they are won.

    ``killed_at`` stands for a kill in that trial.
    """

    killed_at: int = 0
    parameters: tuple[Parameter, ...] = START

    def start(self) -> Callable[[Trial], int]:
        def elo(numbers: tuple[int, ...]) -> float:
            return -30 * float((((np.array(numbers) - BEST) / SCALE) ** 2).sum())

        def play(trial: Trial) -> int:
            if trial.number == self.killed_at:
                raise UserError("killed")
            won = 1 / (1 + 10 ** ((elo(trial.minus) - elo(trial.plus)) / 400))
            random = np.random.default_rng([99, trial.number])
            return int(random.binomial(4, won))

        return play

    def inputs(self) -> Mapping[str, Path]:
        return {}

    def code(self) -> str:
        return "bowl"

    def write(self, path: Path, numbers: np.ndarray, provenance: Mapping[str, Any]) -> None:
        path.write_text(json.dumps([numbers.tolist(), provenance]))
