"""The error of many sets of weights at once: what a generation of a genetic algorithm costs.

One pass over the trace serves all of them: the weights of a term lie side by side, so a term of a
position is added for the whole population by a few vector instructions. Values are exact (whole
numbers in float32); the sigmoid is a polynomial of a fixed order of operations, so that every
machine finds the same errors, bit for bit. Its own error is below 1e-6.
"""

from __future__ import annotations

import math

import numpy as np

from nnuelab.data.parallel import in_threads
from nnuelab.hce.evaluation import FULL
from nnuelab.hce.trace import Trace
from nnuelab.jit import at, jit

CHUNK = 16384  # positions whose sum is one number, for any number of threads
_BLOCK = 64  # positions that are summed in float32
_LARGEST = np.float32(60.0)  # of the exponent of 2: beyond it, the sigmoid is 0 or 1 in float32


def errors(trace: Trace, k: float, weights: np.ndarray, threads: int = 1) -> np.ndarray:
    """Mean squared errors of a population.

    Parameters
    ----------
    trace : Trace
    k : float
        Of the sigmoid 1 / (1 + 10 ** (-k * centipawns / 400)).
    weights : float64 [P, n_weights, 2]
        Whole numbers of at most 2 ** 24 in sum.
    threads : int
        0: one per core. No result depends on it.

    Returns
    -------
    float64 [P]
    """
    rows = np.ascontiguousarray(weights.transpose(1, 2, 0), np.float32)
    scale = np.float32(k * math.log2(10) / 400)

    def of(first: int) -> np.ndarray:
        sums = np.zeros(len(weights))
        stop = min(first + CHUNK, len(trace))
        sum_chunk(
            trace.starts, trace.terms, trace.counts, trace.phase, trace.results, rows, scale,
            first, stop, sums,
        )  # fmt: skip
        return sums

    total = np.zeros(len(weights))
    for part in in_threads(of, range(0, len(trace), CHUNK), threads):  # in their order
        total += part
    return total / len(trace)


@jit
def sum_chunk(starts, terms, counts, phase, results, rows, scale, first, stop, sums):
    """Adds the squared errors of positions first to stop for each column of rows to float64 sums.

    rows : float32 [n_weights, 2, P]; scale : float32, what a centipawn is in the exponent of 2.
    """
    size = rows.shape[2]
    middle, end = np.empty(size, np.float32), np.empty(size, np.float32)
    block = np.zeros(size, np.float32)
    bits = np.empty(size, np.int32)
    power = bits.view(np.float32)
    one, half = np.float32(1), np.float32(0.5)
    for i in range(first, stop):
        middle[:] = 0
        end[:] = 0
        for j in range(starts[i], starts[i + 1]):
            count = np.float32(counts[j])
            mg, eg = rows[at(terms[j]), 0], rows[at(terms[j]), 1]
            for k in range(size):
                middle[at(k)] += count * mg[at(k)]
                end[at(k)] += count * eg[at(k)]
        share = np.float32(phase[i]) / np.float32(FULL)
        result = np.float32(results[i])
        for k in range(size):
            value = middle[at(k)] * share + end[at(k)] * (one - share)
            exponent = min(max(-scale * value, -_LARGEST), _LARGEST)
            whole = np.floor(exponent + half)
            bits[at(k)] = (np.int32(whole) + np.int32(127)) << np.int32(23)
            # 2 ** x for -1/2 <= x <= 1/2, the terms of its series.
            x = exponent - whole
            found = np.float32(1.5403530e-4)
            found = found * x + np.float32(1.3333558e-3)
            found = found * x + np.float32(9.6181291e-3)
            found = found * x + np.float32(5.5504109e-2)
            found = found * x + np.float32(2.4022651e-1)
            found = found * x + np.float32(6.9314718e-1)
            middle[at(k)] = found * x + one
        for k in range(size):
            difference = result - one / (one + middle[at(k)] * power[at(k)])
            block[at(k)] += difference * difference
        if (i - first) % _BLOCK == _BLOCK - 1:
            for k in range(size):
                sums[at(k)] += block[at(k)]
            block[:] = 0
    for k in range(size):
        sums[at(k)] += block[at(k)]
