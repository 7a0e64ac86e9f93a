"""Tables of the rows of weights that features share in training, int64[features, F].

Features of one number share a row; -1 stands for none. A part of a feature is what is left of it
when one concept, or one factor of a product, is dropped: features with a part in common share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from nnuelab.features.answers import Tuples


def none(size: int) -> np.ndarray:
    """int64[size, 0]: no features share anything."""
    return np.empty((size, 0), np.int64)


def but_one(values: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """int64[n, axes]: tuples that are equal but for one axis have one number in its column.

    Parameters
    ----------
    values : int64[n, axes]
        Different tuples, of 0 to below ``shape``.
    """
    strides = np.cumprod([1, *shape[:0:-1]])[::-1]
    index = values @ strides
    return index[:, None] - values * strides + np.arange(len(shape)) * math.prod(shape)


def by_concept(size: int, tuples: Sequence[Tuples]) -> np.ndarray:
    """int64[size, concepts]: features share what they have in common but for one concept.

    Of one concept alone nothing would be left.
    """
    found = np.full((size, max(len(part.concepts) for part in tuples)), -1, np.int64)
    start = 0
    for part in tuples:
        shape = [concept.size for concept in part.concepts]
        if len(shape) > 1:
            found[part.features, : len(shape)] = start + but_one(part.values, shape)
            start += len(shape) * math.prod(shape)
    return found


def beside(tables: Sequence[np.ndarray]) -> np.ndarray:
    """The columns of tables about the same features, each with numbers of its own."""
    return np.concatenate(_apart(tables), axis=1)


def below(tables: Sequence[np.ndarray]) -> np.ndarray:
    """Tables about features after each other, each with numbers of its own."""
    width = max(table.shape[1] for table in tables)
    filled = [np.pad(t, ((0, 0), (0, width - t.shape[1])), constant_values=-1) for t in tables]
    return np.concatenate(_apart(filled))


def _apart(tables: Sequence[np.ndarray]) -> list[np.ndarray]:
    found, start = [], 0
    for table in tables:
        found.append(np.where(table >= 0, table + start, -1))
        start += int(table.max(initial=-1)) + 1
    return found


def compact(table: np.ndarray) -> np.ndarray:
    """int32: numbers without gaps, in their order, of rows that several features share.

    A row that one feature alone would have is none: its own will do.
    """
    numbers, inverse, counts = np.unique(table, return_inverse=True, return_counts=True)
    shared = (numbers >= 0) & (counts > 1)
    dense = np.where(shared, np.cumsum(shared) - 1, -1).astype(np.int32)
    found: np.ndarray = dense[inverse.reshape(table.shape)]
    return np.ascontiguousarray(found[:, (found >= 0).any(axis=0)])
