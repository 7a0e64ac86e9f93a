"""Blocks of any other kind: a function of the position says which features are active."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from nnuelab.errors import UserError, one_line
from nnuelab.features.block import Block, Kernels, Seen, check_definition, definition_of
from nnuelab.features.concepts import Concept
from nnuelab.features.fingerprint import used_by
from nnuelab.sources import PACKAGE

GUARD = 64  # features more than announced that the checks still see


@dataclass(frozen=True, eq=False, kw_only=True)
class Computed(Block):
    """A block of features that a function computes.

    Attributes
    ----------
    function : function
        (position, out) -> n: writes the active features, each once, into ``out``.
    at_most : int
        Features that are active at once.
    changed : function, optional
        (old, new) -> bool: False where the active features are surely the same.
    """

    function: Callable[..., Any] = field(repr=False)
    at_most: int
    changed: Callable[..., Any] | None = field(default=None, repr=False)

    @property
    def max_active(self) -> int:
        return min(self.at_most, self.size)

    def feature_name(self, index: int) -> str:
        values = zip(self.concepts, self.values(index), strict=True)
        return f"{self.name}: " + ", ".join(concept.values[value] for concept, value in values)

    def defined(self, seen: Seen) -> list[int]:
        """What the same function finds when Python runs it, not numba."""
        from nnuelab.chess.notation import to_fen

        out = np.empty(self.max_active + GUARD, np.int32)
        try:
            n = int(_interpreted(self.function)(seen.position, out))
        except Exception as error:
            raise UserError(
                f"{self.file}: block {self.name}: {self.function.__name__} fails when Python runs "
                f"it: {type(error).__name__}: {one_line(error)}{field_meant(str(error))}, as White "
                f"in {to_fen(seen.position)}"
            ) from error
        return out[:n].tolist()

    def meaning(self) -> tuple[Any, ...]:
        return (self.function,)

    def kernels(self) -> Kernels:
        from nnuelab.features.kinds import computed_kernels

        data, changes = computed_kernels.compiled(self)
        return Kernels(
            computed_kernels.active,
            changes,
            data,
            state=True,
            check=partial(computed_kernels.check, self, data),
        )


def field_meant(message: str) -> str:
    """What to say of an error about a field that a position doesn't have: the nearest it has."""
    from nnuelab.chess.position import POSITION

    found = re.search(r"(?:attribute |^KeyError\()'(\w+)'", message)  # Python's, numba's
    if found is None or not POSITION.names or found[1] in POSITION.names:
        return ""
    nearest = difflib.get_close_matches(found[1], POSITION.names, n=1, cutoff=0.0)[0]
    return f"; did you mean {nearest}? (a position has {', '.join(POSITION.names)})"


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function for Python to run, with all that it calls: numba's and bit tricks."""
    from nnuelab.features.kinds.computed_kernels import IN_PYTHON

    function = getattr(function, "py_func", function)
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        value: Any = names.get(name)
        if hasattr(value, "py_func"):
            names[name] = _interpreted(value)
        elif callable(value):
            names[name] = IN_PYTHON.get(value, value)
    return FunctionType(
        function.__code__, names, argdefs=function.__defaults__, closure=function.__closure__
    )


def _check_places(function: Callable[..., Any], file: Path, seen: set[Any]) -> None:
    """Whether all compiled code that a function calls is in its file, or in the package.

    Neither numba's cache nor a workflow would notice an edit anywhere else.
    """
    function = getattr(function, "py_func", function)
    if function in seen:
        return
    seen.add(function)
    place = Path(function.__code__.co_filename)
    if place != file and not place.is_relative_to(PACKAGE):
        raise UserError(
            f"{file}: {function.__name__} comes from {place}, where no edit would be noticed; "
            "write it into the block's own file"
        )
    for called in used_by(function).values():
        if hasattr(called, "py_func"):
            _check_places(called, file, seen)


def computed(
    name: str,
    *concepts: Concept,
    at_most: int,
    changed: Callable[..., Any] | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[Callable[..., Any]], Computed]:
    """Makes a block of a function that numba compiles.

    The function takes a position (a record of POSITION in ``nnuelab.chess.position``) as the player
    sees it, as if the player were White, and an array; it writes the indices of the active features
    into the array, each once, and returns how many. An index is the stride index of the concepts'
    values. The function may call others that are decorated with ``nnuelab.jit.jit``.

    Parameters
    ----------
    at_most : int
        Features that are active at once, at most. What the function writes beyond them is lost, and
        whoever asked for the features is told.
    changed : function, optional
        Takes two positions and returns False where the active features are surely the same; it
        spares the engine the comparison. ``nnuelab features check`` finds where it is wrong.

    >>> from nnuelab.jit import popcount
    >>> @computed("PAIR", COLORS, at_most=2)
    ... def bishop_pair(position, out):
    ...     \"\"\"Colour c has two bishops.\"\"\"
    ...     n = 0
    ...     for color in range(2):
    ...         if popcount(position.roles[BISHOP] & position.colors[color]) > 1:
    ...             out[n] = color
    ...             n += 1
    ...     return n

    Raises
    ------
    UserError
        When the name is malformed, or a function stands in another file.
    """

    def make(function: Callable[..., Any]) -> Computed:
        file = Path(inspect.getfile(function))
        check_definition(file, name, *aliases)
        if not concepts or at_most < 1:
            raise UserError(f"{file}: block {name}: name at least one concept, and at_most >= 1")
        for used in (function, changed):
            if used is not None:
                _check_places(used, file, set())
        return Computed(
            name=name,
            concepts=concepts,
            definition=definition_of(function),
            file=file,
            aliases=aliases,
            function=function,
            at_most=at_most,
            changed=changed,
        )

    return make
