"""A feature set as flat memory: builds what the kernels read, and owns it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numba import from_dtype, types

from nnuelab.chess.position import POSITION
from nnuelab.features.algebra import FeatureSet, Product
from nnuelab.features.answers import Classes, Kernels, Tabulated
from nnuelab.features.extraction import extracted
from nnuelab.features.legality import by_player, seen_by
from nnuelab.features.records import (
    BATCH,
    COUNT_KEYS,
    COUNTS,
    ENEMY_KEYS,
    EXTRACTED,
    FEATURES,
    KEYS,
    KING_PIECE,
    OWN_KEYS,
    PIECE_SQUARE,
    PIECES,
    PRODUCT,
    SQUARES_ON_BOARD,
    TERM,
)
from nnuelab.jit import address, entry

LIST = types.CPointer(types.int32)


def compiled(features: FeatureSet) -> Tables:
    """The tables of a feature set, built at the first call and kept as long as the set.

    Sets that are equal have tables of their own: there is scratch in them, for one thread at a
    time.
    """
    kept = vars(features)
    if "_tables" not in kept:
        kept["_tables"] = Tables(features)
    return kept["_tables"]


class Tables:
    """Owner of the memory behind ``record``; it must outlive whoever uses the record.

    Attributes
    ----------
    record : np.void of FEATURES
    """

    def __init__(self, features: FeatureSet) -> None:
        self._owned: list[Any] = []
        self._checks: list[Callable[[], None]] = []
        self.record = np.zeros(1, FEATURES)[0]
        self.record["size"] = features.size
        self.record["max_active"] = features.max_active
        placed: list[tuple[np.ndarray, int]] = []
        kings: list[np.void] = []
        batches: list[np.void] = []
        called: list[tuple[int, int, int, int, int]] = []
        for term, offset in _without_sums(features, 0):
            block = term.factors[0] if len(term.factors) == 1 else None
            table = block.tabulated() if block is not None else None
            if table is None:
                kernels = _product(term) if block is None else block.kernels()
                called.append((*self._compile(kernels), offset))
                self.record["state"] |= kernels.state
                continue
            batch, owned = extracted(table, offset)
            batches.append(batch)
            self._owned.append(owned)
            if len(table.tables) == 1:
                placed.append((table.tables[0], offset))
            else:
                kings.append(self._by_king(table, offset))
        self.record["terms"], tables = piece_square_tables(placed)
        self._owned.append(tables)
        for name, records, dtype in (
            ("kings", kings, KING_PIECE),
            ("extracted", batches, EXTRACTED),
            ("called", called, TERM),
        ):
            self.record[f"n_{name}"] = len(records)
            self.record[name] = self._own(np.array(records, dtype))
        if called:
            self._compile_called()
        self._write_keys(features.classes())

    def check(self) -> None:
        """Raises UserError when a function of a user's has broken its bounds since the last time.

        Compiled code can't say so itself: whoever has called it asks here. No memory has been
        overwritten, but features are missing.
        """
        for check in self._checks:
            check()

    def _by_king(self, block: Tabulated, offset: int) -> np.void:
        """A record of KING_PIECE."""
        made = [piece_square_tables([(rows, offset)]) for rows in block.tables]
        self._owned.append(made)
        record = np.zeros(1, KING_PIECE)[0]
        record["n"] = len(made)
        record["blocks"] = self._own(np.array([blocks for blocks, _ in made], PIECE_SQUARE))
        record["classes"] = self._own(by_player(block.class_of))
        return record

    def _own(self, array: np.ndarray) -> int:
        self._owned.append(array)
        return address(array)

    def _compile(self, kernels: Kernels) -> tuple[int, int, int, int]:
        self._owned.append(kernels)
        if kernels.check is not None:
            self._checks.append(kernels.check)
        data, position = from_dtype(kernels.data.dtype), from_dtype(POSITION)
        active = entry(kernels.active, data, position, types.int64, LIST)
        changes = 0
        if kernels.changes is not None:
            changes = entry(kernels.changes, data, position, position, types.int64, LIST, LIST)
        turned = 0 if kernels.turned is None else address(kernels.turned)
        return active, changes, address(kernels.data), turned

    def _compile_called(self) -> None:
        from nnuelab.features.kernels import called

        features, position, number = from_dtype(FEATURES), from_dtype(POSITION), types.int64
        views, lists = (position, position), (LIST, LIST)
        counts = from_dtype(COUNTS)
        for name, arguments in {
            "add_active": (features, position, number, LIST, number),
            "add_active_of_many": (features, from_dtype(BATCH)),
            "add_changes": (features, *views, number, *lists, number),
            "add_changes_of_both": (features, *views, *lists, number, counts),
        }.items():
            self.record[name] = entry(vars(called)[name], *arguments)

    def _write_keys(self, classes: Classes) -> None:
        own, enemy, count = (
            np.unique(part, return_inverse=True)[1].reshape(-1)
            for part in (classes.own, classes.enemy, classes.count)
        )
        keys = np.zeros((2, KEYS), np.int64)
        enemies, counts = int(enemy.max()) + 1, int(count.max()) + 1
        for perspective in range(2):
            squares = np.arange(SQUARES_ON_BOARD) ^ 56 * perspective
            keys[perspective, OWN_KEYS:ENEMY_KEYS] = own[squares] * enemies * counts
            keys[perspective, ENEMY_KEYS:COUNT_KEYS] = enemy[squares] * counts
            keys[perspective, COUNT_KEYS:] = count
        self.record["n_keys"] = (int(own.max()) + 1) * enemies * counts
        self.record["counts"] = counts > 1
        self.record["keys"] = self._own(keys)


def _product(term: Product) -> Kernels:
    from nnuelab.features.kernels import product

    factors = [Tables(FeatureSet.of(block)) for block in term.factors]
    records = np.array([factor.record for factor in factors], FEATURES)
    strides = np.array(
        list(accumulate(reversed(term.shape[1:]), int.__mul__, initial=1))[::-1], np.int64
    )
    data = np.zeros(1, PRODUCT)
    data["n"] = len(factors)
    data["factors"], data["strides"] = address(records), address(strides)
    data["width"] = max(block.max_active for block in term.factors)
    return Kernels(
        product.active,
        product.changes,
        data,
        state=bool(records["state"].any()),
        owned=(factors, records, strides),
        check=partial(_check_all, factors),
    )


def _check_all(factors: Iterable[Tables]) -> None:
    for factor in factors:
        factor.check()


def _without_sums(features: FeatureSet, start: int) -> Iterator[tuple[Product, int]]:
    """Terms with their offsets; those of a sum under one name for itself."""
    for offset, term in zip(features.offsets, features.terms, strict=True):
        block = term.factors[0]
        if len(term.factors) == 1 and block.is_sum and block.parts is not None:
            yield from _without_sums(block.parts, start + offset)
        else:
            yield term, start + offset


def piece_square_tables(blocks: list[tuple[np.ndarray, int]]) -> tuple[np.void, list[np.ndarray]]:
    """A record of PIECE_SQUARE for blocks side by side, and the owner of what it points to.

    Parameters
    ----------
    blocks : list of (int32[12, 64], int)
        Rows of each block as its perspective sees them, -1 for none, and what is added to them.
    """
    shape = (2, PIECES, SQUARES_ON_BOARD, len(blocks))
    rows = np.full(shape, -1, dtype=np.int32)
    masks = np.zeros(shape, dtype=np.uint64)
    groups = np.full(shape, -1, dtype=np.int32)
    members: list[np.ndarray] = []
    for place, (block, offset) in enumerate(blocks):
        for perspective in range(2):
            seen = seen_by(block, perspective)
            rows[perspective, :, :, place] = np.where(seen >= 0, offset + seen, -1)
            _, where, counts = np.unique(seen, return_inverse=True, return_counts=True)
            alone = (counts[where.reshape(seen.shape)] == 1) & (seen >= 0)
            bits = np.broadcast_to(_BITS, seen.shape)
            masks[perspective, :, :, place][alone] = bits[alone]
            for row in np.unique(seen[(seen >= 0) & ~alone]):
                same = seen == row
                squares = same.astype(np.uint64) @ _BITS
                pieces = np.flatnonzero(squares)
                if len(pieces) == 1:
                    masks[perspective, :, :, place][same] = squares[pieces[0]]
                else:
                    groups[perspective, :, :, place][same] = len(members)
                    members.append(squares)
    record = np.zeros(1, PIECE_SQUARE)[0]
    owned: list[np.ndarray]
    owned = [rows, masks, groups, np.array(members, dtype=np.uint64).reshape(-1, PIECES)]
    record["n"] = len(blocks)
    for name, array in zip(("rows", "masks", "groups", "members"), owned, strict=True):
        record[name] = address(array)
    return record, owned


_BITS = np.uint64(1) << np.arange(SQUARES_ON_BOARD, dtype=np.uint64)
