"""Blocks about one piece and its square.

The predicate is evaluated once for each of the 768 possibilities. What results, a row number for
each piece and square, is all that extraction, incremental updates, names, dead features and bounds
need. A feature may belong to several squares (a file) or several pieces (a colour): it is active
when at least one of its pieces stands on one of its squares, and active once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError, one_line
from nnuelab.features.block import (
    MOST_PIECES,
    PIECES,
    SQUARES_ON_BOARD,
    Block,
    Classes,
    Kernels,
    Seen,
    check_definition,
    check_rows,
    definition_of,
    stride_index,
)
from nnuelab.features.concepts import (
    COLOR_NAMES,
    COLORS,
    ENEMY,
    FILES,
    KING,
    OWN,
    PAWN,
    RANKS,
    ROLE_NAMES,
    ROLES,
    SQUARES,
    Concept,
    file_of,
    rank_of,
)

PieceSquarePredicate = Callable[[int, int, int], "tuple[int, ...] | int | None"]


def _legal_places() -> np.ndarray:
    """bool[12, 64]: whether a piece (role * 2 + colour) can stand on a square at all."""
    places = np.ones((PIECES, SQUARES_ON_BOARD), dtype=bool)
    for color in range(2):
        for square in range(SQUARES_ON_BOARD):
            places[PAWN * 2 + color, square] = rank_of(square) not in (0, 7)
    return places


LEGAL_PLACES = _legal_places()
NEAR = np.array(
    [
        [max(abs(file_of(a) - file_of(b)), abs(rank_of(a) - rank_of(b))) <= 1 for b in range(64)]
        for a in range(64)
    ]
)
"""bool[64, 64]: whether two squares are neighbours, or the same."""


@cache
def compatible_places() -> np.ndarray:
    """bool[768, 768]: which piece-squares (piece * 64 + square) a legal position can have."""
    pieces, squares = np.divmod(np.arange(PIECES * SQUARES_ON_BOARD), SQUARES_ON_BOARD)
    same_piece = pieces[:, None] == pieces
    same_square = squares[:, None] == squares
    kings = pieces // 2 == KING
    both_kings = kings[:, None] & kings
    possible = (same_square <= same_piece) & ~(both_kings & same_piece & ~same_square)
    possible &= ~(both_kings & ~same_piece & NEAR[squares[:, None], squares])
    return possible & LEGAL_PLACES.ravel()[:, None] & LEGAL_PLACES.ravel()


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

    @property
    def tables(self) -> list[np.ndarray]:
        """``rows`` by the class of the own king's square: there is one."""
        return [self.rows]

    @property
    def class_of(self) -> np.ndarray:
        """int64[64]: that class by square."""
        return np.zeros(SQUARES_ON_BOARD, np.int64)

    @cached_property
    def members(self) -> np.ndarray:
        """bool[size, 12, 64]: which pieces on which squares make a feature active, legal or not."""
        members = np.zeros((self.size, PIECES, SQUARES_ON_BOARD), dtype=bool)
        pieces, squares = np.nonzero(self.rows >= 0)
        members[self.rows[pieces, squares], pieces, squares] = True
        return members

    @cached_property
    def legal_members(self) -> np.ndarray:
        """The same without pawns on the first and last rank; a feature without any is dead."""
        return self.members & LEGAL_PLACES

    def alive(self) -> np.ndarray:
        return np.asarray(self.legal_members.any(axis=(1, 2)))

    @cached_property
    def max_active(self) -> int:
        return most_active(self.rows)

    def factor_classes(self) -> Classes:
        """A factor about one king alone: every tuple of the product has to do with its square."""
        if self.pieces == {2 * KING + OWN}:
            return Classes(own=self.rows[2 * KING + OWN].astype(np.int64))
        if self.pieces == {2 * KING + ENEMY}:
            return Classes(enemy=self.rows[2 * KING + ENEMY].astype(np.int64))
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

    def kernels(self) -> Kernels:
        raise AssertionError("piece-square blocks are tables of the feature set itself")


def seen_by(table: np.ndarray, perspective: int) -> np.ndarray:
    """A table [12, 64] of what a player sees, by real piece and square.

    Black's perspective swaps colours and turns the board over.
    """
    if perspective == 0:
        return table
    return table[np.arange(PIECES) ^ 1][:, np.arange(SQUARES_ON_BOARD) ^ 56]


def most_active(rows: np.ndarray) -> int:
    """Bound of the rows (int32[12, 64], -1 none) that are active at once in any position."""

    def live(piece: int) -> np.ndarray:
        found = rows[piece][LEGAL_PLACES[piece]]
        return np.unique(found[found >= 0])

    kings = [live(2 * KING + color) for color in range(2)]
    others = np.unique(np.concatenate([live(piece) for piece in range(2 * KING)]))
    bound = sum(min(len(king), 1) for king in kings) + min(len(others), MOST_PIECES - 2)
    return min(bound, len(np.unique(np.concatenate([*kings, others]))))


def piece_name(concepts: tuple[Concept, ...], values: tuple[int, ...], pieces: np.ndarray) -> str:
    """What a feature of one piece says; ``pieces`` (codes) are those that make it active."""
    value = dict(zip(concepts, values, strict=True))
    colors = {value[COLORS]} if COLORS in value else set((pieces % 2).tolist())
    roles = {value[ROLES]} if ROLES in value else set((pieces // 2).tolist())
    words = [COLOR_NAMES[color] for color in colors] if len(colors) == 1 else []
    words.append(
        " or ".join(ROLE_NAMES[role] for role in sorted(roles)) if 0 < len(roles) < 6 else "piece"
    )
    places = [(c.values[v], c.phrase) for c, v in value.items() if c.phrase]
    if FILES in value and RANKS in value:
        square = SQUARES.values[value[FILES] + 8 * value[RANKS]]
        places = [(square, SQUARES.phrase)] + [
            (c.values[v], c.phrase)
            for c, v in value.items()
            if c.phrase and c not in (FILES, RANKS)
        ]
    on = " and ".join(text for text, phrase in places if phrase == SQUARES.phrase)
    words += [f"on {on}"] if on else []
    words += [phrase.format(text) for text, phrase in places if phrase != SQUARES.phrase]
    return " ".join(words)


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

    def make(predicate: PieceSquarePredicate) -> PieceSquare:
        file = Path(inspect.getfile(predicate))
        check_definition(file, name, *aliases)
        rows = rows_of(f"{file}: block {name}", concepts, predicate)
        check_rows(f"{file}: block {name}", rows[LEGAL_PLACES], predicate)
        return PieceSquare(
            name=name,
            concepts=concepts,
            definition=definition_of(predicate),
            file=file,
            aliases=aliases,
            rows=rows,
        )

    return make


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
                        f"{what}, {piece} on {SQUARES.values[square]}: {one_line(error)}"
                    ) from error
    return rows
