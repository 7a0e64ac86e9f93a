"""Features as pictures: boards, lines on boards, pairs of pieces, counts.

Where a feature stands follows from the concepts of its block: a square, or a file and a rank, is a
cell of a board; a line alone is all its squares; the piece says on which board; two pieces are row
and column of a grid. What is left (the square of the king, a bucket, a phase) chooses the group
that is shown. So a block of one's own is drawn like those of the package.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from nnuelab.features import (
    DIAGS1,
    DIAGS2,
    FILES,
    RANKS,
    SQUARES,
    Block,
    Concept,
    FeatureSet,
    Product,
    diagonal1_of,
    diagonal2_of,
    file_of,
    rank_of,
)
from nnuelab.features.concepts import COLOR_NAMES, ROLE_NAMES

RANK_LABELS, FILE_LABELS = tuple("87654321"), tuple("abcdefgh")
LINE_OF = {FILES: file_of, RANKS: rank_of, DIAGS1: diagonal1_of, DIAGS2: diagonal2_of}


@dataclass(frozen=True, eq=False)
class Picture:
    """Features side by side.

    Attributes
    ----------
    group : str
        What all of them share besides the title: ``with the own king on e1``; may be empty.
    title : str
        ``own pawn``.
    rows, columns : tuple of str
        Labels, rows from the top.
    cells : int64[rows, columns]
        Feature, -1 for none; a feature may have several cells.
    board : bool
        Whether the cells are the squares of a board.
    """

    group: str
    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: np.ndarray
    board: bool


def pictures(feature_set: FeatureSet) -> list[tuple[str, list[Picture]]]:
    """The pictures of each term of a sum, with its name; every feature stands in one of them."""
    return [
        (term.name, _moved(_of_product(term), offset))
        for term, offset in zip(feature_set.terms, feature_set.offsets, strict=True)
    ]


def _moved(drawn: Iterable[Picture], offset: int) -> list[Picture]:
    return [replace(p, cells=np.where(p.cells < 0, -1, p.cells + offset)) for p in drawn]


def _of_product(term: Product) -> list[Picture]:
    """The last factor's pictures, once for each tuple of features of those before it."""
    *before, last = term.factors
    inner = _of_block(last)
    if not before:
        return inner
    rest = Product(tuple(before))
    found = []
    for index in range(rest.size):
        name = rest.feature_name(index)
        for picture in _moved(inner, index * last.size):
            found.append(replace(picture, group=_joined(name, picture.group)))
    return found


def _of_block(block: Block) -> list[Picture]:
    if block.parts is not None:
        return [
            replace(
                picture,
                group=_joined(label, picture.group),
                cells=np.where(picture.cells < 0, -1, features[picture.cells]),
            )
            for label, features in block.copies()
            for picture in _of_set(block.parts)
        ]
    return [
        replace(picture, group=_joined(tuples.label, picture.group))
        for tuples in block.tuples()
        for picture in _arranged(tuples.concepts, tuples.values, tuples.features)
    ]


def _of_set(parts: FeatureSet) -> list[Picture]:
    return [
        replace(picture, group=_joined(name if len(parts.terms) > 1 else "", picture.group))
        for name, drawn in pictures(parts)
        for picture in drawn
    ]


def _joined(*words: str) -> str:
    return ", ".join(word for word in words if word)


@dataclass(frozen=True)
class _Axes:
    """Which columns of the values are what; each column is in one of them."""

    cell: tuple[int, ...]  # a square, a file and a rank, or one line
    piece: tuple[int, ...]  # whose board it is: role and colour
    other: tuple[int, ...]  # another piece
    left: tuple[int, ...]


def _is_role(concept: Concept) -> bool:
    return set(concept.values) <= set(ROLE_NAMES)


def _is_color(concept: Concept) -> bool:
    return set(concept.values) <= set(COLOR_NAMES)


def _axes(concepts: Sequence[Concept]) -> _Axes:
    roles = [i for i, c in enumerate(concepts) if _is_role(c)]
    colors = [i for i, c in enumerate(concepts) if _is_color(c)]
    squares = [
        i for i, c in enumerate(concepts) if c.values == SQUARES.values and c.phrase == "on {}"
    ]
    lines = [i for i, c in enumerate(concepts) if c in LINE_OF]
    cell: tuple[int, ...] = ()
    if FILES in concepts and RANKS in concepts:
        cell = (concepts.index(FILES), concepts.index(RANKS))
    elif squares:
        cell = (squares[-1],)
    elif len(lines) == 1 and len(roles) < 2 and len(concepts) == 1 + len(roles) + len(colors):
        cell = (lines[0],)
    piece = tuple(roles[-1:] + colors[-1:])
    other = tuple(sorted(roles[:-1][-1:] + colors[:-1][-1:]))
    taken = {*cell, *piece, *other}
    return _Axes(cell, piece, other, tuple(i for i in range(len(concepts)) if i not in taken))


