"""Processes that play opening pairs, and that end when the process that started them does."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection, wait
from typing import Any

from nnuelab.data.parallel import deaf, die_with_parent, hear
from nnuelab.errors import UserError

IN_FLIGHT = 2  # tasks per worker: the next one lies ready when one is done
ENDING = 3.0  # seconds in which a worker may close what it has opened


def _work(
    connection: Connection, prepare: Callable[[], Callable[[Any], Any]], core: int | None
) -> None:
    # Ctrl-C reaches the whole group; the parent decides what becomes of its workers.
    hear(signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    die_with_parent(signal.SIGTERM)
    if core is not None:
        os.sched_setaffinity(0, {core})
    work = None
    try:
        work = prepare()
        while True:
            connection.send((work(connection.recv()), None))
    except SystemExit:
        return
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone, or has no more work
    except UserError as error:
        connection.send((None, error))
    except BaseException:
        connection.send((None, RuntimeError(f"in a worker process:\n{traceback.format_exc()}")))
    finally:
        if close := getattr(work, "close", None):
            close()
        # Nothing is left to close: what the interpreter does at its end isn't to be interrupted
        # by an exception, which it would print.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def run(
    tasks: Iterable[Any],
    prepare: Callable[[], Callable[[Any], Any]],
    workers: int,
    *,
    pinned: bool = False,
) -> Iterator[Any]:
    """Results of tasks in the order in which they are finished.

    Each worker has a pipe of its own that nobody else holds open: it reads the end of file when the
    parent is killed, so none is left behind.

    Parameters
    ----------
    tasks : iterable
        Handed out in this order, pickled.
    prepare : callable
        Called once in each worker (pickled; the start method is spawn), returns the function that
        turns a task into a result; its ``close``, if it has one, is called at the end.
    workers : int
    pinned : bool
        Each worker, with all that it starts, stays on one core, of its own while there are as many.

    Raises
    ------
    UserError, RuntimeError
        What a worker raised; or that one died.
    """
    context = multiprocessing.get_context("spawn")
    waiting = iter(tasks)
    processes: dict[Connection, Any] = {}
    in_flight: dict[Connection, int] = {}
    can_pin = pinned and hasattr(os, "sched_setaffinity")  # Linux
    cores = sorted(os.sched_getaffinity(0)) if can_pin else []

    def hand_out(connection: Connection) -> None:
        while in_flight[connection] < IN_FLIGHT:
            try:
                task = next(waiting)
            except StopIteration:
                return
            try:
                connection.send(task)
            except OSError:
                raise _died(processes[connection]) from None
            in_flight[connection] += 1

    try:
        for number in range(workers):
            ours, theirs = context.Pipe()
            core = cores[number % len(cores)] if cores else None
            process = context.Process(target=_work, args=(theirs, prepare, core), daemon=True)
            with deaf():
                process.start()
            theirs.close()
            processes[ours], in_flight[ours] = process, 0
        for connection in processes:
            hand_out(connection)
        while busy := [connection for connection, n in in_flight.items() if n]:
            for ready in wait(busy):
                assert isinstance(ready, Connection)
                result, error = _receive(ready, processes[ready])
                if error is not None:
                    raise error
                in_flight[ready] -= 1
                hand_out(ready)
                yield result
        for connection in processes:
            connection.close()  # they read the end of their work
        for process in processes.values():
            process.join(ENDING)
    finally:
        for connection, process in processes.items():
            connection.close()
            process.terminate()
        for process in processes.values():
            process.join(ENDING)
            process.kill()
            process.join()


def _receive(connection: Connection, process: Any) -> tuple[Any, BaseException | None]:
    try:
        return connection.recv()
    except (EOFError, ConnectionResetError):
        raise _died(process) from None


def _died(process: Any) -> UserError:
    process.join(5)
    return UserError(
        f"a worker process died (exit status {process.exitcode}; -9 is most often a lack of "
        "memory); run the same command again to resume, with fewer --workers if need be"
    )
