"""Blocks that have the features of a set once for each phase of the game."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.features.algebra import FeatureSet
from nnuelab.features.block import MOST_PIECES, Block, Classes, Kernels, Seen

FEWEST_PIECES = 2  # the kings


@dataclass(frozen=True, eq=False, kw_only=True)
class Phase(Block):
    """The features of a set, by the number of pieces on the board.

    Attributes
    ----------
    inner : FeatureSet
    n : int
        Phases: the numbers from 2 to 32 in n ranges as equal as possible, fewest pieces first.
    """

    inner: FeatureSet
    n: int

    @property
    def phases(self) -> np.ndarray:
        """int64[33]: phase by number of pieces."""
        numbers = np.arange(MOST_PIECES + 1)
        range_of = (numbers - FEWEST_PIECES) * self.n // (MOST_PIECES + 1 - FEWEST_PIECES)
        return np.maximum(range_of, 0)

    @property
    def parts(self) -> FeatureSet:
        return self.inner

    @property
    def size(self) -> int:
        return self.n * self.inner.size

    @property
    def formula(self) -> str:
        return f"PHASES({self.n}) x ({self.inner.name})"

    @property
    def max_active(self) -> int:
        return self.inner.max_active

    def feature_name(self, index: int) -> str:
        phase, feature = divmod(index, self.inner.size)
        numbers = np.flatnonzero(self.phases == phase)
        numbers = numbers[numbers >= FEWEST_PIECES]
        ends = dict.fromkeys([int(numbers[0]), int(numbers[-1])])
        return f"{self.inner.feature_name(feature)}, with {'-'.join(map(str, ends))} pieces"

    def defined(self, seen: Seen) -> list[int]:
        start = int(self.phases[len(seen.pieces)]) * self.inner.size
        return [start + feature for feature in self.inner.defined(seen)]

    def meaning(self) -> tuple[Any, ...]:
        return self.phases, self.inner.name

    def kernels(self) -> Kernels:
        from nnuelab.features.kinds import phase_kernels
        from nnuelab.features.tables import Tables
        from nnuelab.jit import address

        # A family makes a block once for all sets; the scratch in tables is for one set alone.
        tables, starts = Tables(self.inner), self.phases * self.inner.size
        data = np.zeros(1, phase_kernels.PHASE)
        data["features"], data["starts"] = tables.record, address(starts)
        return Kernels(
            phase_kernels.active,
            phase_kernels.changes,
            data,
            state=bool(tables.record["state"]),
            owned=(tables, starts),
            check=tables.check,
        )

    def alive(self) -> np.ndarray:
        return np.tile(self.inner.alive(), self.n)

    def virtual(self) -> np.ndarray | None:
        """Features share weights with their like of the same phase."""
        inner = self.inner.virtual()
        if inner is None:
            return None
        starts = np.arange(self.n)[:, None] * (inner.max() + 1)
        return np.where(inner >= 0, starts + inner, -1).ravel()

    def classes(self) -> Classes:
        return self.inner.classes() & Classes(count=self.phases)

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(sorted({self.file, *self.inner.files}))

    @property
    def contents(self) -> dict[str, str]:
        return self.inner.contents


def phases(n: int, parts: FeatureSet) -> Phase:
    """A block of a feature set and a number of phases, for a family to return."""
    return Phase(name="PHASE", concepts=(), definition="", file=Path(__file__), inner=parts, n=n)
