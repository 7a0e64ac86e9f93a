"""Workers, processes or threads, whose results come back in the order of their inputs.

Order is what makes an output independent of the number of workers: stages write results as they
arrive here, so one worker and sixteen make the same file.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, TypeVar

from nnuelab.errors import UserError

Item = TypeVar("Item")
Result = TypeVar("Result")

_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None
AHEAD = 4  # items handed out per worker beyond the one that is awaited: bounds the memory


def cores() -> int:
    """CPU cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ordered(
    function: Callable[[Item], Result],
    items: Iterable[Item],
    workers: int = 0,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
    ahead: int = AHEAD,
) -> Generator[Result, None, None]:
    """``map(function, items)`` by ``workers`` processes (0: all cores), lazily and in order.

    ``items`` may be endless, and may depend on results: when an item is asked for, all results but
    those of the last ``workers * (ahead + 1) - 1`` items before it have been taken. ``function``
    must be importable: processes are spawned, because a fork would copy numba's and torch's
    threads in the middle of their work. One worker without an initializer needs no process at all.

    Raises
    ------
    UserError
        When a worker process was killed from outside (most often for want of memory).
    """
    with pool(workers, initializer, initargs) as of_pool:
        yield from of_pool(function, items, ahead)


@contextmanager
def pool(
    workers: int = 0,
    initializer: Callable[..., None] | None = None,
    initargs: tuple[Any, ...] = (),
) -> Iterator[Callable[..., Iterator[Any]]]:
    """`ordered` for several calls of ``(function, items, ahead)``, by processes that stay."""
    workers = workers or cores()
    if workers == 1 and initializer is None:
        yield lambda function, items, ahead=AHEAD: map(function, items)
        return
    executor = ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), _start, (initializer, initargs)
    )

    def of_pool(
        function: Callable[[Item], Result], items: Iterable[Item], ahead: int = AHEAD
    ) -> Iterator[Result]:
        pending: deque[Future[Result]] = deque()
        for item in items:
            with deaf():
                pending.append(executor.submit(function, item))
            if len(pending) >= workers * (ahead + 1):
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()

    try:
        yield of_pool
    except BrokenProcessPool as error:
        raise UserError(
            "a worker process died (killed from outside, or short of memory); "
            "run the same command again, with fewer --workers if memory was short"
        ) from error
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], workers: int = 0
) -> Generator[Result, None, None]:
    """``map(function, items)`` by ``workers`` threads (0: one per core), lazily and in order.

    For functions that spend their time in kernels: those release the GIL, start at once and share
    their memory. One worker is the thread that asks.
    """
    workers = workers or cores()
    if workers == 1:
        yield from map(function, items)
        return
    pending: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(workers) as executor:
        try:
            for item in items:
                pending.append(executor.submit(function, item))
                if len(pending) > workers:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


@contextmanager
def deaf() -> Iterator[None]:
    """Processes that are started meanwhile don't hear Ctrl-C before they call `hear`.

    Each would print where it was, in the middle of its imports.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def hear(handler: Callable[..., object] | signal.Handlers) -> None:
    """What Ctrl-C does from now on, also one that came before."""
    signal.signal(signal.SIGINT, handler)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})


def _start(initializer: Callable[..., None] | None, initargs: tuple[Any, ...]) -> None:
    hear(lambda *_: os._exit(1))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if initializer is not None:
        initializer(*initargs)


def _end_with_parent() -> None:
    """Ends this worker when the process that started it was killed.

    The workers of a pool hold the ends of its pipes for each other, so none of them would notice.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def die_with_parent(by: signal.Signals) -> None:
    """This process gets a signal when the thread that started it ends, however that happens.

    Linux only.
    """
    if _LIBC is not None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, int(by), 0, 0, 0)


def run_guarded(
    command: list[str], said: Path, seconds: float | None = None, folder: Path | None = None
) -> int:
    """Runs a program to its end in a process group of its own; its exit status.

    So a hung one goes with all its children, and all go with this process. What it says is written
    to the file ``said``, not to a pipe: a child that outlives it can't keep this process waiting.

    Raises
    ------
    OSError
        When it can't be started.
    subprocess.TimeoutExpired
        When it takes longer than ``seconds``.
    """
    with said.open("wb") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=partial(die_with_parent, signal.SIGTERM),
        )
        try:
            return process.wait(seconds)
        finally:
            end_group(process)


def end_group(process: subprocess.Popen[Any]) -> int:
    """Kills a program, its process group, and what it has started in others; its exit status."""
    import psutil

    with suppress(psutil.Error):
        for child in psutil.Process(process.pid).children(recursive=True):
            with suppress(psutil.Error):
                child.kill()
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()
