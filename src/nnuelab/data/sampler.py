"""Positions in random order, for sets larger than memory.

Neighbours in a file come from one game. A set of up to WINDOW positions is shuffled as a whole. Of
a larger one, blocks of neighbours are drawn in random order, as many as make a window, and these
positions are shuffled: each batch holds positions of hundreds of places in the file, which is
read once an epoch, block by block. The order is a function of the seed, the epoch and the number of
positions alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise

import numpy as np

from nnuelab.data.dataset import Dataset
from nnuelab.data.records import NO_SCORE, RECORD
from nnuelab.jit import jit

WINDOW = 1 << 20  # positions: 42 MB
BLOCK = 1 << 11  # positions, some fifty games: 82 KB read at once


def scored(records: np.ndarray) -> np.ndarray:
    """Which positions have a score, bool [n]."""
    found: np.ndarray = records["score"] != NO_SCORE
    return found


def of_games(records: np.ndarray, share: float) -> np.ndarray:
    """Which positions belong to a share of the games, bool [n].

    A game is drawn by a hash of its number (Knuth's multiplicative one), so that the games of a
    smaller share are among those of a larger one.
    """
    mixed = records["game"].astype(np.uint32) * np.uint32(2654435769)
    drawn: np.ndarray = mixed < share * 2.0**32
    return drawn


def shuffled(
    dataset: Dataset,
    size: int,
    seed: int,
    epoch: int,
    *,
    keep: Callable[[np.ndarray], np.ndarray] = scored,
    window: int = WINDOW,
    block: int = BLOCK,
) -> Iterator[np.ndarray]:
    """All positions that are kept, in random order, in batches.

    Parameters
    ----------
    dataset : Dataset
    size : int
        Of a batch; the last one may be smaller.
    seed, epoch : int
    keep : function
        Which of some records, bool [n].
    window, block : int
        Positions.

    Yields
    ------
    ndarray of RECORD [size]
        Within a batch the order has no meaning.
    """
    generator = np.random.default_rng([seed, epoch])
    held = np.empty(min(window, len(dataset)), RECORD)
    dealt, batch_of = np.empty_like(held), np.empty(len(held), np.uint32)
    rest: list[np.ndarray] = []  # of a batch that goes on in the next window
    for ranges in _windows(len(dataset), generator, window, block):
        records = _kept(dataset, ranges, held, keep)
        n, before = len(records), sum(map(len, rest))
        # Where the batches begin; the first one may have begun in the window before.
        starts = np.maximum(np.arange(0, before + n, size) - before, 0)
        deal(records, generator.permutation(n), before, size, batch_of, starts.copy(), dealt)
        for start, stop in pairwise([*starts.tolist(), n]):
            rest.append(_words(dealt[start:stop]).copy().view(RECORD))
            if sum(map(len, rest)) == size:
                yield rest[0] if len(rest) == 1 else np.concatenate(rest)
                rest = []
    if rest:
        yield np.concatenate(rest)


def in_order(
    dataset: Dataset, size: int, keep: Callable[[np.ndarray], np.ndarray] = scored
) -> Iterator[np.ndarray]:
    """All positions that are kept as they lie in the file, in batches of ``size`` or fewer."""
    held = np.empty(min(size, len(dataset)), RECORD)
    for start in range(0, len(dataset), size):
        records = _kept(dataset, [(start, start + size)], held, keep)
        if len(records):
            yield _words(records).copy().view(RECORD)


def parts(dataset: Dataset) -> Iterator[np.ndarray]:
    """All positions as they lie in the file, in pieces of up to WINDOW."""
    for shard in dataset.shards:
        for start in range(0, len(shard), WINDOW):
            yield shard[start : start + WINDOW]


def count(dataset: Dataset, keep: Callable[[np.ndarray], np.ndarray] = scored) -> int:
    """Positions that are kept."""
    return sum(int(np.count_nonzero(keep(part))) for part in parts(dataset))


def _windows(
    n: int, generator: np.random.Generator, window: int, block: int
) -> Iterator[list[tuple[int, int]]]:
    """Ranges of the positions of each window."""
    if n <= window:
        yield [(0, n)]
        return
    starts, together = generator.permutation(np.arange(0, n, block)), window // block
    for first in range(0, len(starts), together):
        # Ascending reads follow the disk.
        chosen = np.sort(starts[first : first + together])
        yield [(start, start + block) for start in chosen.tolist()]


def _kept(
    dataset: Dataset,
    ranges: Iterable[tuple[int, int]],
    held: np.ndarray,
    keep: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """The positions of some ranges that are kept, in ``held`` or, fewer, in other memory."""
    n = 0
    for start, stop in ranges:
        for part in dataset.parts(start, stop):
            _words(held[n : n + len(part)])[:] = _words(part)
            n += len(part)
    kept = keep(held[:n])
    return held[:n] if kept.all() else held[:n][kept]


def _words(records: np.ndarray) -> np.ndarray:
    """uint64 [5 n]: the same memory; numpy copies structures field by field, five times slower."""
    return records.view(np.uint64)


@jit
def deal(records, order, held, size, batch_of, places, dealt):
    """Deals records out to the batches of an order, those of a batch as they lie.

    The same as sorting the order within each batch and gathering, but it reads in one pass and
    writes to a few streams, where gathering waits for memory at every record.

    Parameters
    ----------
    records : RECORD [n]
    order : int64 [n]
        A permutation: the batch of ``records[order[i]]`` is ``(i + held) // size``.
    held, size : int64
    batch_of : uint32 [n], written
    places : int64 [batches], changed
        Where the records of each batch begin.
    dealt : RECORD [n], written
    """
    batch, left = np.int64(0), size - held
    for i in range(len(order)):
        if left == 0:
            batch += 1
            left = size
        batch_of[order[i]] = batch
        left -= 1
    for i in range(len(records)):
        place = places[batch_of[i]]
        places[batch_of[i]] = place + 1
        dealt[place] = records[i]
