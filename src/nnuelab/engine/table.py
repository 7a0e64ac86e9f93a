"""The transposition table: buckets of one cache line, four entries of 16 bytes each."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from nnuelab.engine.state import MATE_BOUND
from nnuelab.jit import CACHE_LINE, address, aligned, at, inline, jit, view

ENTRY = np.dtype(
    [
        ("key", "u8"),  # Zobrist key of the position, 0 where nothing is stored
        ("move", "u2"),
        ("score", "i2"),  # mates count from this position, not from the root
        ("evaluation", "i2"),  # static evaluation or NO_EVALUATION
        ("depth", "u1"),
        ("bound", "u1"),  # BOUND_* | generation << 2
    ]
)
BUCKET = 4
BOUND_UPPER, BOUND_LOWER, BOUND_EXACT = 1, 2, 3  # lower | upper = exact
GENERATIONS = 64
AGE_PENALTY = 4  # plies of depth that an entry loses in worth per search since it was written
KEEP_DEPTH = 3  # a bound this much shallower doesn't overwrite a deeper entry of its position


class Table:
    """Owns the entries, aligned to cache lines; 1 MB holds 65,536 of them."""

    def __init__(self, megabytes: int) -> None:
        self.buckets = megabytes * (1 << 20) // CACHE_LINE
        self.entries = aligned((self.buckets, BUCKET), ENTRY)

    def attach(self, record: np.void) -> None:
        """Makes this the table of a SEARCH record."""
        record["table"], record["buckets"] = address(self.entries), self.buckets

    def clear(self) -> None:
        """Forgets everything, as a new table."""
        self.entries.view(np.uint8).fill(0)

    def permille(self, generation: int) -> int:
        """Thousandths of a sample of entries that this search has written."""
        sample = self.entries[:250]
        used = (sample["bound"] >> 2 == generation) & (sample["bound"] & 3 != 0)
        return int(used.mean() * 1000)


@intrinsic
def _prefetch(typing_context: Any, place: Any) -> Any:
    """Asks for the cache line at an address (uint64)."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        number = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [byte, number, number, number]),
            "llvm.prefetch.p0",
        )
        pointer = builder.inttoptr(args[0], byte)
        builder.call(function, [pointer, number(0), number(3), number(1)])  # read, keep, data
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@inline
def _bucket_of(s, key):
    """The upper half of the key, scaled to the number of buckets."""
    return np.int64(((key >> np.uint64(32)) * np.uint64(s.buckets)) >> np.uint64(32))


@inline
def prefetch(s, key):
    """Starts loading the bucket of a key."""
    _prefetch(s.table + np.uint64(CACHE_LINE) * np.uint64(_bucket_of(s, key)))


@inline
def entries(s):
    """The table as one row of entries."""
    return view(s.table, s.buckets * BUCKET, ENTRY)


@jit
def probe(s, key):
    """Index of the entry of a position in :func:`entries`, -1 when there is none."""
    table = entries(s)
    first = _bucket_of(s, key) * BUCKET
    for slot in range(first, first + BUCKET):
        if table[at(slot)].key == key:
            return slot
    return -1


@inline
def score_at(score, ply):
    """A stored score as seen from the root: mates are ``ply`` plies further away."""
    if score >= MATE_BOUND:
        return score - ply
    if score <= -MATE_BOUND:
        return score + ply
    return score


@jit
def store(s, key, move, score, evaluation, depth, bound, ply):
    """Writes the result of a search over the least valuable entry."""
    table = entries(s)
    first = _bucket_of(s, key) * BUCKET
    worst, worst_worth = first, np.int64(1 << 30)
    for slot in range(first, first + BUCKET):
        entry = table[at(slot)]
        if entry.key == key:
            worst = slot
            break
        age = (s.generation - (entry.bound >> 2)) & (GENERATIONS - 1)
        worth = np.int64(entry.depth) - AGE_PENALTY * age
        if worth < worst_worth:
            worst, worst_worth = slot, worth
    entry = table[at(worst)]
    if entry.key == key:
        if move == 0:
            move = np.int64(entry.move)
        same_search = entry.bound >> 2 == s.generation
        if bound != BOUND_EXACT and same_search and depth + KEEP_DEPTH < entry.depth:
            return
    entry.key = key
    entry.move = move
    entry.score = score_at(score, -ply)
    entry.evaluation = evaluation
    entry.depth = depth
    entry.bound = bound | (s.generation << 2)
