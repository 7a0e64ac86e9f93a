"""Positions seen before, found by their Zobrist keys in bounded memory."""

from __future__ import annotations

import numpy as np

from nnuelab.chess.position import castling_key, ep_key, piece_key, turn_key
from nnuelab.jit import at, inline, jit, lsb

BITS = 23  # 2^23 keys: 64 MB
WAYS = 8  # keys of one cache line, the latest first


class Duplicates:
    """Remembers the keys of the positions seen.

    A table of ``2^bits`` keys, in rows of WAYS: a new key replaces its row's oldest one. Hardly a
    duplicate is missed among half as many positions; of more, the latest are known.
    Different positions count as one only if their 64-bit keys are equal.
    """

    def __init__(self, bits: int = BITS) -> None:
        self._rows = np.zeros((1 << bits - 3, WAYS), np.uint64)

    def unseen(self, records: np.ndarray) -> np.ndarray:
        """Which records (RECORD [n]) are new, as bool [n]; they are known afterwards.

        Pieces, side to move, castling rights and a legal en-passant capture make a position.
        """
        fresh = np.empty(len(records), np.bool_)
        _find_unseen(records, self._rows, fresh)
        return fresh


@inline
def _key(record):
    """The Zobrist key, as ``chess.position.compute_key`` has it."""
    key = castling_key(record.flags >> 1) ^ ep_key(record.ep)
    if record.flags & 1:
        key ^= turn_key()
    left = record.occupied
    low, high = record.pieces_low, record.pieces_high
    while left:
        key ^= piece_key(at(low & np.uint64(15)), at(lsb(left)))
        left &= left - np.uint64(1)
        low = (low >> np.uint64(4)) | (high << np.uint64(60))
        high >>= np.uint64(4)
    return key


@jit
def _find_unseen(records, rows, fresh):
    for i in range(len(records)):
        key = _key(records[at(i)])
        row = rows[at(key & np.uint64(len(rows) - 1))]
        place = np.int64(0)
        while place < WAYS - 1 and row[at(place)] != key:
            place += 1
        fresh[at(i)] = row[at(place)] != key
        while place > 0:
            row[at(place)] = row[at(place - 1)]
            place -= 1
        row[0] = key
