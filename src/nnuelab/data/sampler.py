"""Positions in random order, for sets larger than memory.

Neighbours in a file come from one game. A set of up to WINDOW positions is shuffled as a whole. Of
a larger one, blocks of neighbours are drawn in random order, as many as make a window, and these
positions are shuffled: each batch holds positions of hundreds of places in the file, which is
read once an epoch, block by block. The order is a function of the seed, the epoch and the number of
positions alone.

What is decoded as it is read, has weights, or has epochs of a stated length is one endless row of
passes (`Walk`): in each the blocks come in another order, as often as their weight says, and an
epoch begins where the one before it ends. This order depends on the sizes of the blocks, too. Of
several processes each reads its own share of every pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from itertools import count as numbers
from itertools import pairwise

import numpy as np

from nnuelab.data.dataset import Dataset
from nnuelab.data.draws import STEP, splitmix64
from nnuelab.data.encoded import Encoded
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
    walk: Walk | None = None,
    workers: int = 1,
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
    walk : Walk, optional
        The epoch's part of it, instead of the whole dataset.
    workers : int
        Threads that read.

    Yields
    ------
    ndarray of RECORD [size]
        Within a batch the order has no meaning.
    """
    generator = np.random.default_rng([seed, epoch])
    windows = _windows(len(dataset), generator, window, block)
    held = np.empty(min(window, len(dataset)), RECORD)
    if walk is not None:
        windows = walk.windows(seed, epoch, window)
        held = walk.held(window)
    left = len(dataset) if walk is None else walk.samples
    dealt, batch_of = np.empty_like(held), np.empty(len(held), np.uint32)
    rest: list[np.ndarray] = []  # of a batch that goes on in the next window
    for ranges in windows:
        records = _kept(dataset, ranges, held, keep, workers)[:left]
        left -= len(records)
        n, before = len(records), sum(map(len, rest))
        # Where the batches begin; the first one may have begun in the window before.
        starts = np.maximum(np.arange(0, before + n, size) - before, 0)
        deal(records, generator.permutation(n), before, size, batch_of, starts.copy(), dealt)
        for start, stop in pairwise([*starts.tolist(), n]):
            rest.append(_words(dealt[start:stop]).copy().view(RECORD))
            if sum(map(len, rest)) == size:
                yield rest[0] if len(rest) == 1 else np.concatenate(rest)
                rest = []
        if not left:
            break
    if rest:
        yield np.concatenate(rest)


def mask(dataset: Dataset, keep: Callable[[np.ndarray], np.ndarray] = scored) -> np.ndarray:
    """Which positions are kept, bool [n]."""
    return np.concatenate([np.zeros(0, bool), *map(keep, parts(dataset))])


def order(
    before: np.ndarray, seed: int, epoch: int, *, window: int = WINDOW, block: int = BLOCK
) -> np.ndarray:
    """The order of `shuffled`, as numbers among the positions that are kept, int64.

    Batches of it have the positions of the same batches there.

    Parameters
    ----------
    before : int64 [n + 1]
        How many of the positions before each one are kept, and of all.
    """
    generator, n = np.random.default_rng([seed, epoch]), len(before) - 1
    windows = []
    for ranges in _windows(n, generator, window, block):
        bounds = before[np.minimum(ranges, n)].tolist()
        numbers = np.concatenate([np.arange(first, last) for first, last in bounds])
        windows.append(generator.permutation(numbers))
    return np.concatenate(windows)


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


