"""Speed of Texel tuning: traces, and the error of weights on them with its gradient.

The positions are those of the games that come with the project, several times over.
"""

from __future__ import annotations

import ctypes
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.harness import Row, compiled, in_turn, rate, row
from nnuelab import artifacts
from nnuelab.data import sampling
from nnuelab.data.dataset import Dataset
from nnuelab.data.records import UNKNOWN_RESULT
from nnuelab.hce import evaluation, population, trace
from nnuelab.hce.error import Error
from nnuelab.hce.evaluation import Evaluation
from nnuelab.hce.trace import Trace
from nnuelab.jit import address
from nnuelab.settings.sample import Sampling

GAMES = artifacts.RESOURCES / "embedded" / "games.pgn.zst"
POSITIONS = 500_000
TRACED = 100_000
TOGETHER = 16  # weights of which the errors are asked for at once
ROUNDS, FEW_ROUNDS = 9, 3
K = 1.0


def _positions(n: int) -> Dataset:
    """Positions of the games, one after the other, and again from the first."""
    games = np.concatenate(list(sampling.positions([GAMES], Sampling())))
    games = games[games["result"] != UNKNOWN_RESULT]
    return Dataset(GAMES, (np.resize(games, n),))


def _trace(positions: Dataset, terms: Evaluation) -> Trace:
    """The trace of positions, in memory."""
    chunks = [
        {name: array.copy() for name, array in chunk.items()}
        for chunk in trace.traced(positions, terms)
    ]
    columns = {name: np.concatenate([chunk[name] for chunk in chunks]) for name in chunks[0]}
    lengths = [np.diff(chunk["starts"], prepend=np.uint64(0)) for chunk in chunks]
    columns["starts"] = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.uint64)
    return Trace(None, terms.fingerprint(), terms.n_weights, **columns)


def rows() -> Iterator[Row]:
    """Positions a second, of the shipped evaluation.

    Raises
    ------
    ValueError
        When C and numba give different errors or gradients.
    """
    terms = evaluation.read(evaluation.DEFAULT)
    positions = _positions(POSITIONS)
    first = Dataset(GAMES, (positions.records[:TRACED],))
    # Against a number and not against another side: other programs mustn't count.
    tracing = partial(rate, TRACED, lambda: list(trace.traced(first, terms)), time.thread_time)
    found = in_turn({"trace": tracing}, FEW_ROUNDS)
    name = f"trace {terms.n_weights} terms, one core, against 1 M/s"
    yield row(name, "positions/s", found["trace"], [1e6] * len(found["trace"]), 1.0, 3.0)

    made = _trace(positions, terms)
    weights = np.ascontiguousarray(terms.weights, np.float64)
    arrays = [getattr(made, name) for name in ("starts", "terms", "counts", "phase", "results")]
    one, all_cores = Error(made, K), Error(made, K, threads=0)
    gradient = np.zeros_like(weights)
    sides = {
        "one": lambda: one.gradient(weights),
        "all": lambda: all_cores.gradient(weights),
        "numpy": lambda: [array.sum() for array in arrays],
        "value": lambda: one.value(weights),
    }
    if (c := compiled(Path(__file__).with_name("texel.c"))) is not None:
        c.error_and_gradient.restype = ctypes.c_double
        given = [ctypes.c_void_p(address(array)) for array in arrays]
        last = [ctypes.c_double(K), *(ctypes.c_void_p(address(a)) for a in (weights, gradient))]

        def reference() -> float:
            gradient[:] = 0
            return float(c.error_and_gradient(ctypes.c_long(POSITIONS), *given, *last))

        total, (error, slopes) = reference(), one.gradient(weights)
        theirs = 2 * gradient / POSITIONS
        if not (np.isclose(total / POSITIONS, error, 1e-9) and np.allclose(theirs, slopes, 1e-6)):
            raise ValueError("C and numba give different errors or gradients")
        sides["C"] = reference
    found = in_turn({n: partial(rate, POSITIONS, side) for n, side in sides.items()}, ROUNDS)
    per = len(made.terms) / POSITIONS
    name = f"error and gradient, {per:.0f} terms each, against numpy's sum"
    yield row(f"{name}, all cores", "positions/s", found["all"], found["numpy"], 1 / 1.5, 1 / 1.1)
    yield row(f"{name}, one thread", "positions/s", found["one"], found["numpy"])
    yield row(
        "error and gradient against a plain loop in C, one thread",
        *("positions/s", found["one"], found.get("C"), 1.0, 1.5),
    )
    several = np.repeat(weights[None], TOGETHER, axis=0)
    together = in_turn(
        {
            "values": partial(
                rate, POSITIONS * TOGETHER, lambda: population.errors(made, K, several)
            )
        },
        FEW_ROUNDS,
    )
    median = [float(np.median(found["value"]))] * len(together["values"])
    name = f"errors of {TOGETHER} weights at once against one by one"
    yield row(name, "positions/s", together["values"], median)