def _arranged(
    concepts: Sequence[Concept], values: np.ndarray, features: np.ndarray
) -> list[Picture]:
    """Pictures of features with these concept values (int64[n, concepts])."""
    axes = _axes(concepts)
    if axes.cell:
        # The square of another piece belongs to its name.
        group = tuple(sorted((*axes.other, *axes.left)))
        return _split(concepts, values, features, group, axes.piece, axes)
    if axes.other:
        return _split(concepts, values, features, axes.left, (), axes)
    if len(axes.left) >= 2:
        return _split(concepts, values, features, axes.left[:-2], axes.piece, axes)
    return _split(concepts, values, features, (), (), axes)


def _split(
    concepts: Sequence[Concept],
    values: np.ndarray,
    features: np.ndarray,
    group: tuple[int, ...],
    title: tuple[int, ...],
    axes: _Axes,
) -> list[Picture]:
    """One picture for each combination of values in ``group`` and ``title``."""
    keys = values[:, [*group, *title]]
    order = np.lexsort(keys.T[::-1]) if keys.shape[1] else np.arange(len(values))
    found = []
    for _, members in groupby(order.tolist(), key=lambda i: tuple(keys[i])):
        chosen = list(members)
        part, numbers = values[chosen], features[chosen]
        shared, name = _named(concepts, part[0], group), _named(concepts, part[0], title)
        if axes.cell:
            cells = _board(concepts, part, numbers, axes.cell)
            found.append(Picture(shared, name, RANK_LABELS, FILE_LABELS, cells, board=True))
            continue
        rest = [i for i in range(len(concepts)) if i not in (*group, *title)]
        across = (
            [i for i in rest if i in axes.piece]
            if axes.other
            else [i for i in rest if i in axes.left[-2:]][:1]
        )
        down = [i for i in rest if i not in across]
        rows, columns, cells = _grid(concepts, part, numbers, down, across)
        found.append(Picture(shared, name, rows, columns, cells, board=False))
    return found


def _board(
    concepts: Sequence[Concept], values: np.ndarray, features: np.ndarray, cell: tuple[int, ...]
) -> np.ndarray:
    """int64[8, 8] from rank 8, file a."""
    cells = np.full(64, -1, np.int64)
    line_of = LINE_OF.get(concepts[cell[0]])
    if len(cell) == 2:
        cells[values[:, cell[0]] + 8 * values[:, cell[1]]] = features
    elif line_of is None:
        cells[values[:, cell[0]]] = features
    else:
        for value, feature in zip(values[:, cell[0]], features, strict=True):
            cells[[square for square in range(64) if line_of(square) == value]] = feature
    return cells.reshape(8, 8)[::-1].copy()


def _grid(
    concepts: Sequence[Concept],
    values: np.ndarray,
    features: np.ndarray,
    down: list[int],
    across: list[int],
) -> tuple[tuple[str, ...], tuple[str, ...], np.ndarray]:
    column_keys, column = np.unique(values[:, across], axis=0, return_inverse=True)
    row_keys, row = np.unique(values[:, down], axis=0, return_inverse=True)
    cells = np.full((len(row_keys), len(column_keys)), -1, np.int64)
    cells[row.reshape(-1), column.reshape(-1)] = features
    rows = [_words([concepts[i] for i in down], key) for key in row_keys]
    columns = [_words([concepts[i] for i in across], key) for key in column_keys]
    if down and not _is_role(concepts[down[0]]):  # ranks and the like: up is up
        rows, cells = rows[::-1], cells[::-1].copy()
    return tuple(rows), tuple(columns), cells


def _named(concepts: Sequence[Concept], values: np.ndarray, axes: Sequence[int]) -> str:
    return _words([concepts[i] for i in axes], values[list(axes)], phrases=True)


def _words(concepts: Sequence[Concept], values: np.ndarray, *, phrases: bool = False) -> str:
    """``own pawn on e4``: colour before role."""
    out: list[str] = []
    for i, (concept, value) in enumerate(zip(concepts, values, strict=True)):
        word = concept.values[value]
        if _is_color(concept) and i and _is_role(concepts[i - 1]):
            out.insert(-1, word)
        elif phrases and concept.phrase and not _is_role(concept) and not _is_color(concept):
            out.append(concept.phrase.format(word))
        else:
            out.append(word)
    return " ".join(out)
