"""Blocks made of feature sets: a sum under one name, and a set once for each phase of the game."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.features import sharing
from nnuelab.features.algebra import Block, FeatureSet, check_definition, kernels_by
from nnuelab.features.answers import Classes, Kernels
from nnuelab.features.legality import Seen
from nnuelab.features.records import MOST_PIECES, PHASE

FEWEST_PIECES = 2  # the kings


@dataclass(frozen=True, eq=False, kw_only=True)
class Composite(Block):
    """The features of a set, once for each of some ranges of the number of pieces.

    Attributes
    ----------
    inner : FeatureSet
    n : int
        Phases: the numbers from 2 to 32 in n ranges as equal as possible, fewest pieces first.
    """

    jitted = ("phase",)

    inner: FeatureSet
    n: int = 1

    @property
    def phases(self) -> np.ndarray:
        """int64[33]: phase by number of pieces."""
        numbers = np.arange(MOST_PIECES + 1)
        range_of = (numbers - FEWEST_PIECES) * self.n // (MOST_PIECES + 1 - FEWEST_PIECES)
        return np.maximum(range_of, 0)

    @property
    def parts(self) -> FeatureSet:
        return self.inner

    def _labels(self) -> list[str]:
        """What tells the copies apart."""
        return [""]

    def copies(self) -> list[tuple[str, np.ndarray]]:
        features = np.arange(self.size).reshape(self.n, -1)
        return list(zip(self._labels(), features, strict=True))

    @property
    def size(self) -> int:
        return self.n * self.inner.size

    @property
    def max_active(self) -> int:
        return self.inner.max_active

    def alive(self) -> np.ndarray:
        return np.tile(self.inner.alive(), self.n)

    def defined(self, seen: Seen) -> list[int]:
        start = int(self.phases[len(seen.pieces)]) * self.inner.size
        return [start + feature for feature in self.inner.defined(seen)]

    def kernels(self) -> Kernels:
        from nnuelab.features.tables import Tables
        from nnuelab.jit import address

        # A family makes a block once for all sets; the scratch in tables is for one set alone.
        tables, starts = Tables(self.inner), self.phases * self.inner.size
        data = np.zeros(1, PHASE)
        data["features"], data["starts"] = tables.record, address(starts)
        phase = kernels_by("phase")
        return Kernels(
            phase.active,
            phase.changes,
            data,
            state=bool(tables.record["state"]),
            owned=(tables, starts),
            check=tables.check,
        )

    def shared(self, every: bool) -> np.ndarray:
        """Features share rows with their like of the same phase, and with those of others."""
        found = sharing.below([self.inner.shared(every)] * self.n)
        phases = np.tile(np.arange(self.inner.size), self.n)
        return sharing.beside([found, phases[:, None]]) if every else found

    def classes(self) -> Classes:
        return self.inner.classes() & Classes(count=self.phases)

    @property
    def contents(self) -> dict[str, str]:
        return self.inner.contents


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(Composite):
    """A feature set that goes by one name."""

    @property
    def is_sum(self) -> bool:
        return True

    @property
    def formula(self) -> str:
        return " + ".join(
            f"({' x '.join(block.formula for block in term.factors)})" for term in self.inner.terms
        )

    def feature_name(self, index: int) -> str:
        return self.inner.feature_name(index)

    @property
    def alive_is_exact(self) -> bool:
        return self.inner.alive_is_exact

    def meaning(self) -> tuple[Any, ...]:
        return (self.inner.name,)


@dataclass(frozen=True, eq=False, kw_only=True)
class Phase(Composite):
    """The features of a set, by the number of pieces on the board."""

    @property
    def formula(self) -> str:
        return f"PHASES({self.n}) x ({self.inner.name})"

    def _labels(self) -> list[str]:
        """``with 2-9 pieces``, for each phase."""
        found = []
        for phase in range(self.n):
            numbers = np.flatnonzero(self.phases == phase)
            numbers = numbers[numbers >= FEWEST_PIECES]
            ends = dict.fromkeys([int(numbers[0]), int(numbers[-1])])
            found.append(f"with {'-'.join(map(str, ends))} pieces")
        return found

    def feature_name(self, index: int) -> str:
        phase, feature = divmod(index, self.inner.size)
        return f"{self.inner.feature_name(feature)}, {self._labels()[phase]}"

    def meaning(self) -> tuple[Any, ...]:
        return self.phases, self.inner.name


def phases(n: int, parts: FeatureSet) -> Phase:
    """A block of a feature set and a number of phases, for a family to return."""
    return Phase(name="PHASE", concepts=(), definition="", file=Path(__file__), inner=parts, n=n)


def named(
    name: str, parts: Block | FeatureSet, definition: str, aliases: tuple[str, ...] = ()
) -> Sum:
    """Makes a block of a sum of blocks and products of blocks.

    >>> @piece_square("SC", SQUARES, COLORS)
    ... def color_on(square, role, color):
    ...     \"\"\"A piece of colour c stands on the square.\"\"\"
    ...     return square, color
    >>> @piece_square("SR", SQUARES, ROLES)
    ... def role_on(square, role, color):
    ...     \"\"\"A piece of role r stands on the square.\"\"\"
    ...     return square, role
    >>> YACGE = named("YACGE", color_on + role_on, "Colours on squares; roles on squares.")
    >>> YACGE.size
    512

    Raises
    ------
    UserError
        When the name is malformed.
    """
    caller = inspect.stack()[1]
    file = Path(caller.filename)
    check_definition(file, name, *aliases)
    return Sum(
        name=name,
        concepts=(),
        definition=definition,
        file=file,
        aliases=aliases,
        inner=parts.features,
    )
