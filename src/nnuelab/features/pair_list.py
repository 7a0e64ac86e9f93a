"""Lists of the most frequent pairs of pieces: counted in a dataset, kept as a readable file.

A file has a line for each pair, the most frequent first: two pieces with their squares as a player
sees them, own ones in capital letters, and in how many views of positions they stand together::

    first,second,views
    Ke1,ke8,123456
    Pe2,ke8,98765

Every position has two views, one for each player.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.concepts import SQUARES
from nnuelab.features.family import Listing
from nnuelab.features.kinds.pairs import Pairs, Place, pairs_of
from nnuelab.features.legality import turned_places
from nnuelab.features.records import PLACES, SQUARES_ON_BOARD

HEADER = ["first", "second", "views"]
LETTERS = "PpNnBbRrQqKk"  # by piece code: role * 2 + colour, 0 own


def most_frequent(parts: Iterable[np.ndarray], k: int) -> list[tuple[int, int, int]]:
    """The k most frequent pairs of piece-squares in packed positions, as both players see them.

    Parameters
    ----------
    parts : iterable of structured arrays [n]
        With the fields occupied, pieces_low and pieces_high of ``nnuelab.data``, all of them sound:
        the kernel follows what they say.
    k : int

    Returns
    -------
    list of (int, int, int)
        Two piece-squares (piece * 64 + square) and the number of views; most first, equal ones by
        the two numbers.

    Raises
    ------
    UserError
        When there are fewer different pairs.
    """
    from nnuelab.features.kernels.pair_list import count

    counts = np.zeros((PLACES, PLACES), np.int64)
    for records in parts:
        count(records, counts)
    counts += counts.T  # counted once for each pair, in either order
    turned = turned_places(np.arange(PLACES))
    counts += counts[np.ix_(turned, turned)]
    first, second = np.nonzero(np.triu(counts, 1))
    views = counts[first, second]
    if len(views) < k:
        raise UserError(
            f"there are {len(views):,} different pairs, fewer than {k:,}; use more data"
        )
    order = np.lexsort((second, first, -views))[:k]
    return [(int(first[i]), int(second[i]), int(views[i])) for i in order]


def text_of(pairs: list[tuple[int, int, int]]) -> str:
    """The content of a file with these pairs."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows((_letters(a), _letters(b), views) for a, b, views in pairs)
    return out.getvalue()


def read(content: str, k: int) -> list[tuple[Place, Place]]:
    """The first k pairs of a file's content.

    Raises
    ------
    ValueError
        When it is no such list, or has fewer pairs: with the line.
    """
    try:
        rows = list(csv.reader(io.StringIO(content)))
    except csv.Error as error:
        raise ValueError(f"it is no CSV file ({error})") from None
    if not rows or rows[0] != HEADER:
        raise ValueError(f"the first line is not {','.join(HEADER)}; make it by features topk")
    if len(rows) <= k:
        raise ValueError(f"it has {len(rows) - 1} pairs, fewer than {k}")
    found = []
    for line, row in enumerate(rows[1 : k + 1], 2):
        try:
            first, second, _ = row
            found.append((_place(first), _place(second)))
        except ValueError:
            raise ValueError(f"line {line} is not a pair: {','.join(row)}") from None
    return found


def _letters(place: int) -> str:
    piece, square = divmod(place, SQUARES_ON_BOARD)
    return LETTERS[piece] + SQUARES.values[square]


def _place(text: str) -> Place:
    role, color = divmod(LETTERS.index(text[:1] or "?"), 2)
    return role, color, SQUARES.values.index(text[1:])


def listed_pairs(k: int, file: Listing) -> Pairs:
    """A block of the first k pairs of a file, for a family to return.

    Raises
    ------
    ValueError
        When the file is no list, or has fewer pairs.
    """
    try:
        pairs = read(file.content, k)
    except ValueError as error:
        raise ValueError(f"{file.path}: {error}") from error
    found = pairs_of("TOPK", pairs, "", Path(file.path))
    return replace(found, data_files={file.path: file.content})
