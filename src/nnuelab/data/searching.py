"""Labels by search: threads with an engine each, and a cache of earlier labels.

A search takes milliseconds, in another process or in a kernel that releases the GIL, so threads are
enough for any number of cores.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nnuelab.data.cache import Cache
from nnuelab.data.dataset import Dataset
from nnuelab.data.parallel import cores
from nnuelab.data.records import NO_SCORE
from nnuelab.data.unusable import Unusable
from nnuelab.data.validation import check

AHEAD = 64  # positions queued beyond those in search, so that a slow one holds up no other
BATCH = 16  # records
Found = tuple[int, int]  # score and best move


class Unlabelled(Exception):
    """Why a position gets no score; the run continues."""


class Searcher(Protocol):
    """Gives positions scores: a function of the position alone."""

    def __call__(self, record: np.void) -> Found:
        """Score (centipawns for the side to move) and best move; raises Unlabelled."""

    def close(self) -> None:
        """Ends its engine."""


@dataclass(frozen=True)
class Searching:
    """A labeller that searches.

    Attributes
    ----------
    make : callable
        Makes a `Searcher` for a thread.
    identity : mapping
        JSON: all that a label depends on besides the position.
    workers : int
        Threads; 0: one per core.
    """

    make: Callable[[], Searcher]
    identity: Mapping[str, Any]
    workers: int = 0

    def labels(
        self, samples: Dataset, places: range, cache: Cache, unusable: Unusable
    ) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Batches of records with scores and moves, in order.

        Parameters
        ----------
        samples : Dataset
        places : range
            Of those records.
        cache : Cache
            Known labels aren't searched again; new ones are stored at once.
        unusable : Unusable
            Counts positions without a score because engines fail on them.
        """
        workers = self.workers or cores()
        made: list[Searcher] = []
        own = threading.local()

        def search(key: bytes, record: np.void) -> Found:
            if not hasattr(own, "searcher"):
                own.searcher = self.make()
                made.append(own.searcher)
            found = own.searcher(record)
            cache.put(key, found)
            return found

        pending: deque[tuple[np.ndarray, list[Found | Future[Found]]]] = deque()
        flying: dict[bytes, Future[Found]] = {}
        executor = ThreadPoolExecutor(workers)
        try:
            for start in places[::BATCH]:
                stop = min(start + BATCH, places.stop)
                batch = np.concatenate([*samples.parts(start, stop)])
                check(batch, samples.path)
                keys = Cache.keys(batch)
                there = cache.get(keys)
                answers: list[Found | Future[Found]] = []
                for key, record in zip(keys, batch, strict=True):
                    if key in there:
                        answers.append(there[key])
                        continue
                    if key not in flying:
                        flying[key] = executor.submit(search, key, record)
                    answers.append(flying[key])
                pending.append((batch, answers))
                flying = {key: future for key, future in flying.items() if not future.done()}
                while pending and len(flying) >= workers + AHEAD:
                    yield self._collected(*pending.popleft(), unusable)
                    flying = {key: future for key, future in flying.items() if not future.done()}
                while pending and all(_is_done(answer) for answer in pending[0][1]):
                    yield self._collected(*pending.popleft(), unusable)
            while pending:
                yield self._collected(*pending.popleft(), unusable)
        finally:
            executor.shutdown(wait=False, cancel_futures=True)
            for searcher in made:
                searcher.close()  # ends searches that run
            executor.shutdown()
            cache.flush()

    def _collected(
        self, batch: np.ndarray, answers: list[Found | Future[Found]], unusable: Unusable
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        scores = np.full(len(batch), NO_SCORE, np.int16)
        moves = np.zeros(len(batch), np.uint16)
        for i, answer in enumerate(answers):
            try:
                found = answer.result() if isinstance(answer, Future) else answer
                scores[i], moves[i] = found
            except Unlabelled as error:
                unusable.add("position", str(error))
        return batch, scores, moves


def _is_done(answer: Found | Future[Found]) -> bool:
    return not isinstance(answer, Future) or answer.done()
