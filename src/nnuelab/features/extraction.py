"""Tables from which batches of positions are extracted: what :mod:`extraction_kernels` reads.

Blocks about a piece and its square, the square of the own king being given or not: a table says
which feature a piece makes active on a square, and there is one for each class of own kings. In
nearly all blocks that feature is a sum of a part of the square and a part of the piece, and shared
by whole groups of pieces on whole classes of squares (ROLES x COLORS, FILES): such blocks go
through vectors, several instructions for all pieces of a position.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nnuelab.features.block import PIECES, SQUARES_ON_BOARD
from nnuelab.features.kinds.king import KingPiece
from nnuelab.features.kinds.piece_square import PieceSquare, seen_by
from nnuelab.jit import address, aligned

MOST_BEFORE = 7  # squares of a class before one of them: a line has eight
NOWHERE = 64  # a square that is always empty
_UINT16 = np.iinfo(np.uint16).max
BY_PIECES, ALONE, ALIKE, APART, BY_KING = range(5)
"""Ways to extract a block: piece by piece; by vectors when no two pieces share a feature; when
pieces do, on classes of squares that are alike for both players, or not; by the own king's class,
or without some pieces."""

TABLE = np.dtype(
    [
        ("features", "i4", (2, PIECES * SQUARES_ON_BOARD)),  # -1 none
        ("numbers", "i2", (2, PIECES * SQUARES_ON_BOARD)),  # of the different ones, -1 none
    ],
    align=True,
)
"""Features by player and piece * 64 + square."""

PARTS = np.dtype(
    {
        "names": ["squares", "pieces", "base"],  # whose sum is a feature, the first two mod 2^16
        "formats": [("i2", (SQUARES_ON_BOARD,)), ("i2", (2, 16)), "i4"],  # by piece or group, twice
        "offsets": [0, 128, 192],
        "itemsize": 256,
    }
)
"""The same for vectors, as one player sees it."""

EXTRACTED = np.dtype(
    [
        ("way", "i8"),
        ("repeats", "i8"),  # 1: pieces on different squares may have one feature
        ("n_tables", "i8"),
        ("tables", "u8"),  # -> TABLE[n_tables]
        ("parts", "u8"),  # -> PARTS[2, n_tables], by player
        ("classes", "u1", (2, SQUARES_ON_BOARD)),  # number of a table, by player and own king
        ("groups", "i1", (2, 16)),  # of pieces that share features, from 1, 0 without any; twice
        ("before", "i1", (2, MOST_BEFORE, SQUARES_ON_BOARD)),  # lower squares of a square's class
    ],
    align=True,
)
"""A block for extraction."""


@dataclass(frozen=True)
class _Parts:
    """Rows as seen by one player, taken apart."""

    classes: np.ndarray  # int64[64], of squares: with the same rows for all pieces
    groups: np.ndarray  # int64[12], of pieces: with the same rows on all squares, from 1; 0 none
    squares: np.ndarray  # int64[64]
    pieces: np.ndarray  # int64[12]: row = base + squares[square] + pieces[piece]
    base: int
    highest: int  # of the rows


def extracted(block: PieceSquare | KingPiece, offset: int) -> tuple[np.void, list[Any]]:
    """A record of EXTRACTED, and the owners of what it points to.

    Parameters
    ----------
    offset : int
        What is added to the block's features.
    """
    tables, classes = block.tables, block.class_of
    record = np.zeros(1, EXTRACTED)[0]
    made = np.array([_table(rows, offset) for rows in tables], TABLE)
    record["n_tables"], record["tables"] = len(tables), address(made)
    record["classes"] = classes, classes[np.arange(SQUARES_ON_BOARD) ^ 56]
    record["repeats"] = any(
        sum(len(np.unique(column[column >= 0])) for column in rows.T)
        > len(np.unique(rows[rows >= 0]))
        for rows in tables
    )
    parts = aligned((2, len(tables)), PARTS)
    record["parts"] = address(parts)
    apart = [_parts(seen_by(rows, player)) for player in range(2) for rows in tables]
    known = [one for one in apart if one is not None]
    if len(known) == len(apart):
        record["way"] = _way(record, known, offset)
        for place, one in zip(parts.ravel(), known, strict=True):
            base = one.base + offset
            place["base"] = base
            place["squares"] = one.squares.astype(np.int16)
            pieces = one.pieces + (0 if record["way"] == BY_KING else base)
            codes = one.groups if record["way"] in (ALIKE, APART) else np.arange(PIECES)
            place["pieces"][:, codes] = pieces.astype(np.int16)
    return record, [made, parts]


def _table(rows: np.ndarray, offset: int) -> np.void:
    record = np.zeros(1, TABLE)[0]
    numbers = np.unique(rows[rows >= 0])
    for player in range(2):
        seen = seen_by(rows, player).ravel()
        record["features"][player] = np.where(seen >= 0, seen + offset, -1)
        record["numbers"][player] = np.where(seen >= 0, np.searchsorted(numbers, seen), -1)
    return record


def _way(record: np.void, parts: list[_Parts], offset: int) -> int:
    """How vectors extract the block, if they can; writes what they need for it."""
    white, black = parts[0], parts[-1]
    if any((one.groups != white.groups).any() for one in parts):
        return BY_PIECES
    record["groups"][:, :PIECES] = white.groups
    fits = all(one.highest + offset <= _UINT16 for one in parts)
    if not record["repeats"]:
        simple = len(parts) == 2 and (white.groups > 0).all() and fits
        return ALONE if simple else BY_KING
    before = [found for one in parts if (found := _before(one.classes)) is not None]
    if len(parts) > 2 or not fits or len(before) < 2:
        return BY_PIECES
    record["before"] = before
    return ALIKE if (white.classes == black.classes).all() else APART


def _before(classes: np.ndarray) -> np.ndarray | None:
    """int64[7, 64]: lower squares of a square's class, NOWHERE beyond; None when there are more."""
    before = np.full((MOST_BEFORE, SQUARES_ON_BOARD), NOWHERE)
    for square in range(SQUARES_ON_BOARD):
        lower = np.flatnonzero(classes[:square] == classes[square])
        if len(lower) > MOST_BEFORE:
            return None
        before[: len(lower), square] = lower
    return before


def _parts(rows: np.ndarray) -> _Parts | None:
    """Rows (int32[12, 64], as a player sees them) taken apart; None when that can't be done."""
    seen = (rows >= 0).any(axis=1)
    there = rows[seen]
    if not len(there) or (there < 0).any():
        return None
    squares, base = there[0] - there[0, 0], int(there.min())
    if (squares + there[:, :1] != there).any() or there.max() - base > _UINT16:
        return None
    classes, groups = _numbered(there[0]), np.zeros(PIECES, np.int64)
    groups[seen] = 1 + _numbered(there[:, 0])
    if len(np.unique(there)) != (classes.max() + 1) * groups.max():
        return None  # a row belongs to one group and one class
    pieces = np.zeros(PIECES, np.int64)
    pieces[seen] = there[:, 0] - base
    return _Parts(classes, groups, squares, pieces, base, int(there.max()))


def _numbered(values: np.ndarray) -> np.ndarray:
    """Equal values get equal numbers, counted from 0 in order of appearance."""
    first, inverse = np.unique(values, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse.reshape(-1)]
