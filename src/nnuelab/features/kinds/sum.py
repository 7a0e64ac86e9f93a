"""Blocks that are a sum under one name."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.features.algebra import FeatureSet
from nnuelab.features.block import Block, Classes, Kernels, Seen, check_definition


@dataclass(frozen=True, eq=False, kw_only=True)
class Sum(Block):
    """A feature set that goes by one name.

    Attributes
    ----------
    inner : FeatureSet
    """

    inner: FeatureSet

    @property
    def parts(self) -> FeatureSet:
        return self.inner

    @property
    def size(self) -> int:
        return self.inner.size

    @property
    def formula(self) -> str:
        return " + ".join(
            f"({' x '.join(block.formula for block in term.factors)})" for term in self.inner.terms
        )

    @property
    def max_active(self) -> int:
        return self.inner.max_active

    def feature_name(self, index: int) -> str:
        return self.inner.feature_name(index)

    def defined(self, seen: Seen) -> list[int]:
        return self.inner.defined(seen)

    def meaning(self) -> tuple[Any, ...]:
        return (self.inner.name,)

    def kernels(self) -> Kernels:
        raise AssertionError("a sum's parts are terms of the feature set itself")

    def alive(self) -> np.ndarray:
        return self.inner.alive()

    def virtual(self) -> np.ndarray | None:
        return self.inner.virtual()

    def classes(self) -> Classes:
        return self.inner.classes()

    @property
    def files(self) -> tuple[Path, ...]:
        return tuple(sorted({self.file, *self.inner.files}))

    @property
    def contents(self) -> dict[str, str]:
        return self.inner.contents


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
