"""The three ways in which jitted code finds the features of an evaluation's terms.

A feature of one piece on one square is a place in a table. What a function computes is asked for
by address, with the board turned over once for all of them. All others are a feature set.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nnuelab.features import FeatureSet, Product
from nnuelab.features.answers import Kernels
from nnuelab.features.kinds.computed import Computed
from nnuelab.features.tables import Tables
from nnuelab.hce.records import GROUP, PART
from nnuelab.jit import address


class Parts:
    """The features of an evaluation by the way they are found.

    Rows are features; those of the others come first, in their order, then those that are computed.

    Parameters
    ----------
    features : FeatureSet
    rows : ndarray [features.size, ...]
        What stands for each feature.

    Attributes
    ----------
    placed : list of (int32[12, 64], ndarray)
        Tables of rows by piece and square, -1 for none, and the rows themselves.
    computed : list of (Computed, Kernels, int)
        Blocks, their kernels and their first row.
    tables : Tables
        Of the others, which may be none.
    rows : ndarray
        Of the others and of what is computed.
    """

    def __init__(self, features: FeatureSet, rows: np.ndarray) -> None:
        self.placed: list[tuple[np.ndarray, np.ndarray]] = []
        others: list[Product] = []
        found: list[tuple[Computed, np.ndarray]] = []
        kept = [rows[:0]]
        for product, offset in zip(features.terms, features.offsets, strict=True):
            own, block = rows[offset : offset + product.size], product.factors[0]
            if (table := _one_table(product)) is not None:
                self.placed.append((table, own))
            elif len(product.factors) == 1 and isinstance(block, Computed):
                found.append((block, own))
            else:
                others.append(product)
                kept.append(own)
        self.tables = Tables(FeatureSet(tuple(others)))
        self.computed: list[tuple[Computed, Kernels, int]] = []
        for block, own in found:
            self.computed.append((block, block.kernels(), sum(map(len, kept))))
            kept.append(own)
        self.rows = np.concatenate(kept)

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """GROUP and PART of what is computed: blocks with one function that tells of changes are
        together. Valid as long as this object."""
        together: dict[Any, list[tuple[Kernels, int]]] = {}
        for block, kernels, first in self.computed:
            together.setdefault(block.changed, []).append((kernels, first))
        groups: list[tuple[int, int, int]] = []
        parts: list[tuple[int, int]] = []
        for group in together.values():
            changed = int(group[0][0].data["changed"][0])
            groups.append((len(parts), len(parts) + len(group), changed))
            parts += [(address(kernels.data), first) for kernels, first in group]
        return np.array(groups, GROUP), np.array(parts, PART)

    def check(self) -> None:
        """Raises UserError when a block of a user's has broken its bounds since the last time."""
        self.tables.check()
        for _, kernels, _ in self.computed:
            if kernels.check is not None:
                kernels.check()


def _one_table(product: Product) -> np.ndarray | None:
    """int32[12, 64] of a product whose features are each of one piece on one square."""
    found = product.factors[0].tabulated() if len(product.factors) == 1 else None
    if found is None or len(found.tables) > 1:
        return None
    rows = found.tables[0][found.tables[0] >= 0]
    return found.tables[0] if len(np.unique(rows)) == len(rows) else None
