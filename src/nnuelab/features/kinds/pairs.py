"""Blocks about pairs of pieces on their squares, out of a list."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.algebra import Block, check_definition, definition_of, kernels_by
from nnuelab.features.answers import Kernels, Tuples
from nnuelab.features.concepts import COLORS, KING, ROLES, SQUARES, Concept
from nnuelab.features.legality import Seen, compatible_places, place_name, turned_places
from nnuelab.features.records import (
    MOST_PIECES,
    PAIRS,
    PARTNERS,
    PIECES,
    PLACES,
    SQUARES_ON_BOARD,
)

Place = tuple[int, int, int]
"""Role, colour (0 own, 1 enemy) and square of a piece."""

_PLACE: tuple[Concept, ...] = (ROLES, COLORS, SQUARES)


@dataclass(frozen=True, eq=False, kw_only=True)
class Pairs(Block):
    """A block with a feature for each of some unordered pairs of pieces on different squares.

    Attributes
    ----------
    pairs : int32[size, 2]
        Piece-squares ((role * 2 + colour) * 64 + square) of each feature.
    data_files : dict
        Content of the file that the pairs come from, by its name.
    """

    jitted = ("pairs",)

    pairs: np.ndarray = field(repr=False)
    data_files: dict[str, str] = field(default_factory=dict, repr=False)

    @property
    def size(self) -> int:
        return len(self.pairs)

    @property
    def formula(self) -> str:
        return "PAIRS OF PIECES ON SQUARES"

    @property
    def contents(self) -> dict[str, str]:
        return self.data_files

    @cached_property
    def max_active(self) -> int:
        pieces = np.unique(self.pairs // SQUARES_ON_BOARD)
        kings = int((pieces >= 2 * KING).sum())
        others = MOST_PIECES - 2 if (pieces < 2 * KING).any() else 0
        return min(self.size, (kings + others) * (kings + others - 1) // 2)

    def alive(self) -> np.ndarray:
        alive: np.ndarray = compatible_places()[self.pairs[:, 0], self.pairs[:, 1]]
        return alive

    @property
    def alive_is_exact(self) -> bool:
        return True

    def tuples(self) -> list[Tuples]:
        places = np.stack(np.unravel_index(self.pairs, (6, 2, SQUARES_ON_BOARD)), axis=2)
        both = np.concatenate([places.reshape(-1, 6), places[:, ::-1].reshape(-1, 6)])
        return [Tuples("", _PLACE * 2, both, np.tile(np.arange(self.size), 2))]

    def shared(self, every: bool) -> np.ndarray:
        """Pairs with a piece in common share its row."""
        return self.pairs.astype(np.int64) if every else super().shared(every)

    def feature_name(self, index: int) -> str:
        return " and ".join(place_name(int(place)) for place in self.pairs[index])

    def defined(self, seen: Seen) -> list[int]:
        there = [
            (2 * role + color) * SQUARES_ON_BOARD + square
            for square, (role, color) in seen.pieces.items()
        ]
        found = (self._numbers.get(frozenset(pair)) for pair in combinations(there, 2))
        return [number for number in found if number is not None]

    def meaning(self) -> tuple[Any, ...]:
        return (self.pairs,)

    def kernels(self) -> Kernels:
        from nnuelab.jit import address

        partners = np.zeros((2, PLACES), PARTNERS)
        rows = np.zeros((2, 2 * self.size), np.int32)
        for perspective in range(2):
            seen = turned_places(self.pairs) if perspective else self.pairs
            both = np.concatenate([seen, seen[:, ::-1]])
            order = np.lexsort((both[:, 1], both[:, 0]))
            rows[perspective] = order % self.size
            pieces, squares = np.divmod(both[order, 1], SQUARES_ON_BOARD)
            found = partners[perspective]
            bits = np.uint64(1) << squares.astype(np.uint64)
            np.bitwise_or.at(found["squares"], (both[order, 0], pieces), bits)
            np.bitwise_or.at(found["pieces"], both[order, 0], 1 << pieces)
            # Partners of a place follow each other by piece, then by square.
            counts = np.bincount(both[:, 0] * PIECES + both[:, 1] // 64, minlength=PLACES * PIECES)
            starts = np.cumsum(counts) - counts
            found["starts"] = starts.reshape(PLACES, PIECES)
        data = np.zeros(1, PAIRS)
        data["n"], data["partners"], data["rows"] = self.size, address(partners), address(rows)
        jitted = kernels_by("pairs")
        return Kernels(
            jitted.active,
            jitted.changes,
            data,
            turned=self._turned(),
            owned=(partners, rows),
        )

    def _turned(self) -> np.ndarray | None:
        """Black's features by those of White; None when a pair's mirror image isn't in the list."""
        return self._images(turned_places(self.pairs), np.int32)

    def mirror_images(self) -> np.ndarray | None:
        return self._images(self.pairs ^ 7, np.int64)

    def _images(self, pairs: np.ndarray, dtype: Any) -> np.ndarray | None:
        images = [self._numbers.get(frozenset(pair)) for pair in pairs.tolist()]
        return None if None in images else np.array(images, dtype)

    @cached_property
    def _numbers(self) -> dict[frozenset[int], int]:
        return {frozenset(pair): i for i, pair in enumerate(self.pairs.tolist())}


