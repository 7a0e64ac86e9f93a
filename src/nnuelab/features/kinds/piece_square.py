"""Blocks about one piece and its square.

The predicate is evaluated once for each of the 768 possibilities. What results, a row number for
each piece and square, is all that extraction, incremental updates, names, dead features and bounds
need. A feature may belong to several squares (a file) or several pieces (a colour): it is active
when at least one of its pieces stands on one of its squares, and active once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from nnuelab.errors import UserError, raised
from nnuelab.features.algebra import Block, check_rows
from nnuelab.features.answers import Classes, Tabulated
from nnuelab.features.concepts import (
    COLOR_NAMES,
    ROLE_NAMES,
    SQUARES,
    Concept,
    stride_index,
)
from nnuelab.features.kinds.tabulated import piece_name
from nnuelab.features.legality import LEGAL_PLACES, Seen, most_active
from nnuelab.features.records import ENEMY_KING, OWN_KING, PIECES, SQUARES_ON_BOARD

PieceSquarePredicate = Callable[[int, int, int], "tuple[int, ...] | int | None"]


@dataclass(frozen=True, eq=False, kw_only=True)
class PieceSquare(Block):
    """A block of piece-square features.

    Attributes
    ----------
    rows : ndarray of int32 [12, 64]
        Index of the feature that a piece (role * 2 + colour, 0 own, 1 enemy) makes active on
        a square; -1 where it makes none.
    """

    rows: np.ndarray = field(repr=False)

    def tabulated(self) -> Tabulated:
        return Tabulated([self.rows], np.zeros(SQUARES_ON_BOARD, np.int64))

    @cached_property
    def members(self) -> np.ndarray:
        """bool[size, 12, 64]: which pieces on which squares make a feature active, legal or not."""
        members = np.zeros((self.size, PIECES, SQUARES_ON_BOARD), dtype=bool)
        pieces, squares = np.nonzero(self.rows >= 0)
        members[self.rows[pieces, squares], pieces, squares] = True
        return members

    def places(self) -> np.ndarray:
        return self.members & LEGAL_PLACES

    def alive(self) -> np.ndarray:
        return np.asarray(self.places().any(axis=(1, 2)))

    @property
    def alive_is_exact(self) -> bool:
        return True

    @cached_property
    def max_active(self) -> int:
        return most_active(self.rows)

    def mirror_images(self) -> np.ndarray | None:
        there = self.rows >= 0
        images = self.rows[:, np.arange(SQUARES_ON_BOARD) ^ 7]
        found = np.full(self.size, -1, np.int64)
        found[self.rows[there]] = images[there]
        # A diagonal becomes one of the other direction, in parts.
        known = (found[self.rows[there]] == images[there]).all() and (images[there] >= 0).all()
        return np.where(found < 0, np.arange(self.size), found) if known else None

    def factor_classes(self) -> Classes:
        """A factor about one king alone: every tuple of the product has to do with its square."""
        if self.pieces == {OWN_KING}:
            return Classes(own=self.rows[OWN_KING].astype(np.int64))
        if self.pieces == {ENEMY_KING}:
            return Classes(enemy=self.rows[ENEMY_KING].astype(np.int64))
        return Classes()

    @property
    def pieces(self) -> set[int]:
        """The pieces (role * 2 + colour) that make any of the features active."""
        return set(np.nonzero((self.rows >= 0).any(axis=1))[0].tolist())

    def feature_name(self, index: int) -> str:
        """``own pawn on file e``: the piece, then the other concepts' values.

        What the concepts don't tell about the piece is read off the pieces that make the feature
        active, so a block of SQUARES alone that holds for the own king says "own king on e1".
        """
        pieces = np.flatnonzero(self.members[index].any(axis=1))
        return piece_name(self.concepts, self.values(index), pieces)

    def defined(self, seen: Seen) -> list[int]:
        rows = [self.rows[2 * role + color, s] for s, (role, color) in seen.pieces.items()]
        return list({int(row) for row in rows if row >= 0})

    def meaning(self) -> tuple[Any, ...]:
        return (self.rows,)


def piece_square(
    name: str, *concepts: Concept, aliases: tuple[str, ...] = ()
) -> Callable[[PieceSquarePredicate], PieceSquare]:
    """Makes a block of a function that says which feature a piece on a square makes active.

    The function takes (square 0..63, role 0..5, colour 0 own / 1 enemy), seen from the perspective,
    and returns one value for each concept, in their order, or None when the piece makes no feature
    active there. Its docstring is the definition that ``nnuelab features list`` shows.

    >>> @piece_square("H", FILES, ROLES, COLORS)
    ... def h(square, role, color):
    ...     \"\"\"A piece of role r and colour c stands on file f.\"\"\"
    ...     return file_of(square), role, color

    Raises
    ------
    UserError
        When the name is malformed, a value is out of its concept's range, or all are None.
    """

    def own(what: str, predicate: PieceSquarePredicate) -> Mapping[str, Any]:
        rows = rows_of(what, concepts, predicate)
        check_rows(what, rows[LEGAL_PLACES], predicate)
        return {"rows": rows}

    return PieceSquare.define(name, concepts, aliases, own)


def rows_of(
    what: str, concepts: tuple[Concept, ...], predicate: PieceSquarePredicate
) -> np.ndarray:
    """int32[12, 64]: the feature of each piece on each square by a predicate, -1 for none.

    Raises
    ------
    UserError
        When the predicate fails or returns no value of the concepts; ``what`` says whose it is.
    """
    if not concepts:
        raise UserError(f"{what}: name at least one concept")
    rows = np.full((PIECES, SQUARES_ON_BOARD), -1, dtype=np.int32)
    for role in range(6):
        for color in range(2):
            for square in range(SQUARES_ON_BOARD):
                try:
                    values = predicate(square, role, color)
                    if values is not None:
                        rows[role * 2 + color, square] = stride_index(concepts, values)
                except Exception as error:
                    piece = f"{COLOR_NAMES[color]} {ROLE_NAMES[role]}"
                    raise UserError(
                        f"{what}, {piece} on {SQUARES.values[square]}: {raised(error, predicate)}"
                    ) from error
    return rows
