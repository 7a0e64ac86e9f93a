"""Time: the monotonic clock for jitted code, and how much of it a move may take."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_NS = 1_000_000_000
SHARE = 0.02  # of the remaining time for one move, after the increment: the study's rule
SOFT = 0.7  # of a move's share: no new iteration begins later, it would seldom end in time
HARD = 2.5  # shares after which an unfinished iteration is cut
# Of the remaining time is the most that one move ever takes. Moves take a little more than their
# share on average, so this is what keeps time in hand: an increment after each move, at least.
RESERVE = 0.5


def _reader(clock: int) -> Any:
    @intrinsic
    def read(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word, number = ir.IntType(64), ir.IntType(32)
            timespec = cgutils.alloca_once(builder, ir.ArrayType(word, 2))
            function_type = ir.FunctionType(number, [number, timespec.type])
            function = cgutils.get_or_insert_function(
                builder.module, function_type, "clock_gettime"
            )
            builder.call(function, [number(clock), timespec])
            seconds, nanoseconds = cgutils.unpack_tuple(builder, builder.load(timespec), 2)
            return builder.add(builder.mul(seconds, word(_NS)), nanoseconds)

        return types.int64(), generate

    return read


now = _reader(time.CLOCK_MONOTONIC)
"""Nanoseconds of the clock of ``time.monotonic_ns``; about 20 ns a call."""

cpu_time = _reader(time.CLOCK_THREAD_CPUTIME_ID)
"""Nanoseconds that this thread has had a processor, as ``time.thread_time_ns``; 0.2 us a call."""


@dataclass(frozen=True)
class Budget:
    """Milliseconds for a move: no iteration begins after ``soft``, everything ends at ``hard``."""

    soft: float
    hard: float


def budget(remaining: float, increment: float, moves_to_go: int | None, overhead: float) -> Budget:
    """The share of the clock for one move; all times in milliseconds.

    ``increment`` + 2 % of the rest (the study's rule), or an even part of what is left until the
    next time control. ``overhead`` is kept for what happens outside the engine.
    """
    usable = max(remaining - overhead, 1.0)
    if moves_to_go is not None:
        share = increment + usable / (moves_to_go + 1)
    else:
        share = increment + SHARE * usable
    hard = min(HARD * share, RESERVE * usable)
    return Budget(soft=min(SOFT * share, hard), hard=hard)


def fixed(milliseconds: float, overhead: float) -> Budget:
    """A given time for the move, used up."""
    usable = max(milliseconds - overhead, 1.0)
    return Budget(soft=usable, hard=usable)