def pairs_of(
    name: str,
    pairs: Iterable[tuple[Place, Place]],
    definition: str,
    file: Path,
) -> Pairs:
    """A block of a list of pairs; their order is that of the features.

    Raises
    ------
    UserError
        When there is none, or one is not a pair of pieces on different squares, or is listed twice.
    """
    found: dict[tuple[int, int], None] = {}
    for pair in pairs:
        places = []
        for role, color, square in pair:
            whole = all(isinstance(value, int | np.integer) for value in (role, color, square))
            if not whole or not (
                0 <= role < 6 and 0 <= color < 2 and 0 <= square < SQUARES_ON_BOARD
            ):
                raise UserError(f"{file}: {name}: there is no (role, colour, square) of {pair}")
            places.append((2 * role + color) * SQUARES_ON_BOARD + square)
        a, b = sorted(places)
        if a % SQUARES_ON_BOARD == b % SQUARES_ON_BOARD:
            where = SQUARES.values[a % SQUARES_ON_BOARD]
            raise UserError(f"{file}: {name}: both pieces of a pair stand on {where}")
        if (a, b) in found:
            raise UserError(
                f"{file}: {name}: the pair {place_name(a)}, {place_name(b)} is listed twice"
            )
        found[a, b] = None
    if not found:
        raise UserError(f"{file}: {name}: there are no pairs")
    return Pairs(
        name=name,
        concepts=(),
        definition=definition,
        file=file,
        pairs=np.array(list(found), np.int32),
    )


def piece_pairs(name: str) -> Callable[[Callable[[], Iterable[tuple[Place, Place]]]], Pairs]:
    """Makes a block of a function that lists pairs of (role, colour 0 own / 1 enemy, square).

    A feature is active when both pieces stand there. The order within a pair doesn't matter.

    >>> @piece_pairs("DUO")
    ... def duos():
    ...     \"\"\"Two own pawns stand side by side.\"\"\"
    ...     squares = [s for s in range(8, 56) if file_of(s) < 7]
    ...     return [((PAWN, OWN, square), (PAWN, OWN, square + 1)) for square in squares]

    Raises
    ------
    UserError
        When the name is malformed, or the list isn't one (see :func:`pairs_of`).
    """

    def make(function: Callable[[], Iterable[tuple[Place, Place]]]) -> Pairs:
        file = Path(inspect.getfile(function))
        check_definition(file, name)
        return pairs_of(name, function(), definition_of(function), file)

    return make
