"""Tables from which batches of positions are extracted: what :mod:`extraction_kernels` reads.

Piece-square blocks only, and all of both players at once. A table says which row a piece makes
active on a square. In nearly all blocks that row is a sum of a part of the square and a part of the
piece, and rows are shared by whole groups of pieces on whole classes of squares (ROLES x COLORS,
FILES): such blocks go through vectors of bytes, several instructions for all pieces of a position.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nnuelab.features.block import MOST_PIECES, PIECES, SQUARES_ON_BOARD
from nnuelab.features.kinds.piece_square import most_active, seen_by

MOST_BEFORE = 7  # squares of a class before one of them: a line has eight
NOWHERE = 64  # a square that is always empty

EXTRACTED = np.dtype(
    [
        ("n", "i8"),  # different rows
        ("numbers", "i4", (PIECES * SQUARES_ON_BOARD,)),  # features: those rows, ascending
        ("rows", "i2", (2, PIECES, SQUARES_ON_BOARD)),  # place in `numbers`, -1 none
        ("repeats", "i8"),  # 1: pieces on different squares may have one row
        # Of blocks that vectors can do:
        ("partitions", "i8"),  # of squares into classes: 0 all differ, 1, 2 one for each player
        ("vector", "i8"),  # 1: they can
        ("squares", "i2", (2, SQUARES_ON_BOARD)),  # the square's part of a feature
        ("pieces", "i2", (2, 2, 16)),  # the part of a piece, or of its group, twice
        ("groups", "i1", (2, 16)),  # group of a piece, from 1, twice
        ("before", "i1", (2, MOST_BEFORE, SQUARES_ON_BOARD)),  # squares of the class, or NOWHERE
    ],
    align=True,
)
"""A block for extraction. Where there are two of something, for White's eyes and for Black's."""


@dataclass(frozen=True)
class _Parts:
    """Rows as seen by one player, taken apart."""

    classes: np.ndarray  # int64[64], of squares: with the same rows for all pieces; by first square
    groups: np.ndarray  # int64[12], of pieces: with the same rows on all squares; by first piece
    squares: np.ndarray  # int64[64]
    pieces: np.ndarray  # int64[12]: row = squares[square] + pieces[piece]


def extracted(rows: np.ndarray, offset: int) -> np.void:
    """EXTRACTED of a block.

    Parameters
    ----------
    rows : int32[12, 64]
        Row of each piece on each square as a player sees them, -1 none.
    offset : int
        What is added to them.
    """
    record = np.zeros(1, EXTRACTED)[0]
    numbers = np.unique(rows[rows >= 0])
    record["n"] = len(numbers)
    record["numbers"][: len(numbers)] = numbers + offset
    for player in range(2):
        seen = seen_by(rows, player)
        record["rows"][player] = np.where(seen >= 0, np.searchsorted(numbers, seen), -1)
    on_squares = sum(len(np.unique(column[column >= 0])) for column in rows.T)
    record["repeats"] = on_squares > len(numbers)
    parts = [_parts(seen_by(rows, player)) for player in range(2)]
    fits = numbers.max(initial=0) + offset <= np.iinfo(np.int16).max
    # Vectors write 32 features at once, with -1 for those that there are not.
    if fits and most_active(rows) == MOST_PIECES:
        _write_parts(record, parts, offset)
    return record


def _write_parts(record: np.void, parts: list[_Parts | None], offset: int) -> None:
    white, black = parts
    if white is None or black is None or (white.groups != black.groups).any():
        return
    before = [_before(part.classes) for part in (white, black)]
    if before[0] is None or before[1] is None:
        return
    if (before[0] == NOWHERE).all():
        record["partitions"] = 0
    else:
        record["partitions"] = 1 if (white.classes == black.classes).all() else 2
    for player, part in enumerate((white, black)):
        record["squares"][player] = part.squares + offset
        pieces = part.pieces if not record["partitions"] else _by_group(part)
        record["pieces"][player, :, : len(pieces)] = pieces
        record["before"][player] = before[player]
    record["groups"][:, :PIECES] = white.groups + 1
    record["vector"] = 1


def _parts(rows: np.ndarray) -> _Parts | None:
    """Rows (int32[12, 64], as a player sees them) taken apart; None when that can't be done."""
    squares = rows[0] - rows[0, 0]
    if (rows < 0).any() or (squares + rows[:, :1] != rows).any():
        return None
    classes, groups = _numbered(rows[0]), _numbered(rows[:, 0])
    if len(np.unique(rows)) != (classes.max() + 1) * (groups.max() + 1):
        return None  # a row belongs to one group and one class
    return _Parts(classes, groups, squares, rows[:, 0].astype(np.int64))


def _numbered(values: np.ndarray) -> np.ndarray:
    """Equal values get equal numbers, counted from 0 in order of appearance."""
    first, inverse = np.unique(values, return_index=True, return_inverse=True)[1:]
    return np.argsort(np.argsort(first))[inverse.reshape(-1)]


def _by_group(part: _Parts) -> np.ndarray:
    """The part of each group, counted from 1."""
    pieces = np.zeros(part.groups.max() + 2, np.int64)
    pieces[part.groups + 1] = part.pieces
    return pieces


def _before(classes: np.ndarray) -> np.ndarray | None:
    """int64[7, 64]: lower squares of a square's class, NOWHERE beyond; None when there are more."""
    before = np.full((MOST_BEFORE, SQUARES_ON_BOARD), NOWHERE)
    for square in range(SQUARES_ON_BOARD):
        lower = np.flatnonzero(classes[:square] == classes[square])
        if len(lower) > MOST_BEFORE:
            return None
        before[: len(lower), square] = lower
    return before
