"""Blocks about what the pieces of one role and colour attack together, or where they can move.

A definition says which squares one piece contributes to the set of its role and colour. In
:func:`square_set` each square of a set is a feature, in :func:`square_count` the number of them.
Jitted code computes all sets at once; which ones, a number says: :data:`MOBILITY` and so on.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.block import Block, Kernels, Seen, check_definition, definition_of
from nnuelab.features.concepts import (
    BISHOP,
    COLOR_NAMES,
    COLORS,
    ENEMY,
    KING,
    KNIGHT,
    OWN,
    PAWN,
    QUEEN,
    ROLE_NAMES,
    ROLES,
    ROOK,
    SQUARES,
    Concept,
    file_of,
    rank_of,
)
from nnuelab.jit import address

MOBILITY, ATTACKED, ATTACKED_AND_ATTACKERS = range(3)
"""Sets for jitted code: of squares to move to, of squares attacked, and of pieces that attack."""

SECTIONS = {MOBILITY: 1, ATTACKED: 1, ATTACKED_AND_ATTACKERS: 2}
"""How many sets for each role and colour a source has."""

MOST_PAIRS = 600
"""Bound of the pairs of a piece and a square that it attacks or can go to, in any position.

A square is reached from each of eight directions at most once, which makes 512 pairs, and no piece
has more than 27 of them. A knight adds 8 and takes another piece's place: with 11 of them there
can be 512 + 88, with 12 and two kings no more than 18 * 27 + 2 * 8 + 12 * 8 = 598.
"""

SPARE = 2  # features that jitted code may write behind the end of a list

Pieces = Mapping[int, tuple[int, int]]  # (role, colour) by square

_STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))  # files and ranks of a step
_DIAGONAL = ((1, 1), (-1, -1), (1, -1), (-1, 1))
_STEPS = {
    KNIGHT: ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)),
    BISHOP: _DIAGONAL,
    ROOK: _STRAIGHT,
    QUEEN: _STRAIGHT + _DIAGONAL,
    KING: _STRAIGHT + _DIAGONAL,
}


# What a definition can say of a piece, in plain Python -------------------------------------------


@cache
def _rays(role: int, color: int, square: int) -> tuple[tuple[int, ...], ...]:
    """The squares that a piece attacks on an empty board, by direction, the nearest first."""
    forward = 1 if color == OWN else -1
    steps = ((1, forward), (-1, forward)) if role == PAWN else _STEPS[role]
    times = 7 if role in (BISHOP, ROOK, QUEEN) else 1
    file, rank = file_of(square), rank_of(square)
    return tuple(
        tuple(
            file + i * step[0] + 8 * (rank + i * step[1])
            for i in range(1, times + 1)
            if 0 <= file + i * step[0] < 8 and 0 <= rank + i * step[1] < 8
        )
        for step in steps
    )


def attacked_by(role: int, color: int, square: int, pieces: Pieces) -> set[int]:
    """Squares that such a piece on ``square`` attacks, whatever stands there, pins aside."""
    found = set()
    for ray in _rays(role, color, square):
        for target in ray:
            found.add(target)
            if target in pieces:
                break
    return found


def attacks(square: int, pieces: Pieces) -> set[int]:
    """Squares that the piece on ``square`` attacks, whatever stands there, pins aside."""
    return attacked_by(*pieces[square], square, pieces)


def attackers(square: int, pieces: Pieces) -> set[int]:
    """Squares of the enemy's pieces that attack the piece on ``square``."""
    color = pieces[square][1]
    return {s for s in pieces if pieces[s][1] != color and square in attacks(s, pieces)}


def moves(square: int, pieces: Pieces) -> set[int]:
    """Squares that the piece on ``square`` could go to, the safety of its king aside.

    The study's rule: pawns take enemy pieces, though not en passant, and advance by one square
    only; there is no castling.
    """
    role, color = pieces[square]
    targets = attacks(square, pieces)
    if role == PAWN:
        targets &= pieces.keys()
        targets |= {square + (8 if color == OWN else -8)} - pieces.keys()
    return {t for t in targets if t not in pieces or pieces[t][1] != color}


def safe_moves(square: int, pieces: Pieces) -> set[int]:
    """The moves of the piece on ``square`` that don't leave its king attacked."""
    color = pieces[square][1]
    found = set()
    for target in moves(square, pieces):
        after = {s: piece for s, piece in pieces.items() if s != square}
        after[target] = pieces[square]
        king = next(s for s, piece in after.items() if piece == (KING, color))
        if not _is_attacked(king, color, after):
            found.add(target)
    return found


def _is_attacked(square: int, color: int, pieces: Pieces) -> bool:
    """Whether an enemy of ``color`` attacks a square: one that its own role would attack thence."""
    return any(
        pieces.get(other) == (role, 1 - color)
        for role in range(6)
        for other in attacked_by(role, color, square, pieces)
    )


@lru_cache(maxsize=4096)  # the properties of a block are checked on the same positions
def _sets(
    contribution: Callable[[int, Pieces], Any], pieces: tuple[tuple[int, tuple[int, int]], ...]
) -> dict[tuple[int, int, int], frozenset[int]]:
    """Squares by section of the definition, role and colour."""
    by_square = dict(pieces)
    sets: dict[tuple[int, int, int], set[int]] = {}
    for square, (role, color) in pieces:
        found = contribution(square, by_square)
        for section, squares in enumerate(found if isinstance(found, tuple) else (found,)):
            sets.setdefault((section, role, color), set()).update(squares)
    return {key: frozenset(squares) for key, squares in sets.items()}