class Walk:
    """The endless row of passes over a dataset, and how much of it an epoch is.

    Parameters
    ----------
    dataset : Dataset
    block : int
        Positions that are read at once where the dataset is mapped into memory.

    Attributes
    ----------
    stride : int
        Positions of the row from the beginning of one epoch to that of the next; at first those of
        the first pass.
    samples : int
        Positions of an epoch, of those that are kept; at first the same.
    part, parts : int
        The row has this of so many shares of each pass; at first all of it.
    """

    def __init__(self, dataset: Dataset, block: int = BLOCK) -> None:
        bounds, shard_of = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        first = 0
        for number, shard in enumerate(dataset.shards):
            if isinstance(shard, Encoded):
                own = shard.starts[:-1]
            else:
                own = np.arange(0, len(shard), block)
            bounds.append(own + first)
            shard_of.append(np.full(len(own), number))
            first += len(shard)
        self._starts = np.concatenate(bounds)
        self._stops = np.append(self._starts[1:], first)
        sizes = self._stops - self._starts
        weights = np.array(dataset.weights or [1.0] * len(dataset.shards))
        # Where all are below 1, only their ratios count: no pass is without positions.
        weights /= min(weights.max(), 1.0)
        self._weights = weights[np.concatenate(shard_of)]
        # A block of weight 0.3 comes in three of ten passes, not all such blocks in the same ones.
        mixed = splitmix64.py_func(np.arange(1, len(sizes) + 1, dtype=np.uint64) * STEP)
        self._phase = (mixed >> np.uint64(11)) * 2.0**-53
        self._sizes, self._largest = sizes, int(sizes.max(initial=0))
        self._longest = int((np.ceil(self._weights) * sizes).sum())
        self.part, self.parts = 0, 1
        self.samples = self.stride = self._length(0)

    def of_process(self, part: int, parts: int, samples: int) -> Walk:
        """The row of one of several processes, which has so many of the samples of an epoch."""
        own = copy(self)
        own.part, own.parts = part, parts
        own.stride, own.samples = -(-self.stride * samples // self.samples), samples
        return own

    def _times(self, number: int) -> np.ndarray:
        """How often each block comes in a pass, int64 [n]."""
        before, after = (
            np.floor(self._weights * passed + self._phase) for passed in (number, number + 1)
        )
        return (after - before).astype(np.int64)

    def held(self, window: int) -> np.ndarray:
        """Memory for a window, RECORD [n]."""
        return np.empty(max(min(window, self._longest), self._largest), RECORD)

    def _length(self, number: int) -> int:
        return int((self._times(number) * self._sizes).sum())

    def windows(self, seed: int, epoch: int, window: int) -> Iterator[list[tuple[int, int]]]:
        """Ranges of the positions of each window, from the beginning of an epoch on, endlessly.

        A window has positions of one pass and of one epoch, as far as the stride tells its end.
        """
        skipped, left = epoch * self.stride, self.stride
        for number in numbers():
            length = self._length(number)
            place, end = (length * share // self.parts for share in (self.part, self.part + 1))
            if skipped >= end - place:
                skipped -= end - place
                continue
            place, skipped = place + skipped, 0
            blocks = np.repeat(np.arange(len(self._sizes)), self._times(number))
            order = np.random.default_rng([seed, number, 1]).permutation(blocks)
            ends = np.cumsum(self._sizes[order])
            while place < end:
                room = min(window, left) if left > 0 else window
                first = int(np.searchsorted(ends, place, "right"))
                # Whole blocks, at least one, however large; what an end cuts is read on both sides.
                last = max(int(np.searchsorted(ends, place + room, "right")), first + 1)
                until = min(int(ends[last - 1]), end)
                if room == left or place + room >= end:
                    until = min(place + room, end)
                    last = int(np.searchsorted(ends, until)) + 1
                starts, stops = self._starts[order[first:last]], self._stops[order[first:last]]
                starts[0] += place - int(ends[first] - self._sizes[order[first]])
                stops[-1] -= int(ends[last - 1]) - until
                by_place = np.argsort(starts, kind="stable")  # ascending reads follow the disk
                yield [*zip(starts[by_place].tolist(), stops[by_place].tolist(), strict=True)]
                left -= until - place
                place = until


def of_walk(
    dataset: Dataset,
    walk: Walk,
    keep: Callable[[np.ndarray], np.ndarray],
    most: int,
    workers: int = 1,
) -> tuple[int, int]:
    """Positions that are kept of the first pass, or of its first ``most``; and of how many."""
    held, kept, left = walk.held(WINDOW), 0, min(most, walk.stride)
    seen = 0
    for ranges in walk.windows(0, 0, WINDOW):
        if seen >= left:
            break
        kept += len(_kept(dataset, ranges, held, keep, workers))
        seen += sum(stop - start for start, stop in ranges)
    return kept, seen


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
    ranges: Sequence[tuple[int, int]],
    held: np.ndarray,
    keep: Callable[[np.ndarray], np.ndarray],
    workers: int = 1,
) -> np.ndarray:
    """The positions of some ranges that are kept, in ``held``."""
    sizes = [max(min(stop, len(dataset)) - start, 0) for start, stop in ranges]
    places = np.cumsum([0, *sizes]).tolist()
    n = places.pop()

    def read(place: int, between: tuple[int, int]) -> None:
        for part in dataset.parts(*between):
            _words(held[place : place + len(part)])[:] = _words(part)
            place += len(part)

    if workers == 1:
        for _ in map(read, places, ranges):
            pass
    else:
        with ThreadPoolExecutor(workers) as pool:
            for _ in pool.map(read, places, ranges):
                pass
    return held[: gather(held, keep(held[:n]))]


def _words(records: np.ndarray) -> np.ndarray:
    """uint64 [5 n]: the same memory; numpy copies structures field by field, five times slower."""
    return records.view(np.uint64)


@jit
def gather(records, kept):
    """Moves the records (RECORD [n or more]) that are kept (bool [n]) to the front; how many."""
    n = np.int64(0)
    for i in range(len(kept)):
        if kept[i]:
            if n < i:
                records[n] = records[i]
            n += 1
    return n


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
