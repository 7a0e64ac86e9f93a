"""A feature block: named once, by its concepts and its predicate; everything else is derived.

The predicate of every block here is of one kind, "a piece of role r and colour c stands on square
s": :func:`piece_square` evaluates it once for each of the 768 possibilities. What results, a row
number for each piece and square, is all that extraction, incremental updates, names, dead features
and bounds need. A feature may belong to several squares (a file) or several pieces (a colour): it
is active when at least one of its pieces stands on one of its squares, and active once.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.concepts import (
    COLOR_NAMES,
    COLORS,
    FILES,
    KING,
    PAWN,
    RANKS,
    ROLE_NAMES,
    ROLES,
    SQUARES,
    Concept,
    rank_of,
)

PIECES, SQUARES_ON_BOARD = 12, 64
NAME = re.compile(r"[A-Z][A-Z0-9_]*")

MOST_PIECES = 32  # on a board, one king each; a FEN may hold any others

PieceSquarePredicate = Callable[[int, int, int], "tuple[int, ...] | int | None"]


def _legal_places() -> np.ndarray:
    """bool[12, 64]: whether a piece (role * 2 + colour) can stand on a square at all."""
    places = np.ones((PIECES, SQUARES_ON_BOARD), dtype=bool)
    for color in range(2):
        for square in range(SQUARES_ON_BOARD):
            places[PAWN * 2 + color, square] = rank_of(square) not in (0, 7)
    return places


LEGAL_PLACES = _legal_places()


@dataclass(frozen=True, eq=False)
class Block:
    """A block of piece-square features, seen from one player's perspective.

    Attributes
    ----------
    name : str
        Upper case; what stands for the block in an expression.
    concepts : tuple of Concept
        The features are the tuples of their product; the index is the stride index, the last
        concept running fastest.
    definition : str
        One sentence: when a feature is active.
    file : Path
        Where the block is defined.
    rows : ndarray of int32 [12, 64]
        Index of the feature that a piece (role * 2 + colour, 0 own, 1 enemy) makes active on
        a square; -1 where it makes none.
    aliases : tuple of str
        Other names that an expression may use.
    """

    name: str
    concepts: tuple[Concept, ...]
    definition: str
    file: Path
    rows: np.ndarray = field(repr=False)
    aliases: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Number of features."""
        return math.prod(concept.size for concept in self.concepts)

    @property
    def formula(self) -> str:
        """The product of concepts as text: ``FILES x ROLES x COLORS``."""
        return " x ".join(concept.name for concept in self.concepts)

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

    @cached_property
    def max_active(self) -> int:
        """Bound of the features that are active at once, over all positions that a FEN can hold."""
        rows = [self._live_rows(piece) for piece in range(PIECES)]
        kings = sum(min(len(np.unique(rows[2 * KING + color])), 1) for color in range(2))
        others = len(np.unique(np.concatenate(rows[: 2 * KING])))
        bound = kings + min(others, MOST_PIECES - 2)
        return min(bound, int(self.legal_members.any(axis=(1, 2)).sum()))

    def _live_rows(self, piece: int) -> np.ndarray:
        rows = self.rows[piece][LEGAL_PLACES[piece]]
        return rows[rows >= 0]

    @property
    def pieces(self) -> set[int]:
        """The pieces (role * 2 + colour) that make any of the features active."""
        return set(np.nonzero((self.rows >= 0).any(axis=1))[0].tolist())

    def values(self, index: int) -> tuple[int, ...]:
        """The tuple of concept values of a feature."""
        shape = tuple(concept.size for concept in self.concepts)
        return tuple(int(value) for value in np.unravel_index(index, shape))

    def feature_name(self, index: int) -> str:
        """``own pawn on file e``: the piece, then the other concepts' values.

        What the concepts don't tell about the piece is read off the pieces that make the feature
        active, so a block of SQUARES alone that holds for the own king says "own king on e1".
        """
        value = dict(zip(self.concepts, self.values(index), strict=True))
        pieces = np.flatnonzero(self.members[index].any(axis=1))
        colors = {value[COLORS]} if COLORS in value else set((pieces % 2).tolist())
        roles = {value[ROLES]} if ROLES in value else set((pieces // 2).tolist())
        words = [COLOR_NAMES[color] for color in colors] if len(colors) == 1 else []
        words.append(
            " or ".join(ROLE_NAMES[role] for role in sorted(roles))
            if 0 < len(roles) < 6
            else "piece"
        )
        places = [c.values[v] for c, v in value.items() if c not in (ROLES, COLORS)]
        if FILES in value and RANKS in value:
            square = SQUARES.values[value[FILES] + 8 * value[RANKS]]
            places = [square] + [
                c.values[v] for c, v in value.items() if c not in (FILES, RANKS, ROLES, COLORS)
            ]
        return " ".join(words) + (" on " + " and ".join(places) if places else "")


def piece_square(
    name: str, *concepts: Concept, aliases: tuple[str, ...] = ()
) -> Callable[[PieceSquarePredicate], Block]:
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
        When the name is malformed or a value is out of its concept's range.
    """

    def make(predicate: PieceSquarePredicate) -> Block:
        file = Path(inspect.getfile(predicate))
        for word in (name, *aliases):
            if not NAME.fullmatch(word):
                raise UserError(
                    f"{file}: {word!r} can't name a block: use capital letters, digits and _, "
                    "a letter first"
                )
        if not concepts:
            raise UserError(f"{file}: block {name}: name at least one concept")
        rows = np.full((PIECES, SQUARES_ON_BOARD), -1, dtype=np.int32)
        for role in range(6):
            for color in range(2):
                for square in range(SQUARES_ON_BOARD):
                    try:
                        values = predicate(square, role, color)
                        if values is not None:
                            rows[role * 2 + color, square] = _stride_index(concepts, values)
                    except Exception as error:
                        piece = f"{COLOR_NAMES[color]} {ROLE_NAMES[role]}"
                        raise UserError(
                            f"{file}: block {name}, {piece} on {SQUARES.values[square]}: {error}"
                        ) from error
        definition = " ".join((predicate.__doc__ or "").split())
        return Block(name, concepts, definition, file, rows, aliases)

    return make


def _stride_index(concepts: tuple[Concept, ...], values: Any) -> int:
    if not isinstance(values, tuple):
        values = (values,)
    if len(values) != len(concepts):
        wanted = ", ".join(concept.name for concept in concepts)
        raise ValueError(f"returned {values}, not one value for each of {wanted}")
    index = 0
    for concept, value in zip(concepts, values, strict=True):
        if not isinstance(value, int | np.integer) or not 0 <= value < concept.size:
            raise ValueError(f"{value!r} is not a value of {concept.name} (0..{concept.size - 1})")
        index = index * concept.size + int(value)
    return index
