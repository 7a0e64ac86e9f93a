"""A pool of threads for training and verifying on a CPU."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

T = TypeVar("T")
R = TypeVar("R")


class Threads:
    """A pool of threads for kernels that release the GIL; results come in the order of the tasks.

    Parameters
    ----------
    n : int
        Threads; 0 for as many as the process may use. 1 works in the calling thread.
    """

    def __init__(self, n: int = 0) -> None:
        self.n = n or len(os.sched_getaffinity(0))
        self._pool = ThreadPoolExecutor(self.n, initializer=_one_torch_thread)

    def map(self, function: Callable[[T], R], tasks: Iterable[T]) -> Iterator[R]:
        """``map`` on the pool, or here when one thread is all there is."""
        return map(function, tasks) if self.n == 1 else self._pool.map(function, tasks)

    def close(self) -> None:
        self._pool.shutdown()


def _one_torch_thread() -> None:
    torch.set_num_threads(1)
