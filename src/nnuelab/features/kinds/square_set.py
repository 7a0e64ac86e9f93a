"""Blocks about the squares that the pieces of one role and colour have to do with together.

A definition says which squares one piece contributes to the set of its role and colour, by sources
(:mod:`nnuelab.features.kinds.sources`) and set operations on them. In ``square_set`` each
square of a set is a feature, in ``square_count`` the number of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, product
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.algebra import Block, kernels_by
from nnuelab.features.answers import Kernels, Tuples
from nnuelab.features.concepts import (
    COLOR_NAMES,
    COLORS,
    KING,
    ROLE_NAMES,
    ROLES,
    SQUARES,
    Concept,
)
from nnuelab.features.kinds.tracing import Board, Squares, board_of, program, trace
from nnuelab.features.legality import Seen
from nnuelab.features.records import PIECES, SPARE, SQUARES_ON_BOARD
from nnuelab.jit import address

Contribution = Callable[[Any, Any], Any]
"""Takes a square and all pieces, (role, colour) by square; returns a set of squares."""


@lru_cache(maxsize=4096)  # the properties of a block are checked on the same positions
def _sets(contribution: Contribution, pieces: Board) -> dict[tuple[int, int, int], frozenset[int]]:
    """Squares by section of the definition, role and colour."""
    sets: dict[tuple[int, int, int], set[int]] = {}
    for square, (role, color) in pieces.items():
        found = contribution(square, pieces)
        for section, squares in enumerate(found if isinstance(found, tuple) else (found,)):
            sets.setdefault((section, role, color), set()).update(squares)
    return {key: frozenset(squares) for key, squares in sets.items()}


def _traced(what: str, contribution: Contribution, sections: int) -> list[Squares]:
    """The expressions of a definition, where those of pieces can be joined to those of sets."""
    found = trace(what, contribution, sections)
    if not all(squares.joins for squares in found):
        raise UserError(
            f"{what}: {contribution.__name__} intersects or subtracts two sources of the same "
            "piece, which can't describe all pieces of its kind together; take "
            "one side of all pieces of a colour (of_side), or define it by piece_target"
        )
    return [squares.gate(i % PIECES) for i, squares in enumerate(found)]


@dataclass(frozen=True, eq=False, kw_only=True)
class SquareSet(Block):
    """A feature for each square of the set of each role and colour.

    Attributes
    ----------
    contribution : function
        Takes a square and all pieces, (role, colour) by square; returns the squares that the piece
        there contributes to the set of its role and colour.
    phrase : str
        What a piece does to a square, for names: ``can move to``.
    traced : list of Squares [12]
        The same as expressions.
    """

    jitted = ("square_sets", "sources")

    contribution: Contribution
    phrase: str
    traced: list[Squares] = field(repr=False)

    @property
    def max_active(self) -> int:
        return min(max(squares.most for squares in self.traced), self.size) + SPARE

    def feature_name(self, index: int) -> str:
        square, role, color = self.values(index)
        return f"{COLOR_NAMES[color]} {ROLE_NAMES[role]} {self.phrase} {SQUARES.values[square]}"

    def alive(self) -> np.ndarray:
        """Squares that a piece of the role and colour reaches from any of its own."""
        alive = np.zeros((SQUARES_ON_BOARD, PIECES), dtype=bool)
        for piece, squares in enumerate(self.traced):
            for target in range(SQUARES_ON_BOARD):
                alive[target, piece] = any(bits >> target & 1 for bits in squares.reach)
        return alive.ravel()

    @property
    def alive_is_exact(self) -> bool:
        return all(len(squares.code) == 1 for squares in self.traced)

    def defined(self, seen: Seen) -> list[int]:
        sets = _sets(self.contribution, board_of(seen))
        return [
            square * 12 + role * 2 + color
            for (_, role, color), squares in sets.items()
            for square in squares
        ]

    def meaning(self) -> tuple[Any, ...]:
        return (self.contribution,)

    def kernels(self) -> Kernels:
        jitted = kernels_by("square_sets")
        square, piece = np.divmod(np.arange(self.size, dtype=np.int32), 12)
        made = program(self.traced)
        return Kernels(
            jitted.squares_active,
            jitted.squares_changes,
            made.data,
            turned=(square ^ 56) * 12 + (piece ^ 1),
            state=made.state,
            owned=made.owned,
        )


@dataclass(frozen=True)
class Section:
    """What is counted.

    Attributes
    ----------
    phrase : str
        For names: what the pieces do to the counted things, ``can move to``, and those, ``square``.
    most : tuple of int
        By role: up to where it is counted; more is the same.
    never : set of (int, int)
        Roles and numbers that don't occur.
    """

    phrase: tuple[str, str]
    most: tuple[int, ...]
    never: frozenset[tuple[int, int]] = frozenset()

    @property
    def size(self) -> int:
        """Number of features."""
        return 2 * sum(most + 1 for most in self.most)

    @property
    def offsets(self) -> list[int]:
        """By role, the feature that says that the own pieces have none."""
        return [2 * n for n in accumulate((most + 1 for most in self.most), initial=0)][:-1]

    def feature_name(self, role: int, color: int, count: int) -> str:
        verb, unit = self.phrase
        pieces = f"{COLOR_NAMES[color]} {ROLE_NAMES[role]}" + ("s" if role != KING else "")
        number = f"{count} or more" if count == self.most[role] else str(count)
        return f"{pieces} {verb} {number} {unit}" + ("s" if number != "1" else "")


COUNTS = Concept("COUNTS", tuple(map(str, range(28))))


@dataclass(frozen=True, eq=False, kw_only=True)
class SquareCount(Block):
    """A feature for the number of squares in the set of each role and colour.

    Feature ``offset + (count * 2 + color)`` of a role, section by section.

    Attributes
    ----------
    contribution : function
        As for :class:`SquareSet`, with a tuple of sets when there are several sections.
    sections : tuple of Section
    traced : list of Squares [12 * sections]
        The same as expressions.
    """

    jitted = ("square_sets", "sources")

    contribution: Contribution
    sections: tuple[Section, ...]
    traced: list[Squares] = field(repr=False)

    @property
    def size(self) -> int:
        return sum(section.size for section in self.sections)

    @property
    def formula(self) -> str:
        return f"possible {super().formula}"  # a pawn has fewer counts than a queen

    @property
    def max_active(self) -> int:
        return 12 * len(self.sections)

    def _first(self) -> list[tuple[int, Section, int, int, int]]:
        """(feature, section, role, colour, most) of each set, where feature says 0."""
        starts = accumulate((section.size for section in self.sections), initial=0)
        return [
            (start + section.offsets[role] + color, section, role, color, section.most[role])
            for start, section in zip(starts, self.sections, strict=False)
            for role, color in product(range(6), range(2))
        ]

    def values(self, index: int) -> tuple[int, ...]:
        """Count, role and colour, in whatever section."""
        _, count, role, color = self._parts_of(index)
        return count, role, color

    def feature_name(self, index: int) -> str:
        section, count, role, color = self._parts_of(index)
        return section.feature_name(role, color, count)

    def _parts_of(self, index: int) -> tuple[Section, int, int, int]:
        for first, section, role, color, most in self._first():
            count, rest = divmod(index - first, 2)
            if rest == 0 and 0 <= count <= most:
                return section, count, role, color
        raise IndexError(f"feature {index} of {self.name}, which has {self.size}")

    def alive(self) -> np.ndarray:
        alive = np.ones(self.size, dtype=bool)
        for first, section, role, _, _ in self._first():
            for count in (n for r, n in section.never if r == role):
                alive[first + 2 * count] = False
        return alive

    def defined(self, seen: Seen) -> list[int]:
        sets = _sets(self.contribution, board_of(seen))
        return [
            first + 2 * min(len(sets.get((i // 12, role, color), ())), most)
            for i, (first, _, role, color, most) in enumerate(self._first())
        ]

    def meaning(self) -> tuple[Any, ...]:
        return self.contribution, [section.most for section in self.sections]

    def tuples(self) -> list[Tuples]:
        """By section: counts, roles and colours."""
        values = np.array([self.values(index) for index in range(self.size)], np.int64)
        ends = list(accumulate(section.size for section in self.sections))
        return [
            Tuples(section.phrase[0], self.concepts, values[start:end], np.arange(start, end))
            for section, start, end in zip(self.sections, [0, *ends], ends, strict=False)
        ]

    def kernels(self) -> Kernels:
        jitted = kernels_by("square_sets")
        first = np.array([entry[0] for entry in self._first()], np.int64)
        most = np.array([entry[-1] for entry in self._first()], np.int64)
        made = program(self.traced)
        made.data["first"], made.data["most"] = address(first), address(most)
        return Kernels(
            jitted.counts_active,
            jitted.counts_changes,
            made.data,
            turned=np.arange(self.size, dtype=np.int32) ^ 1,
            state=made.state,
            owned=(*made.owned, first, most),
        )


def square_set(
    name: str, phrase: str, aliases: tuple[str, ...] = ()
) -> Callable[[Contribution], SquareSet]:
    """Makes a block with a feature for each square that pieces of a role and colour have together.

    The function takes a square and all pieces, (role, colour 0 own / 1 enemy) by square, seen from
    the perspective, and returns the squares that the piece there contributes: made of sources
    (``attacks``, ``safe_moves``, ...) with ``&``, ``|`` and ``-`` between them. It may ask for the
    role and colour of the piece, ``pieces[square]``, and for all occupied squares,
    ``pieces.keys()``. Its docstring is the definition that ``nnuelab features list`` shows.

    Parameters
    ----------
    phrase : str
        What a piece does to a square, for names: ``can move to``.

    >>> @square_set("SAFE", "can safely move to")
    ... def safe_mobility(square, pieces):
    ...     \"\"\"A piece of role r and colour c can move to the square, safe from pawns.\"\"\"
    ...     role, color = pieces[square]
    ...     return safe_moves(square, pieces) - of_side(attacks, pieces, 1 - color, PAWN)

    Raises
    ------
    UserError
        When the name is malformed, or the definition can't be traced.
    """

    def own(what: str, contribution: Contribution) -> Mapping[str, Any]:
        return {
            "contribution": contribution,
            "phrase": phrase,
            "traced": _traced(what, contribution, 1),
        }

    return SquareSet.define(name, (SQUARES, ROLES, COLORS), aliases, own)


def square_count(
    name: str, *sections: Section, aliases: tuple[str, ...] = ()
) -> Callable[[Contribution], SquareCount]:
    """Makes a block with a feature for the number of squares, up to a limit, of each such set.

    The function is that of :func:`~nnuelab.features.square_set`; with two sections it returns a
    tuple of two sets.

    Raises
    ------
    UserError
        When the name is malformed, or the definition has not one set for each section.
    """

    def own(what: str, contribution: Contribution) -> Mapping[str, Any]:
        if not 1 <= len(sections) <= 2:
            raise UserError(f"{what}: name one or two sections, what is counted")
        if any(len(section.most) != 6 or min(section.most) < 0 for section in sections):
            raise UserError(f"{what}: `most` is a number for each of the six roles")
        return {
            "contribution": contribution,
            "sections": sections,
            "traced": _traced(what, contribution, len(sections)),
        }

    return SquareCount.define(name, (COUNTS, ROLES, COLORS), aliases, own)
