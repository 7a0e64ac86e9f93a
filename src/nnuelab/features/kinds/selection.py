"""Blocks with some features of a set: chosen ones, perhaps with the board mirrored by the own king.

What is left out has no row. Mirrored, the player sees the own king on files a to d always: with the
king on e to h, every feature is that of the board with its files reversed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.algebra import Block, FeatureSet, check_definition, kernels_by
from nnuelab.features.answers import Classes, Kernels, Tabulated, renumbered
from nnuelab.features.concepts import OWN, file_of
from nnuelab.features.legality import Seen, by_player
from nnuelab.features.records import SELECTION, SQUARES_ON_BOARD

FILES_MIRRORED = 7  # a square with its file reversed: square ^ 7
_RIGHT = np.array([int(file_of(square) > 3) for square in range(SQUARES_ON_BOARD)], np.int64)


@dataclass(frozen=True, eq=False, kw_only=True)
class Selection(Block):
    """Some features of a set, numbered anew.

    Attributes
    ----------
    inner : FeatureSet
    kept : bool[inner.size]
        The features that it has, in their order.
    is_mirrored : bool
        Whether the board is mirrored when the own king stands on files e to h.
    """

    jitted = ("selection",)

    inner: FeatureSet
    kept: np.ndarray = field(repr=False)
    is_mirrored: bool

    @cached_property
    def source(self) -> np.ndarray:
        """int64[size]: the feature of the set that each is."""
        return np.flatnonzero(self.kept)

    @cached_property
    def rows(self) -> np.ndarray:
        """int32[2, inner.size]: feature by that of the set, -1 for none; own king left or right."""
        left = np.where(self.kept, np.cumsum(self.kept) - 1, -1).astype(np.int32)
        return np.stack([left, left[mirror_images(self.inner)] if self.is_mirrored else left])

    @property
    def sides(self) -> np.ndarray:
        """int64[64]: which of them holds, by the square of the own king."""
        return _RIGHT if self.is_mirrored else np.zeros_like(_RIGHT)

    @property
    def parts(self) -> FeatureSet:
        return self.inner

    def copies(self) -> list[tuple[str, np.ndarray]]:
        return [("mirrored" if self.is_mirrored else "", self.rows[0].astype(np.int64))]

    @property
    def size(self) -> int:
        return len(self.source)

    @property
    def formula(self) -> str:
        return f"{self.size} of {self.inner.name}" + ", mirrored" * self.is_mirrored

    @property
    def max_active(self) -> int:
        return self.inner.max_active  # all are listed before some are left out

    def alive(self) -> np.ndarray:
        alive: np.ndarray = self.inner.alive()[self.source]
        return alive

    @property
    def alive_is_exact(self) -> bool:
        # Of a mirrored king some squares are never taken, which the set doesn't know.
        return self.inner.alive_is_exact and not self.is_mirrored

    def feature_name(self, index: int) -> str:
        name = self.inner.feature_name(int(self.source[index]))
        return f"{name} (mirrored: own king on files a-d)" if self.is_mirrored else name

    def defined(self, seen: Seen) -> list[int]:
        if self.sides[seen.king(OWN)]:
            # Blocks that can be mirrored are about pieces alone.
            pieces = sorted((square ^ FILES_MIRRORED, p) for square, p in seen.pieces.items())
            seen = replace(seen, pieces=dict(pieces))
        found = self.rows[0][self.inner.defined(seen)]
        return [int(row) for row in found if row >= 0]

    def meaning(self) -> tuple[Any, ...]:
        return self.inner.name, self.kept, self.is_mirrored

    def tabulated(self) -> Tabulated | None:
        """Of a single block about a piece, its square and the own king: tables again."""
        (first, *others) = self.inner.terms
        known = first.factors[0].tabulated() if not others and len(first.factors) == 1 else None
        if known is None:
            return None
        return Tabulated(*renumbered(known.tables, known.class_of, self.rows, self.sides))

    def kernels(self) -> Kernels:
        from nnuelab.features.tables import Tables
        from nnuelab.jit import address

        tables, rows = Tables(self.inner), np.ascontiguousarray(self.rows)
        sides = by_player(self.sides)
        data = np.zeros(1, SELECTION)
        data["features"], data["rows"] = tables.record, address(rows)
        data["sides"] = address(sides)
        selection = kernels_by("selection")
        return Kernels(
            selection.active,
            selection.changes,
            data,
            state=bool(tables.record["state"]),
            owned=(tables, rows, sides),
            check=tables.check,
        )

    def shared(self, every: bool) -> np.ndarray:
        found: np.ndarray = self.inner.shared(every)[self.source]
        return found

    def classes(self) -> Classes:
        return self.inner.classes() & Classes(own=self.sides)

    @property
    def contents(self) -> dict[str, str]:
        return self.inner.contents


def mirror_images(features: FeatureSet) -> np.ndarray:
    """int64[size]: each feature of a set as it is on a board with its files reversed.

    Raises
    ------
    ValueError
        When a block has features without such an image.
    """
    found = []
    for term, offset in zip(features.terms, features.offsets, strict=True):
        image = np.zeros(1, np.int64)
        for block in term.factors:
            inner = block.parts if block.is_sum else None
            of_block = block.mirror_images() if inner is None else mirror_images(inner)
            if of_block is None:
                raise ValueError(
                    f"{block.name} can't be mirrored; blocks about pieces on squares, pairs from "
                    "symmetric lists, and what pieces attack can"
                )
            image = (image[:, None] * block.size + of_block).ravel()
        found.append(offset + image)
    return np.concatenate(found)


def selected(
    parts: Block | FeatureSet, kept: np.ndarray | None = None, mirrored: bool = False
) -> Selection:
    """A block with some features of a set, for a family to return.

    Parameters
    ----------
    parts : Block or FeatureSet
    kept : bool[parts.size], optional
        Those that it has; all by default. Mirrored features are chosen as they are seen.
    mirrored : bool
        The board is mirrored when the own king stands on files e to h.

    Raises
    ------
    ValueError
        When no feature is left, or the set can't be mirrored.
    """
    inner = parts.features
    kept = np.ones(inner.size, dtype=bool) if kept is None else kept
    if not kept.any():
        raise ValueError(f"of {inner.name} no feature is left")
    if mirrored:
        mirror_images(inner)
    return Selection(
        name="SELECTION",
        concepts=(),
        definition="",
        file=Path(__file__),
        inner=inner,
        kept=kept,
        is_mirrored=mirrored,
    )


def selection(
    name: str, file: str, made: Selection, definition: str, aliases: tuple[str, ...] = ()
) -> Selection:
    """Gives a selection a name of its own.

    Parameters
    ----------
    file : str
        Where it is defined: ``__file__``.

    >>> ALL = parse("ALL")
    >>> possible = selected(ALL, ALL.alive())
    >>> THERE = selection("THERE", __file__, possible, "A piece stands where it can.")
    >>> THERE.size
    736

    Raises
    ------
    UserError
        When the name is malformed.
    """
    check_definition(Path(file), name, *aliases)
    if not definition:
        raise UserError(f"{file}: {name}: say when a feature is active")
    return replace(made, name=name, file=Path(file), definition=definition, aliases=aliases)
