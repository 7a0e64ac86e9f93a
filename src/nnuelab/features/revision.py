"""What changes are kept of, from move to move (:mod:`nnuelab.features.kernels.revision`)."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numba import from_dtype, types

from nnuelab.chess.position import POSITION
from nnuelab.features.algebra import FeatureSet, kernels_by
from nnuelab.features.kernels.moved import PLACED
from nnuelab.features.records import COUNTS, PLACES, SETS, TERM
from nnuelab.features.tables import LIST, Tables
from nnuelab.jit import address, entry
from nnuelab.sources import closure, content_hash


class Revision:
    """The terms of a feature set of which changes are kept, and the others.

    Kept are those of sets of squares and, beside them, of piece-square blocks that have no feature
    for two places: what changes of these depends on the move alone, not on the kings as well.

    Attributes
    ----------
    n : int
        Terms that are sets of squares. Without any, nothing is worth keeping.
    terms : int
        Address of them, TERM[n].
    pieces : np.void of PIECE_SQUARE
        The piece-square blocks of which changes are kept.
    rest : np.void of FEATURES
        The set without both, for updates.
    rest_is_empty : bool
    function : int
        Address of ``kernels.revision.revise``, which is compiled where a set needs it, or 0.
    words : int
        uint64 words of a kept change.
    """

    def __init__(self, features: FeatureSet, tables: Tables) -> None:
        self.rest, self.pieces = tables.record.copy(), tables.record["terms"].copy()
        self.n = self.function = self.words = 0
        called = _at(int(tables.record["called"]), int(tables.record["n_called"]), TERM)
        apart = np.zeros(len(called), bool)
        if "square_sets" in _jitted(features):
            position, number = from_dtype(POSITION), types.int64
            squares = kernels_by("square_sets").squares_changes
            changes = entry(squares, from_dtype(SETS), position, position, number, LIST, LIST)
            apart = called["changes"] == changes
        self._owned = called[apart], called[~apart]
        self.terms, self.n = address(self._owned[0]), int(apart.sum())
        if self.n:
            made = kernels_by("revision")
            views, lists = (position, position), (LIST, LIST)
            arguments = *views, *[number] * 5, *lists, number, from_dtype(COUNTS)
            self.function = entry(made.revise, *arguments)
            self.words = PLACED + self.n * made.WORDS
            self.rest["n_called"] = len(called) - self.n
            self.rest["called"] = address(self._owned[1])
            (self.rest["terms"] if _is_injective(self.pieces) else self.pieces)["n"] = 0
        left = self.rest["terms"]["n"], self.rest["n_kings"], self.rest["n_called"]
        self.rest_is_empty = not any(left)


def code(features: FeatureSet) -> str:
    """A hash of the kernels by which the changes of a set are kept, if any are."""
    kept = "square_sets" in _jitted(features)
    return content_hash(closure("nnuelab.features.kernels.revision")) if kept else ""


def _is_injective(blocks: np.void) -> bool:
    """Whether no two places of a piece share a feature."""
    n = 2 * PLACES * int(blocks["n"])
    rows, masks = _at(int(blocks["rows"]), n, np.int32), _at(int(blocks["masks"]), n, np.uint64)
    squares = np.arange(n, dtype=np.uint64) // np.uint64(max(blocks["n"], 1)) % np.uint64(64)
    return bool((masks == np.uint64(1) << squares)[rows >= 0].all())


def _jitted(features: FeatureSet) -> set[str]:
    """Modules of kernels of all blocks, of those within sums, too."""
    found: set[str] = set()
    for block in features.blocks:
        found.update(block.jitted, _jitted(block.parts) if block.parts is not None else ())
    return found


def _at(place: int, n: int, dtype: Any) -> np.ndarray:
    """A copy of ``n`` elements at an address."""
    if n == 0:
        return np.zeros(0, dtype)
    memory = (ctypes.c_char * (n * np.dtype(dtype).itemsize)).from_address(place)
    return np.frombuffer(memory, dtype).copy()
