"""Blocks of any other kind: a function of the position says which features are active."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from nnuelab.errors import UserError, raised
from nnuelab.features.algebra import Block, kernels_by
from nnuelab.features.answers import Kernels
from nnuelab.features.concepts import Concept
from nnuelab.features.fingerprint import used_by
from nnuelab.features.legality import Seen
from nnuelab.features.records import COMPUTED
from nnuelab.sources import PACKAGE, closure_of_file, content_hash

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
    possible : function, optional
        Takes a feature's values, one for each concept; False where no legal position has it.
    """

    jitted = ("computed", "guarded")

    function: Callable[..., Any] = field(repr=False)
    at_most: int
    changed: Callable[..., Any] | None = field(default=None, repr=False)
    possible: Callable[..., bool] | None = field(default=None, repr=False)

    @property
    def max_active(self) -> int:
        return min(self.at_most, self.size)

    def alive(self) -> np.ndarray:
        if self.possible is None:
            return super().alive()
        every = np.ndindex(*(concept.size for concept in self.concepts))
        return np.array([self.possible(*values) for values in every], dtype=bool)

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
                f"it: {raised(error, self.function)}{field_meant(str(error))}, as White "
                f"in {to_fen(seen.position)}"
            ) from error
        return out[:n].tolist()

    def meaning(self) -> tuple[Any, ...]:
        return (self.function,)

    def hints(self) -> tuple[Any, ...]:
        return self.changed, content_hash(_helpers(self.function) | _helpers(self.changed))

    def kernels(self) -> Kernels:
        jitted, data = kernels_by("computed"), _compiled(self)
        return Kernels(
            jitted.active,
            None if self.changed is None else jitted.changes,
            data,
            state=True,
            check=partial(_check_bounds, self, data),
        )


def _compiled(block: Computed) -> np.ndarray:
    """COMPUTED[1] with the block's functions compiled.

    Raises
    ------
    UserError
        When numba can't compile one of them.
    """
    from nnuelab.chess.position import POSITION
    from nnuelab.jit import record_type

    data = np.zeros(1, COMPUTED)
    position = record_type(POSITION)
    data["bound"], data["size"] = block.max_active, block.size
    guarded = kernels_by("guarded").Guarded(block.max_active)
    data["active"] = _entry(block, block.function, position, guarded)
    if block.changed is not None:
        data["changed"] = _entry(block, block.changed, position, position)
    return data


def _entry(block: Computed, function: Any, *arguments: Any) -> int:
    from numba.core.errors import NumbaError

    from nnuelab.jit import entry

    try:
        return entry(getattr(function, "py_func", function), *arguments)
    except Exception as error:  # numba's own, or whatever a wrong name makes inside of it
        plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        told = [line.strip(" :") for line in plain.splitlines() if line.strip()]
        # Its first line says at which stage, the second what, and where begins with File.
        place = next((line for line in told if line.startswith("File")), str(block.file))
        what = told[1] if isinstance(error, NumbaError) and len(told) > 1 else repr(error)
        raise UserError(
            f"{place}: block {block.name}: numba can't compile {function.__name__}: "
            f"{what}{field_meant(what)}"
        ) from error


def _check_bounds(block: Computed, data: np.ndarray) -> None:
    """Raises UserError when the block's function has broken its bounds since the last time."""
    beyond, stray = int(data["beyond"][0]), int(data["stray"][0])
    data["beyond"] = data["stray"] = 0
    where = f"{block.file}: block {block.name}: {block.function.__name__}"
    remedy = f"`nnuelab features check {block.name}` looks for the position"
    if beyond:
        raise UserError(
            f"{where} returned {beyond} active features, not 0..{block.max_active}: fix it, or "
            f"its at_most; {remedy}"
        )
    if stray:
        raise UserError(f"{where} wrote feature {stray}, not one of 0..{block.size - 1}; {remedy}")


def field_meant(message: str) -> str:
    """What to say of an error about a field that a position doesn't have: the nearest it has."""
    from nnuelab.chess.position import POSITION

    found = re.search(r"(?:attribute |^KeyError\()'(\w+)'", message)  # Python's, numba's
    if found is None or not POSITION.names or found[1] in POSITION.names:
        return ""
    nearest = difflib.get_close_matches(found[1], POSITION.names, n=1, cutoff=0.0)[0]
    return f"; did you mean {nearest}? (a position has {', '.join(POSITION.names)})"


@cache
def _in_python() -> dict[Any, Callable[..., Any]]:
    """What a function may call that only numba can run, for when Python runs it."""
    from nnuelab.jit import byteswap, lsb, msb, popcount

    return {
        popcount: lambda bits: int(bits).bit_count(),
        lsb: lambda bits: (int(bits) & -int(bits)).bit_length() - 1,
        msb: lambda bits: int(bits).bit_length() - 1,
        byteswap: lambda bits: np.uint64(bits).byteswap(),
    }


def _interpreted(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function for Python to run, with all that it calls: numba's and bit tricks."""
    function = getattr(function, "py_func", function)
    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        value: Any = names.get(name)
        if hasattr(value, "py_func"):
            names[name] = _interpreted(value)
        elif callable(value):
            names[name] = _in_python().get(value, value)
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
            f"{file}: {function.__name__} comes from {place}, where edits aren't noticed; "
            "move it to the block's own file"
        )
    for called in used_by(function).values():
        if hasattr(called, "py_func"):
            _check_places(called, file, seen)


def _helpers(function: Callable[..., Any] | None, seen: frozenset[Any] = frozenset()) -> set[Path]:
    """Files of the package with compiled code that a function calls, but its own."""
    function = getattr(function, "py_func", function)
    if function is None or function in seen:
        return set()
    own = function.__code__.co_filename
    files: set[Path] = set()
    for called in used_by(function).values():
        if isinstance(called, ModuleType):
            file = called.__file__ or ""
        elif hasattr(called, "py_func"):
            file = called.py_func.__code__.co_filename
        else:
            continue
        if file == own:
            files |= _helpers(called, seen | {function})
        elif Path(file).is_relative_to(PACKAGE):
            files |= closure_of_file(Path(file))
    return files


def computed(
    name: str,
    *concepts: Concept,
    at_most: int,
    changed: Callable[..., Any] | None = None,
    possible: Callable[..., bool] | None = None,
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
    possible : function, optional
        Takes the values of a feature, one for each concept, and returns False where no legal
        position has it: such features are dead. The check finds where that is wrong.

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

    def own(what: str, function: Callable[..., Any]) -> Mapping[str, Any]:
        if not concepts or at_most < 1:
            raise UserError(f"{what}: name at least one concept, and at_most >= 1")
        for used in (function, changed):
            if used is not None:
                _check_places(used, Path(function.__code__.co_filename), set())
        return {"function": function, "at_most": at_most, "changed": changed, "possible": possible}

    return Computed.define(name, concepts, aliases, own)
