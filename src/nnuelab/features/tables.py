"""A feature set as flat memory: what the kernels read, owned by a Python object.

Jitted code gets one record of dtype :data:`FEATURES`; what varies in size is behind its addresses.

Piece-square blocks that are terms of the sum are tables beside each other, which the kernels read
themselves. Every other term, of whatever kind, is a :data:`TERM`: the addresses of two functions
and of their data. They are compiled when a feature set uses them, so a sum without them pays one
test, and the search needs no compilation for any of them:

``active(data, position, perspective, out) -> n``
    Writes the term's active features, each once, in any order, counted from 0.
``changes(data, old, new, perspective, added, removed) -> pack(n_added, n_removed)``
    Writes what becomes active and inactive between any two positions; ``FROM_SCRATCH`` where that
    is not known: the caller compares what is active in both.

The functions of a term with a table ``turned`` (Kernels) are called for White only.

``data`` is the kind's own record, positions are records of POSITION, ``perspective`` is 0 for White
and 1 for Black, the lists are pointers to int32 with room for ``max_active`` features.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
from numba import from_dtype, types

from nnuelab.chess.position import POSITION
from nnuelab.features.algebra import FeatureSet, Product
from nnuelab.features.block import MOST_PIECES, PIECES, SQUARES_ON_BOARD, Classes, Kernels
from nnuelab.features.extraction import EXTRACTED, extracted
from nnuelab.features.kinds.king import KingPiece
from nnuelab.features.kinds.piece_square import PieceSquare, seen_by
from nnuelab.features.kinds.sum import Sum
from nnuelab.jit import address, entry

PIECE_SQUARE = np.dtype(
    [
        ("n", "i8"),  # number of blocks, n
        ("rows", "u8"),  # -> int32[2, 12, 64, n]: row of each block, -1 none
        ("masks", "u8"),  # -> uint64[2, 12, 64, n]: squares of the piece with the same row, or 0
        ("groups", "u8"),  # -> int32[2, 12, 64, n]: where the mask is 0, number of the row's group
        ("members", "u8"),  # -> uint64[groups, 12]: squares of every piece with that row
    ],
    align=True,
)
"""Piece-square blocks side by side, by perspective (0 White, 1 Black), piece code and square.

