"""Blocks about one piece on its square and one square that it acts on, or the piece there.

Only what the definition can say of a piece on any board has features. Those are numbered in the
order of the piece's role, colour and square, of the role and colour of what stands on the target
where that counts, and of the target.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from nnuelab.features.algebra import Block, kernels_by
from nnuelab.features.answers import Kernels, Tuples
from nnuelab.features.concepts import (
    COLORS,
    KING,
    PAWN,
    ROLES,
    SQUARES,
    Concept,
    rank_of,
)
from nnuelab.features.kinds.tracing import Squares, board_of, program, trace
from nnuelab.features.legality import Seen, place_name
from nnuelab.features.records import (
    AND,
    MOST_PIECES,
    PIECE,
    PIECES,
    SQUARES_ON_BOARD,
    TARGETS,
    UNION,
)
from nnuelab.jit import address

MOST_THREATS = 256
"""Bound of the pairs of a piece and a piece that it attacks: each of 32 attacks at most eight."""

FROM, TO = Concept("FROM", SQUARES.values), Concept("TO", SQUARES.values)
VICTIM_ROLES = Concept("VICTIM_ROLES", ROLES.values)
VICTIM_COLORS = Concept("VICTIM_COLORS", COLORS.values)
MOVE = ROLES, COLORS, FROM, TO
THREAT = ROLES, COLORS, FROM, VICTIM_ROLES, VICTIM_COLORS, TO

_PIECES = tuple(product(range(6), range(2)))  # (role, colour) by code


def _is_threat(role: int, color: int, victim: int, side: int, target: int) -> bool:
    """Whether such a victim can be on the target; nobody defends a king, no king attacks one."""
    if victim == KING:
        return role != KING and side != color
    return victim != PAWN or rank_of(target) not in (0, 7)


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceTarget(Block):
    """A feature for a piece, its square, and a square that it acts on, or the piece there.

    Attributes
    ----------
    targets : function
        Takes a square and all pieces, (role, colour) by square; returns the squares that the piece
        there acts on.
    phrases : tuple of str
        What it does, for names; with two, what stands on the target counts: what the piece does to
        an own and to an enemy one.
    traced : list of Squares [12]
        The same as expressions.
    """

    jitted = ("targets", "sources")

    targets: Callable[[Any, Any], Any]
    phrases: tuple[str, ...]
    traced: list[Squares] = field(repr=False)

    @property
    def has_victims(self) -> bool:
        """Whether what stands on the target counts, and there has to be something."""
        return len(self.phrases) == 2

    @cached_property
    def _reach(self) -> np.ndarray:
        """uint64[12, 64]: what a piece on a square can act on, on any board."""
        return np.array([squares.reach for squares in self.traced], np.uint64)

    @cached_property
    def _values(self) -> np.ndarray:
        """int8[size, concepts]: the tuple of concept values of every feature."""
        found: list[tuple[int, ...]] = []
        for (role, color), square in product(_PIECES, range(SQUARES_ON_BOARD)):
            bits = int(self._reach[2 * role + color, square])
            reach = [target for target in range(SQUARES_ON_BOARD) if bits >> target & 1]
            if not self.has_victims:
                found += [(role, color, square, target) for target in reach]
                continue
            for victim, side in _PIECES:
                found += [
                    (role, color, square, victim, side, target)
                    for target in reach
                    if _is_threat(role, color, victim, side, target)
                ]
        return np.array(found, np.int8)

    @cached_property
    def _index(self) -> dict[tuple[int, ...], int]:
        return {tuple(values): i for i, values in enumerate(self._values.tolist())}

    @property
    def size(self) -> int:
        return len(self._values)

    @property
    def formula(self) -> str:
        return f"possible {super().formula}"

    @cached_property
    def _near(self) -> bool:
        """Whether it is about attacks on pieces, or moves: jitted code has a short way for them."""
        wanted = (
            [(PIECE, "attacks"), (UNION, "standing"), (AND, "")]
            if self.has_victims
            else [(PIECE, "moves")]
        )
        everywhere = (1 << PIECES) - 1
        return all(
            [(kind, name) for kind, name, _ in squares.code] == wanted
            and [pieces for kind, _, pieces in squares.code if kind <= UNION]
            == [1 << piece, everywhere][: 1 + self.has_victims]
            for piece, squares in enumerate(self.traced)
        )

    @property
    def max_active(self) -> int:
        most = max(squares.most for squares in self.traced)
        if not self.has_victims:
            return min(most, self.size)
        return MOST_THREATS if self._near else min(most, MOST_PIECES**2, self.size)

    @property
    def alive_is_exact(self) -> bool:
        return self._near

    def values(self, index: int) -> tuple[int, ...]:
        return tuple(self._values[index].tolist())

    def tuples(self) -> list[Tuples]:
        return [Tuples("", self.concepts, self._values.astype(np.int64), np.arange(self.size))]

    def feature_name(self, index: int) -> str:
        role, color, square, *victim, target = self.values(index)
        piece = place_name((2 * role + color) * SQUARES_ON_BOARD + square)
        if not victim:
            return f"{piece} {self.phrases[0]} {SQUARES.values[target]}"
        other = place_name((2 * victim[0] + victim[1]) * SQUARES_ON_BOARD + target)
        return f"{piece} {self.phrases[victim[1] != color]} {other}"

    def defined(self, seen: Seen) -> list[int]:
        found, board = [], board_of(seen)
        for square, (role, color) in board.items():
            for target in self.targets(square, board):
                if self.has_victims and target not in board:
                    continue
                victim = board[target] if self.has_victims else ()
                index = self._index.get((role, color, square, *victim, target))
                if index is not None:
                    found.append(index)
        return found

    def meaning(self) -> tuple[Any, ...]:
        return self._values, self.targets

    def kernels(self) -> Kernels:
        jitted = kernels_by("targets")
        victims = len(_PIECES) if self.has_victims else 1
        values = self._values.astype(np.int64)
        piece, square = 2 * values[:, 0] + values[:, 1], values[:, 2]
        victim = 2 * values[:, 3] + values[:, 4] if self.has_victims else np.zeros_like(piece)
        places, numbers = np.unique((piece * 64 + square) * victims + victim, return_index=True)
        first = np.full(len(_PIECES) * 64 * victims, -1, np.int32)
        first[places] = numbers
        made = program(self.traced, keep=False)
        data = np.zeros(1, TARGETS)
        data["sets"] = made.data[0]
        data["victims"] = victims
        data["reach"], data["first"] = address(self._reach), address(first)
        near = jitted.near_active, jitted.near_changes
        active, changes = near if self._near else (jitted.active, jitted.changes)
        return Kernels(
            active,
            changes,
            data,
            turned=self._turned(),
            state=made.state,
            owned=(made.owned, self._reach, first),
        )

    def mirror_images(self) -> np.ndarray | None:
        if any(name == "castling" for squares in self.traced for _, name, _ in squares.code):
            return None
        mirrored = self._values.copy()
        mirrored[:, [2, -1]] ^= 7
        return np.array([self._index[tuple(values)] for values in mirrored.tolist()], np.int64)

    def _turned(self) -> np.ndarray:
        turned = self._values.copy()
        turned[:, [2, -1]] ^= 56
        turned[:, 1] ^= 1
        if self.has_victims:
            turned[:, 4] ^= 1
        return np.array([self._index[tuple(values)] for values in turned.tolist()], np.int32)


def piece_target(
    name: str, *phrases: str, aliases: tuple[str, ...] = ()
) -> Callable[[Callable[[Any, Any], Any]], PieceTarget]:
    """Makes a block of single pieces with the squares, or with the pieces, that they act on.

    The function is that of :func:`~nnuelab.features.square_set`: it takes a square
    and all pieces, and returns the squares that the piece there acts on, made of sources with
    ``&``, ``|`` and ``-`` between them. Its docstring is the definition that ``nnuelab features
    list`` shows.

    Parameters
    ----------
    phrases : str
        What a piece does, for names: ``can move to``. With two of them, what it does to an own and
        to an enemy piece (``defends``, ``attacks``): then only pieces are targets, and which they
        are counts. What is done to the own king never does, nor what a king does to the other.

    >>> @piece_target("XR", "shields", "looks through to")
    ... def x_rays(square, pieces):
    ...     \"\"\"A slider of role r and colour c attacks a piece through another one.\"\"\"
    ...     return xrays(square, pieces) & pieces.keys()

    Raises
    ------
    UserError
        When the name is malformed, or the definition can't be traced.
    """

    def own(what: str, targets: Callable[[Any, Any], Any]) -> Mapping[str, Any]:
        return {"targets": targets, "phrases": phrases, "traced": trace(what, targets, 1)}

    return PieceTarget.define(name, THREAT if len(phrases) == 2 else MOVE, aliases, own)
