"""Speed of exported C along games, against this engine's kernels."""

from __future__ import annotations

import ctypes
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, compiled, in_turn, rate, row
from nnuelab.errors import UserError
from nnuelab.evaluator import PLIES, PLY, evaluate, invalidate, ply_at
from nnuelab.export import folder
from nnuelab.features.check import random_games
from nnuelab.jit import address, aligned, at, copy_record, jit
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import Net
from nnuelab.nnue.replay import any_net

L1, L2 = 256, 32
ROUNDS = 9
GAMES = 50
CALLS = 20  # passes along them in one measurement
SETS = {  # evaluations/s relative to the engine, at least and the aim
    "ALL": (1.0, 1.1),
    "ALL+H+V": (1.0, 1.1),
    "ALL+MB": (0.9, 1.0),
    "ALL+TH": (None, None),
    "ALL+PP_3WIDE": (None, None),
    "ALL+FULL_THREATS(16)": (None, None),
}


@jit
def _along(evaluator, line, positions, first, calls):  # type: ignore[no-untyped-def]
    total = 0
    for _ in range(calls):
        ply = np.int64(0)
        for i in range(len(positions)):
            ply = np.int64(0) if first[at(i)] else ply + 1
            entry = ply_at(line, ply)
            copy_record(entry.position, positions[at(i)])
            invalidate(entry)
            total += evaluate(evaluator, line, ply)
    return total


def _net(feature_set: str) -> Net:
    """A net of random weights, most of whose neurons are 0 at a time, as of trained ones."""
    net, rng = any_net(feature_set, L1, L2), np.random.default_rng(1)

    def drawn(like: np.ndarray, mean: float, spread: float) -> np.ndarray:
        return np.rint(rng.normal(mean, spread, like.shape)).clip(-128, 127).astype(like.dtype)

    return replace(
        net,
        w1=drawn(net.w1, 0, 20),
        b1=drawn(net.b1, -120, 5),
        w2=drawn(net.w2, 0, 30),
        b2=drawn(net.b2, 0, 60),
        w3=drawn(net.w3, 0, 40),
    )


def rows() -> Iterator[Row]:
    """Evaluations a second of random games, each position from the one before.

    Raises
    ------
    UserError
        When there is no gcc.
    ValueError
        When C and the engine give different values.
    """
    games = [game.positions for game in random_games(GAMES, 1)]
    positions = np.array([position for game in games for position in game])
    first = np.array([i == 0 for game in games for i in range(len(game))])
    n, line = len(positions) * CALLS, aligned(PLIES, PLY)
    boards = np.ascontiguousarray(positions["roles"][:, :, None] & positions["colors"][:, None])
    turns = np.ascontiguousarray(positions["turn"])
    for name, bounds in SETS.items():
        net = _net(name)
        bound = NetEvaluator(net).bind()
        with tempfile.TemporaryDirectory() as temporary:
            place = Path(temporary) / "c"
            folder.write(place, net, "c", 1)
            source = shutil.copy(Path(__file__).with_suffix(".c"), place)
            c = compiled(Path(source))
            if c is None:
                raise UserError("bench export compiles what is exported: install gcc")
            c.nnue_load.restype, c.nnue_size.restype = ctypes.c_char_p, ctypes.c_size_t
            if (reason := c.nnue_load(str(place / "nnue.bin").encode())) is not None:
                raise ValueError(f"{name}: {reason.decode()}")
        stack = aligned(c.nnue_size(), np.uint8)
        given = [ctypes.c_void_p(address(array)) for array in (stack, boards, first, turns)]
        c.along.restype = ctypes.c_long
        sides: dict[str, Callable[[], int]] = {
            "C": partial(c.along, *given, *map(ctypes.c_long, (len(positions), CALLS))),
            "numba": partial(_along, bound.record, address(line), positions, first, CALLS),
        }
        if len({call() for call in sides.values()}) > 1:
            raise ValueError(f"{name}: C and the engine give different values")
        found = in_turn(
            {side: partial(rate, n, call, time.process_time) for side, call in sides.items()},
            ROUNDS,
        )
        title = f"{name}: exported C along games, {L1}/{L2} neurons"
        yield row(title, "evaluations/s", found["C"], found["numba"], *bounds)