# Blocks ------------------------------------------------------------------------------------------


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
    source : int
        The sets that jitted code computes.
    """

    contribution: Callable[[int, Pieces], Collection[int]]
    phrase: str
    source: int

    @property
    def max_active(self) -> int:
        return MOST_PAIRS + SPARE

    def feature_name(self, index: int) -> str:
        square, role, color = self.values(index)
        return f"{COLOR_NAMES[color]} {ROLE_NAMES[role]} {self.phrase} {SQUARES.values[square]}"

    def alive(self) -> np.ndarray:
        """Pawns go and attack forwards: they have nothing to do with their two first ranks."""
        alive = np.ones((8, 8, 6, 2), dtype=bool)
        alive[:2, :, PAWN, OWN] = False
        alive[6:, :, PAWN, ENEMY] = False
        return alive.ravel()

    def defined(self, seen: Seen) -> list[int]:
        sets = _sets(self.contribution, tuple(seen.pieces.items()))
        return [
            square * 12 + role * 2 + color
            for (_, role, color), squares in sets.items()
            for square in squares
        ]

    def meaning(self) -> tuple[Any, ...]:
        return (self.contribution,)

    def kernels(self) -> Kernels:
        from nnuelab.features.kinds import attacks_kernels as jitted

        square, piece = np.divmod(np.arange(self.size, dtype=np.int32), 12)
        data, owned = _data(self.source, n=12)
        return Kernels(
            jitted.squares_active,
            jitted.squares_changes,
            data,
            turned=(square ^ 56) * 12 + (piece ^ 1),
            owned=owned,
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
    source : int
        The sets that jitted code computes.
    """

    contribution: Callable[[int, Pieces], Any]
    sections: tuple[Section, ...]
    source: int

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
        sets = _sets(self.contribution, tuple(seen.pieces.items()))
        return [
            first + 2 * min(len(sets.get((i // 12, role, color), ())), most)
            for i, (first, _, role, color, most) in enumerate(self._first())
        ]

    def meaning(self) -> tuple[Any, ...]:
        return self.contribution, [section.most for section in self.sections]

    def kernels(self) -> Kernels:
        from nnuelab.features.kinds import attacks_kernels as jitted

        first = np.array([entry[0] for entry in self._first()], np.int64)
        most = np.array([entry[-1] for entry in self._first()], np.int64)
        data, owned = _data(self.source, n=len(first))
        data["first"], data["most"] = address(first), address(most)
        return Kernels(
            jitted.counts_active,
            jitted.counts_changes,
            data,
            turned=np.arange(self.size, dtype=np.int32) ^ 1,
            owned=(*owned, first, most),
        )


def _data(source: int, n: int) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """A record for jitted code with so many sets, and the owner of its scratch."""
    from nnuelab.features.kinds.attacks_kernels import PLACEMENT, POSITIONS, SETS

    data, kept = np.zeros(1, SETS), np.zeros((POSITIONS, PLACEMENT + n), np.uint64)
    data["source"], data["n"], data["kept"] = source, n, address(kept)
    return data, (kept,)


def _check_source(file: Path, name: str, source: int, sections: int) -> None:
    if SECTIONS.get(source) != sections:
        raise UserError(
            f"{file}: block {name}: its source has to be one with {sections} sets for each role "
            "and colour: MOBILITY and ATTACKED have one, ATTACKED_AND_ATTACKERS two"
        )


def square_set(
    name: str, phrase: str, source: int, aliases: tuple[str, ...] = ()
) -> Callable[[Callable[[int, Pieces], Collection[int]]], SquareSet]:
    """Makes a block with a feature for each square that pieces of a role and colour have together.

    The function takes a square 0..63 and all pieces, (role, colour) by square, seen from the
    perspective, and returns the squares that the piece there contributes. Its docstring is the
    definition that ``nnuelab features list`` shows. ``source`` says how jitted code computes the
    same.

    >>> @square_set("AB", "attacks", ATTACKED)
    ... def attack_bitsets(square, pieces):
    ...     \"\"\"A piece of role r and colour c attacks the square.\"\"\"
    ...     return attacks(square, pieces)

    Raises
    ------
    UserError
        When the name is malformed, or the source has more than one set for a role and colour.
    """

    def make(contribution: Callable[[int, Pieces], Collection[int]]) -> SquareSet:
        file = Path(inspect.getfile(contribution))
        check_definition(file, name, *aliases)
        _check_source(file, name, source, sections=1)
        return SquareSet(
            name=name,
            concepts=(SQUARES, ROLES, COLORS),
            definition=definition_of(contribution),
            file=file,
            aliases=aliases,
            contribution=contribution,
            phrase=phrase,
            source=source,
        )

    return make


def square_count(
    name: str, *sections: Section, source: int, aliases: tuple[str, ...] = ()
) -> Callable[[Callable[[int, Pieces], Any]], SquareCount]:
    """Makes a block with a feature for the number of squares, up to a limit, of each such set.

    The function is that of :func:`square_set`; with several sections it returns a tuple of sets.

    Raises
    ------
    UserError
        When the name is malformed, or the source has not one set for each section.
    """

    def make(contribution: Callable[[int, Pieces], Any]) -> SquareCount:
        file = Path(inspect.getfile(contribution))
        check_definition(file, name, *aliases)
        _check_source(file, name, source, len(sections))
        if any(len(section.most) != 6 or min(section.most) < 0 for section in sections):
            raise UserError(f"{file}: block {name}: `most` is a number for each of the six roles")
        return SquareCount(
            name=name,
            concepts=(COUNTS, ROLES, COLORS),
            definition=definition_of(contribution),
            file=file,
            aliases=aliases,
            contribution=contribution,
            sections=sections,
            source=source,
        )

    return make
