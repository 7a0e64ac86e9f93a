"""Blocks about one piece on its square and one square that it acts on.

Only what a piece can reach on an empty board has features. Those are numbered in the order of the
piece's role, colour and square, of the role and colour of what stands on the target where that
counts, and of the target.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.features.block import Block, Kernels, Seen, check_definition, definition_of
from nnuelab.features.concepts import (
    COLOR_NAMES,
    COLORS,
    KING,
    OWN,
    PAWN,
    ROLE_NAMES,
    ROLES,
    SQUARES,
    Concept,
    rank_of,
)
from nnuelab.features.kinds.attacks import MOST_PAIRS, Pieces, attacked_by
from nnuelab.jit import address

MOST_THREATS = 256
"""Bound of the pairs of a piece and a piece that it attacks: each of 32 attacks at most eight."""

FROM, TO = Concept("FROM", SQUARES.values), Concept("TO", SQUARES.values)
VICTIM_ROLES = Concept("VICTIM_ROLES", ROLES.values)
VICTIM_COLORS = Concept("VICTIM_COLORS", COLORS.values)
MOVE = ROLES, COLORS, FROM, TO
THREAT = ROLES, COLORS, FROM, VICTIM_ROLES, VICTIM_COLORS, TO

_PIECES = tuple(product(range(6), range(2)))  # (role, colour) by code


def _reach(role: int, color: int, square: int, pushes: bool) -> list[int]:
    """Squares that a piece attacks, or can go to, on an otherwise empty board, ascending."""
    if role == PAWN and rank_of(square) in (0, 7):
        return []
    found = attacked_by(role, color, square, {})
    if role == PAWN and pushes:
        found.add(square + (8 if color == OWN else -8))
    return sorted(found)


def _is_threat(role: int, color: int, victim: int, side: int, target: int) -> bool:
    """Whether such a victim can be on the target; nobody defends a king, no king attacks one."""
    if victim == KING:
        return role != KING and side != color
    return victim != PAWN or rank_of(target) not in (0, 7)


def _name(role: int, color: int, square: int) -> str:
    return f"{COLOR_NAMES[color]} {ROLE_NAMES[role]} on {SQUARES.values[square]}"


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceTarget(Block):
    """A feature for a piece, its square, and a square that it acts on, or the piece there.

    Attributes
    ----------
    targets : function
        Takes a square and all pieces, (role, colour) by square; returns the squares that the piece
        there acts on.
    """

    targets: Callable[[int, Pieces], Collection[int]]

    @property
    def has_victims(self) -> bool:
        """Whether what stands on the target counts, and there has to be something."""
        return self.concepts == THREAT

    @cached_property
    def _values(self) -> np.ndarray:
        """int8[size, concepts]: the tuple of concept values of every feature."""
        found: list[tuple[int, ...]] = []
        for (role, color), square in product(_PIECES, range(64)):
            reach = _reach(role, color, square, pushes=not self.has_victims)
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

    @property
    def max_active(self) -> int:
        return MOST_THREATS if self.has_victims else MOST_PAIRS

    def values(self, index: int) -> tuple[int, ...]:
        return tuple(self._values[index].tolist())

    def feature_name(self, index: int) -> str:
        role, color, square, *victim, target = self.values(index)
        piece = _name(role, color, square)
        if not victim:
            return f"{piece} can move to {SQUARES.values[target]}"
        verb = "defends" if victim[1] == color else "attacks"
        return f"{piece} {verb} {_name(victim[0], victim[1], target)}"

    def defined(self, seen: Seen) -> list[int]:
        found = []
        for square, (role, color) in seen.pieces.items():
            for target in self.targets(square, seen.pieces):
                victim = seen.pieces[target] if self.has_victims else ()
                index = self._index.get((role, color, square, *victim, target))
                if index is not None:
                    found.append(index)
        return found

    def meaning(self) -> tuple[Any, ...]:
        return self._values, self.targets

    def kernels(self) -> Kernels:
        from nnuelab.features.kinds import targets_kernels as jitted

        victims = len(_PIECES) if self.has_victims else 1
        values = self._values.astype(np.int64)
        piece, square, target = 2 * values[:, 0] + values[:, 1], values[:, 2], values[:, -1]
        victim = 2 * values[:, 3] + values[:, 4] if self.has_victims else np.zeros_like(piece)
        reach = np.zeros((len(_PIECES), 64), np.uint64)
        np.bitwise_or.at(reach, (piece, square), np.uint64(1) << target.astype(np.uint64))
        places, numbers = np.unique((piece * 64 + square) * victims + victim, return_index=True)
        first = np.full(len(_PIECES) * 64 * victims, -1, np.int32)
        first[places] = numbers
        data = np.zeros(1, jitted.TARGETS)
        data["victims"], data["reach"], data["first"] = victims, address(reach), address(first)
        return Kernels(
            jitted.active, jitted.changes, data, turned=self._turned(), owned=(reach, first)
        )

    def _turned(self) -> np.ndarray:
        turned = self._values.copy()
        turned[:, [2, -1]] ^= 56
        turned[:, 1] ^= 1
        if self.has_victims:
            turned[:, 4] ^= 1
        return np.array([self._index[tuple(values)] for values in turned.tolist()], np.int32)


def piece_target(
    name: str, *concepts: Concept, aliases: tuple[str, ...] = ()
) -> Callable[[Callable[[int, Pieces], Collection[int]]], PieceTarget]:
    """Makes a block of the moves (concepts ``*MOVE``) or threats (``*THREAT``) of single pieces.

    The function takes a square 0..63 and all pieces, (role, colour) by square, seen from the
    perspective, and returns the squares that the piece there acts on: for the first
    :func:`~nnuelab.features.kinds.attacks.moves`, for the other those of ``attacks`` that hold a
    piece. Its docstring is the definition that ``nnuelab features list`` shows.

    Raises
    ------
    UserError
        When the name is malformed.
    """

    def make(targets: Callable[[int, Pieces], Collection[int]]) -> PieceTarget:
        file = Path(inspect.getfile(targets))
        check_definition(file, name, *aliases)
        return PieceTarget(
            name=name,
            concepts=concepts,
            definition=definition_of(targets),
            file=file,
            aliases=aliases,
            targets=targets,
        )

    return make