A row belongs to a set of squares of one piece (its mask). A row that several pieces share (a block
without roles or colours) has mask 0 and a group, which lists the squares of all twelve pieces.
"""

TERM = np.dtype(
    [
        ("active", "u8"),  # function
        ("changes", "u8"),  # function, or 0
        ("data", "u8"),
        ("turned", "u8"),  # -> int32[]: Black's features by those of White, or 0
        ("offset", "i8"),  # of its features in the sum
    ],
    align=True,
)
"""A term that is reached by address."""

OWN_KEYS, ENEMY_KEYS, COUNT_KEYS = 0, SQUARES_ON_BOARD, 2 * SQUARES_ON_BOARD
KEYS = 2 * SQUARES_ON_BOARD + MOST_PIECES + 1

FEATURES = np.dtype(
    [
        ("size", "i8"),  # number of features
        ("max_active", "i8"),  # bound of the rows that one perspective has active at once
        ("terms", PIECE_SQUARE),  # terms of the sum that are one piece-square block
        ("n_called", "i8"),
        ("called", "u8"),  # -> TERM[n_called]
        ("n_extracted", "i8"),  # blocks that batches are extracted of without any position
        ("extracted", "u8"),  # -> EXTRACTED[n_extracted]
        ("n_others", "i8"),  # the first of the called terms: those that are no such block
        ("add_active", "u8"),  # functions of called_kernels, where there are such terms
        ("add_active_of_both", "u8"),
        ("add_changes", "u8"),
        ("add_changes_of_both", "u8"),
        ("state", "i8"),  # 1: a term reads more of a position than where its pieces stand
        ("n_keys", "i8"),  # 1: a refresh is never due
        # -> int64[2, KEYS]: by perspective, what the squares of the two kings and the number of
        # pieces add to the key; where the key changes, a refresh is due
        ("keys", "u8"),
    ],
    align=True,
)
"""A feature set for jitted code; see :mod:`nnuelab.features.kernels` for what takes it."""

COUNTS = np.dtype([("added", "i8"), ("removed", "i8")])
"""Lengths of lists for both perspectives, two in each number (lists.pack)."""

PRODUCT = np.dtype(
    [
        ("n", "i8"),  # factors
        ("factors", "u8"),  # -> FEATURES[n]
        ("strides", "u8"),  # -> int64[n]
        ("width", "i8"),  # the most features that any factor has active
    ],
    align=True,
)

FROM_SCRATCH = -1  # what `changes` returns when it doesn't know

_LIST = types.CPointer(types.int32)


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
        inlined: list[tuple[np.ndarray, int]] = []
        tabulated: list[tuple[np.void, list[Any]]] = []
        called: list[tuple[int, int, int, int, int]] = []
        tabulated_too: list[tuple[int, int, int, int, int]] = []
        for term, offset in _without_sums(features, 0):
            block = term.factors[0] if len(term.factors) == 1 else None
            if isinstance(block, PieceSquare | KingPiece):
                tabulated.append(extracted(block, offset))
            if isinstance(block, PieceSquare):
                inlined.append((block.rows, offset))
                continue
            kernels = self._product(term) if block is None else block.kernels()
            terms = tabulated_too if isinstance(block, KingPiece) else called
            terms.append((*self._compile(kernels), offset))
            self.record["state"] |= kernels.state
        self.record["terms"], owned = piece_square_tables(inlined)
        self._owned += [owned, [owner for _, owner in tabulated]]
        self.record["n_extracted"] = len(tabulated)
        self.record["extracted"] = self._own(np.array([one for one, _ in tabulated], EXTRACTED))
        self.record["n_others"] = len(called)
        called += tabulated_too
        self.record["n_called"] = len(called)
        self.record["called"] = self._own(np.array(called, dtype=TERM))
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

    def _own(self, array: np.ndarray) -> int:
        self._owned.append(array)
        return address(array)

    def _compile(self, kernels: Kernels) -> tuple[int, int, int, int]:
        self._owned.append(kernels)
        if kernels.check is not None:
            self._checks.append(kernels.check)
        data, position = from_dtype(kernels.data.dtype), from_dtype(POSITION)
        active = entry(kernels.active, data, position, types.int64, _LIST)
        changes = 0
        if kernels.changes is not None:
            changes = entry(kernels.changes, data, position, position, types.int64, _LIST, _LIST)
        turned = 0 if kernels.turned is None else address(kernels.turned)
        return active, changes, address(kernels.data), turned

    def _compile_called(self) -> None:
        from nnuelab.features import called_kernels

        features, position, number = from_dtype(FEATURES), from_dtype(POSITION), types.int64
        views, lists = (position, position), (_LIST, _LIST)
        counts = from_dtype(COUNTS)
        for name, arguments in {
            "add_active": (features, position, number, _LIST, number),
            "add_active_of_both": (features, position, *lists, number),
            "add_changes": (features, *views, number, *lists, number),
            "add_changes_of_both": (features, *views, *lists, number, counts),
        }.items():
            self.record[name] = entry(vars(called_kernels)[name], *arguments)

    @staticmethod
    def _product(term: Product) -> Kernels:
        from nnuelab.features.kinds import product_kernels

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
            product_kernels.active,
            product_kernels.changes,
            data,
            state=bool(records["state"].any()),
            owned=(factors, records, strides),
            check=partial(_check_all, factors),
        )

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
        self.record["keys"] = self._own(keys)


def _check_all(factors: Iterable[Tables]) -> None:
    for factor in factors:
        factor.check()


def _without_sums(features: FeatureSet, start: int) -> Iterator[tuple[Product, int]]:
    """Terms with their offsets; those of a sum under one name for itself."""
    for offset, term in zip(features.offsets, features.terms, strict=True):
        block = term.factors[0]
        if len(term.factors) == 1 and isinstance(block, Sum):
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
