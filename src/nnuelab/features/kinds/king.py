"""Blocks about one piece, its square, and the square of the own king.

As long as the king stays, such a block is a piece-square block. King squares for which it is the
same one form a class; where the class changes, a refresh is due.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.algebra import Block, check_rows
from nnuelab.features.answers import Classes, Tabulated
from nnuelab.features.concepts import OWN, SQUARES, Concept
from nnuelab.features.kinds.piece_square import rows_of
from nnuelab.features.kinds.tabulated import piece_name
from nnuelab.features.legality import LEGAL_PLACES, NEAR, Seen, most_active
from nnuelab.features.records import ENEMY_KING, OWN_KING, PIECES, SQUARES_ON_BOARD

KingPiecePredicate = Callable[[int, int, int, int], "tuple[int, ...] | int | None"]


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
            what = f"{self.file}: block {self.name}, own king on {SQUARES.values[king]}"
            return rows_of(what, self.concepts, partial(self.predicate, king))

        rows = np.stack([with_king(king) for king in range(SQUARES_ON_BOARD)])
        check_rows(f"{self.file}: block {self.name}", rows[:, LEGAL_PLACES], self.predicate)
        return rows

    @cached_property
    def class_of(self) -> np.ndarray:
        """int64[64]: class of each square of the own king."""
        flat = self.rows.reshape(SQUARES_ON_BOARD, -1)
        return np.unique(flat, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

    def tabulated(self) -> Tabulated:
        _, first = np.unique(self.class_of, return_index=True)
        return Tabulated([self.rows[king] for king in first], self.class_of)

    def alive(self) -> np.ndarray:
        alive = np.zeros(self.size, dtype=bool)
        for king in range(SQUARES_ON_BOARD):
            legal = LEGAL_PLACES.copy()
            legal[:, king] = False
            legal[OWN_KING] = np.arange(SQUARES_ON_BOARD) == king
            legal[ENEMY_KING] &= ~NEAR[king]
            alive[self.rows[king][legal & (self.rows[king] >= 0)]] = True
        return alive

    @property
    def alive_is_exact(self) -> bool:
        return True

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
        return max(most_active(rows) for rows in self.tabulated().tables)

    def classes(self) -> Classes:
        return Classes(own=self.class_of)

    def shared(self, every: bool) -> np.ndarray:
        numbers = None if every else self._buckets()
        return super().shared(every) if numbers is None else numbers[:, None]

    def _buckets(self) -> np.ndarray | None:
        """int64[size]: features of one number differ in the value of ``shared_by`` alone."""
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
        return self.rows, self._buckets()


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

    def own(what: str, predicate: KingPiecePredicate) -> Mapping[str, Any]:
        if not concepts:
            raise UserError(f"{what}: name at least one concept")
        return {"predicate": predicate, "shared_by": shared_by}

    return KingPiece.define(name, concepts, aliases, own)
