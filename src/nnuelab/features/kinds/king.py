"""Blocks about one piece, its square, and the square of the own king.

As long as the king stays, such a block is a piece-square block. King squares for which it is the
same one form a class; where the class changes, a refresh is due.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.block import (
    PIECES,
    SQUARES_ON_BOARD,
    Block,
    Classes,
    Kernels,
    Seen,
    check_definition,
    check_rows,
    definition_of,
)
from nnuelab.features.concepts import KING, OWN, SQUARES, Concept
from nnuelab.features.kinds.piece_square import LEGAL_PLACES, NEAR, most_active, piece_name, rows_of

KingPiecePredicate = Callable[[int, int, int, int], "tuple[int, ...] | int | None"]
OWN_KING, ENEMY_KING = 2 * KING, 2 * KING + 1


@dataclass(frozen=True, eq=False, kw_only=True)
class KingPiece(Block):
    """A block of king-piece features.

    Attributes
    ----------
    predicate : function
        What feature a piece on a square makes active, by the square of the own king.
    shared_by : Concept, optional
        Features that only differ in its value share weights in training.
    """

    predicate: KingPiecePredicate = field(repr=False)
    shared_by: Concept | None = None

    @cached_property
    def rows(self) -> np.ndarray:
        """int32[64, 12, 64]: feature by square of the own king, piece and square, -1 for none."""

        def with_king(king: int) -> np.ndarray:
            def predicate(square: int, role: int, color: int) -> tuple[int, ...] | int | None:
                return self.predicate(king, square, role, color)

            what = f"{self.file}: block {self.name}, own king on {SQUARES.values[king]}"
            return rows_of(what, self.concepts, predicate)

        rows = np.stack([with_king(king) for king in range(SQUARES_ON_BOARD)])
        check_rows(f"{self.file}: block {self.name}", rows[:, LEGAL_PLACES], self.predicate)
        return rows

    @cached_property
    def class_of(self) -> np.ndarray:
        """int64[64]: class of each square of the own king."""
        flat = self.rows.reshape(SQUARES_ON_BOARD, -1)
        return np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

    @property
    def tables(self) -> list[np.ndarray]:
        """int32[12, 64] of each class."""
        _, first = np.unique(self.class_of, return_index=True)
        return [self.rows[king] for king in first]

    def alive(self) -> np.ndarray:
        alive = np.zeros(self.size, dtype=bool)
        for king in range(SQUARES_ON_BOARD):
            legal = LEGAL_PLACES.copy()
            legal[:, king] = False
            legal[OWN_KING] = np.arange(SQUARES_ON_BOARD) == king
            legal[ENEMY_KING] &= ~NEAR[king]
            alive[self.rows[king][legal & (self.rows[king] >= 0)]] = True
        return alive

    @cached_property
    def _pieces(self) -> np.ndarray:
        """bool[size, 12]: the pieces that make a feature active on any square, legal or not."""
        found = np.zeros((self.size, PIECES), dtype=bool)
        for piece in range(PIECES):
            rows = self.rows[:, piece]
            found[rows[rows >= 0], piece] = True
        return found

    @cached_property
    def max_active(self) -> int:
        return max(most_active(rows) for rows in self.tables)

    def classes(self) -> Classes:
        return Classes(own=self.class_of)

    def virtual(self) -> np.ndarray | None:
        if self.shared_by is None:
            return None
        shape = [concept.size for concept in self.concepts]
        others = [1 if concept is self.shared_by else concept.size for concept in self.concepts]
        numbers = np.arange(np.prod(others)).reshape(others)
        return np.ascontiguousarray(np.broadcast_to(numbers, shape)).reshape(-1)

    def feature_name(self, index: int) -> str:
        pieces = np.flatnonzero(self._pieces[index])
        return piece_name(self.concepts, self.values(index), pieces)

    def defined(self, seen: Seen) -> list[int]:
        king = seen.king(OWN)
        found = (
            int(self.rows[king, 2 * role + color, square])
            for square, (role, color) in seen.pieces.items()
        )
        return list({feature for feature in found if feature >= 0})

    def meaning(self) -> tuple[Any, ...]:
        return self.rows, self.virtual()

    def kernels(self) -> Kernels:
        from nnuelab.features.kinds import king_kernels
        from nnuelab.features.tables import PIECE_SQUARE, piece_square_tables
        from nnuelab.jit import address

        made = [piece_square_tables([(rows, 0)]) for rows in self.tables]
        blocks = np.array([record for record, _ in made], PIECE_SQUARE)
        squares = np.arange(SQUARES_ON_BOARD)
        classes = np.stack([self.class_of, self.class_of[squares ^ 56]])
        data = np.zeros(1, king_kernels.KING_PIECE)
        data["n"], data["blocks"], data["classes"] = len(blocks), address(blocks), address(classes)
        owned = (blocks, classes, made)
        return Kernels(king_kernels.active, king_kernels.changes, data, owned=owned)


def king_piece(
    name: str,
    *concepts: Concept,
    shared_by: Concept | None = None,
    aliases: tuple[str, ...] = (),
) -> Callable[[KingPiecePredicate], KingPiece]:
    """Makes a block of a function that says which feature a piece makes active, given the own king.

    The function takes (square of the own king, square, role, colour 0 own / 1 enemy), all seen from
    the perspective, and returns one value for each concept, in their order, or None. The own king
    is a piece, too. Values that are wrong are found when the block is first used.

    Parameters
    ----------
    shared_by : Concept, optional
        Features that only differ in its value share weights in training, besides their own: what is
        learned of a piece on a square with the king in one place serves for the other places.

    >>> @king_piece("KA", KING_SQUARES, FILES, RANKS, ROLES, COLORS)
    ... def ka(king, square, role, color):
    ...     \"\"\"A piece of role r and colour c stands on the square, the own king on k.\"\"\"
    ...     return king, file_of(square), rank_of(square), role, color

    Raises
    ------
    UserError
        When the name is malformed.
    """

    def make(predicate: KingPiecePredicate) -> KingPiece:
        file = Path(inspect.getfile(predicate))
        check_definition(file, name, *aliases)
        if not concepts:
            raise UserError(f"{file}: block {name}: name at least one concept")
        return KingPiece(
            name=name,
            concepts=concepts,
            definition=definition_of(predicate),
            file=file,
            aliases=aliases,
            predicate=predicate,
            shared_by=shared_by,
        )

    return make
