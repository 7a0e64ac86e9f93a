"""Tables from which batches of positions are extracted.

What :mod:`nnuelab.features.kernels.extraction` reads.

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

from nnuelab.features.algebra import Tabulated
from nnuelab.features.legality import by_player, seen_by
from nnuelab.features.records import (
    BY_KING,
    BY_PIECES,
    EXTRACTED,
    INJECTIVE,
    MOST_BEFORE,
    NOWHERE,
    PARTS,
    PIECES,
    SHARED_ASYMMETRIC,
    SHARED_SYMMETRIC,
    SQUARES_ON_BOARD,
    TABLE,
)
from nnuelab.jit import address, aligned

_UINT16 = np.iinfo(np.uint16).max


@dataclass(frozen=True)
class _Parts:
    """Rows as seen by one player, taken apart."""

    classes: np.ndarray  # int64[64], of squares: with the same rows for all pieces
    groups: np.ndarray  # int64[12], of pieces: with the same rows on all squares, from 1; 0 none
    squares: np.ndarray  # int64[64]
    pieces: np.ndarray  # int64[12]: row = base + squares[square] + pieces[piece]
    base: int
    highest: int  # of the rows


def extracted(block: Tabulated, offset: int) -> tuple[np.void, list[Any]]:
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
    record["classes"] = by_player(classes)
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
            shared = record["way"] in (SHARED_SYMMETRIC, SHARED_ASYMMETRIC)
            codes = one.groups if shared else np.arange(PIECES)
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
        return INJECTIVE if simple else BY_KING
    before = [found for one in parts if (found := _before(one.classes)) is not None]
    if len(parts) > 2 or not fits or len(before) < 2:
        return BY_PIECES
    record["before"] = before
    return SHARED_SYMMETRIC if (white.classes == black.classes).all() else SHARED_ASYMMETRIC


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
