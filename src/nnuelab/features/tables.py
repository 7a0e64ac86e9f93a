"""A feature set as flat memory: what the kernels read, owned by a Python object.

Jitted code gets one record of dtype :data:`FEATURES`; what varies in size is behind its addresses.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from nnuelab.features.algebra import FeatureSet
from nnuelab.features.block import PIECES, SQUARES_ON_BOARD, Block
from nnuelab.features.concepts import KING
from nnuelab.jit import address

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

PRODUCT = np.dtype([("offset", "i8"), ("first", "i8"), ("n", "i8")], align=True)
"""A product: its first row, its first factor among ``factors``, and how many factors it has."""

FEATURES = np.dtype(
    [
        ("size", "i8"),  # number of features
        ("max_active", "i8"),  # bound of the rows that one perspective has active at once
        ("terms", PIECE_SQUARE),  # terms of the sum that are one block; rows are features
        ("factors", PIECE_SQUARE),  # factors of products; rows are multiplied by the stride
        ("n_products", "i8"),
        ("products", "u8"),  # -> PRODUCT[n_products]
        ("refresh", "u8", 2),  # by perspective: bit per piece whose move makes a refresh due
    ],
    align=True,
)
"""A feature set for jitted code; see :mod:`nnuelab.features.kernels` for what takes it."""

MAX_FACTOR_ROWS = 32  # one row for each piece on the board


class Tables:
    """Owner of the memory behind ``record``; it must outlive whoever uses the record.

    Attributes
    ----------
    record : np.void of FEATURES
    """

    def __init__(self, features: FeatureSet) -> None:
        self._owned: list[np.ndarray] = []
        self.record = np.zeros(1, FEATURES)[0]
        self.record["size"] = features.size
        self.record["max_active"] = features.max_active

        single: list[tuple[Block, int, int]] = []  # with offset and stride of the rows
        factors: list[tuple[Block, int, int]] = []
        products: list[tuple[int, int, int]] = []
        for offset, term in zip(features.offsets, features.terms, strict=True):
            if len(term.factors) == 1:
                single.append((term.factors[0], offset, 1))
                continue
            products.append((offset, len(factors), len(term.factors)))
            strides = list(accumulate(reversed(term.shape[1:]), int.__mul__, initial=1))[::-1]
            factors += [(b, 0, stride) for b, stride in zip(term.factors, strides, strict=True)]
        self._fill(self.record["terms"], single)
        self._fill(self.record["factors"], factors)
        self.record["n_products"] = len(products)
        self.record["products"] = self._own(np.array(products, dtype=PRODUCT))
        self.record["refresh"] = self._refresh([block for block, _, _ in factors])

    def _own(self, array: np.ndarray) -> int:
        self._owned.append(array)
        return address(array)

    def _fill(self, record: np.void, blocks: list[tuple[Block, int, int]]) -> None:
        """Writes blocks, each with the offset and the stride of its rows."""
        shape = (2, PIECES, SQUARES_ON_BOARD, len(blocks))
        rows = np.full(shape, -1, dtype=np.int32)
        masks = np.zeros(shape, dtype=np.uint64)
        groups = np.full(shape, -1, dtype=np.int32)
        members: list[np.ndarray] = []
        for place, (block, offset, stride) in enumerate(blocks):
            for perspective in range(2):
                seen = _seen_by(block.rows, perspective)
                rows[perspective, :, :, place] = np.where(seen >= 0, offset + stride * seen, -1)
                for row in np.unique(seen[seen >= 0]):
                    same = seen == row
                    squares = _bitboards(same)
                    pieces = np.flatnonzero(squares)
                    if len(pieces) == 1:
                        masks[perspective, :, :, place][same] = squares[pieces[0]]
                    else:
                        groups[perspective, :, :, place][same] = len(members)
                        members.append(squares)
        record["n"] = len(blocks)
        record["rows"] = self._own(rows)
        record["masks"] = self._own(masks)
        record["groups"] = self._own(groups)
        record["members"] = self._own(np.array(members, dtype=np.uint64).reshape(-1, PIECES))

    @staticmethod
    def _refresh(factors: list[Block]) -> list[int]:
        """Pieces whose move changes every tuple of a product: a factor about one king alone."""
        bits = [0, 0]
        for block in factors:
            if len(block.pieces) == 1 and (piece := min(block.pieces)) // 2 == KING:
                for perspective in range(2):
                    bits[perspective] |= 1 << (piece ^ perspective)
        return bits


def _seen_by(rows: np.ndarray, perspective: int) -> np.ndarray:
    """Rows by real piece and square: Black's perspective swaps colours and turns the board over."""
    if perspective == 0:
        return rows
    return rows[np.arange(PIECES) ^ 1][:, np.arange(SQUARES_ON_BOARD) ^ 56]


def _bitboards(places: np.ndarray) -> np.ndarray:
    """uint64[12] from bool[12, 64]."""
    return places.astype(np.uint64) @ (np.uint64(1) << np.arange(SQUARES_ON_BOARD, dtype=np.uint64))
