"""The error of weights on a trace, its gradient and its curvature, jitted.

Positions are taken a few at a time, in three steps: their scores, then the sigmoid of all of them
as vector code, then what goes back to the weights, while their entries are in the cache. Sums are
of float64, in an order that depends on the positions alone: no number of threads and no vector
width changes a bit.
"""

import numpy as np

from nnuelab.hce import simd
from nnuelab.jit import at, inline, jit

TOGETHER = 128  # positions: their entries fit the first cache
_LARGEST = 1000.0  # 2^-1000 is nothing beside 1
_SHIFTER = 6755399441055744.0  # 1.5 * 2^52: added to a number, it leaves whole ones in the low bits
_BITS = np.int64(np.float64(_SHIFTER).view(np.int64))
# Taylor's coefficients of 2^f; for |f| <= 1/2 the next one is below half a unit in the last place.
_T = [float(np.log(2.0) ** n / np.prod(np.arange(1.0, n + 1))) for n in range(14)]
_T1, _T2, _T3, _T4, _T5, _T6, _T7, _T8, _T9, _T10, _T11, _T12, _T13 = _T[1:]


@inline
def power_of_two(x):
    """2^x within two units in the last place, for abs(x) <= 1000; in a loop it becomes vector code.

    x is a whole number, which becomes an exponent, and at most a half.
    """
    shifted = x + _SHIFTER
    f = x - (shifted - _SHIFTER)
    power = ((_T13 * f + _T12) * f + _T11) * f + _T10
    power = (((power * f + _T9) * f + _T8) * f + _T7) * f + _T6
    power = (((power * f + _T5) * f + _T4) * f + _T3) * f + _T2
    power = (power * f + _T1) * f + 1.0
    whole = np.float64(shifted).view(np.int64) - _BITS
    return power * np.int64((whole + 1023) << 52).view(np.float64)


@inline
def _place(array):
    """The address of the first element."""
    return np.int64(array.ctypes.data)


@inline
def _scores(trace, rows, start, n, out):
    """Scores of positions start..start + n: centipawns for White, not rounded."""
    starts, terms, counts, phase, _ = trace
    for i in range(n):
        position = start + i
        k, end = np.int64(starts[at(position)]), np.int64(starts[at(position + 1)])
        row = rows[at(phase[at(position)])]
        if end - k >= simd.EIGHT:
            place = _place(terms) + 2 * k
            out[at(i)] = simd.weigh(place, _place(counts) + k, end - k, _place(row))
        else:
            out[at(i)] = 0.0
            for m in range(k, end):
                out[at(i)] += np.float64(counts[at(m)]) * row[at(terms[at(m)])]


@inline
def _expected(scores, n, scale):
    """Scores become expected results, 1 / (1 + 2^(scale * score))."""
    for i in range(n):
        x = min(max(scores[at(i)] * scale, -_LARGEST), _LARGEST)
        scores[at(i)] = 1.0 / (1.0 + power_of_two(x))


@inline
def _differences(results, expected, start, n, out):
    """Expected results less those of the games, and the sum of their squares."""
    for i in range(n):
        out[at(i)] = expected[at(i)] - np.float64(results[at(start + i)])
    even, odd = 0.0, 0.0
    for i in range(0, n - 1, 2):
        even += out[at(i)] * out[at(i)]
        odd += out[at(i + 1)] * out[at(i + 1)]
    if n % 2:
        even += out[at(n - 1)] * out[at(n - 1)]
    return even + odd


@jit
def scores(trace, rows, start, stop, out):
    """Centipawns for White of the positions start..stop into ``out`` (float32[n], from start on).

    Parameters
    ----------
    trace : tuple
        starts, terms, counts, phase, results of `Trace`.
    rows : float64[25, n_weights]
        The weights at each phase.
    """
    found = np.empty(TOGETHER, np.float64)
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        _scores(trace, rows, first, n, found)
        for i in range(n):
            out[at(first + i)] = found[at(i)]


@jit
def errors(trace, rows, scale, start, stop):
    """Sum of the squared differences of the positions start..stop.

    Parameters
    ----------
    scale : float64
        Of the sigmoid 1 / (1 + 2^(scale * score)).
    """
    expected, differences = np.empty(TOGETHER, np.float64), np.empty(TOGETHER, np.float64)
    total = 0.0
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        _scores(trace, rows, first, n, expected)
        _expected(expected, n, scale)
        total += _differences(trace[4], expected, first, n, differences)
    return total


@jit
def errors_of_scores(scores, results, scale, start, stop):
    """The same sum for known scores, float32[n]."""
    expected, differences = np.empty(TOGETHER, np.float64), np.empty(TOGETHER, np.float64)
    total = 0.0
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        for i in range(n):
            expected[at(i)] = scores[at(first + i)]
        _expected(expected, n, scale)
        total += _differences(results, expected, first, n, differences)
    return total


@jit
def gradient(trace, rows, scale, start, stop, out):
    """The same sum, and the slopes of its half by weights at each phase, added to ``out``.

    Parameters
    ----------
    out : float64[25, n_weights], changed
        Sums of (e - r) e (1 - e) count with the expected result e: the derivative of e by its score
        is e (1 - e) times a constant, which the caller knows.
    """
    starts, terms, counts, phase, _ = trace
    expected, differences = np.empty(TOGETHER, np.float64), np.empty(TOGETHER, np.float64)
    total = 0.0
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        _scores(trace, rows, first, n, expected)
        _expected(expected, n, scale)
        total += _differences(trace[4], expected, first, n, differences)
        for i in range(n):
            position = first + i
            slope = differences[at(i)] * (expected[at(i)] * (1.0 - expected[at(i)]))
            k, end = np.int64(starts[at(position)]), np.int64(starts[at(position + 1)])
            row = out[at(phase[at(position)])]
            if end - k >= simd.EIGHT:
                place = _place(terms) + 2 * k
                simd.spread(place, _place(counts) + k, end - k, slope, _place(row))
            else:
                for m in range(k, end):
                    row[at(terms[at(m)])] += np.float64(counts[at(m)]) * slope
    return total


@jit
def normal(trace, rows, scale, start, stop, square):
    """What J'J is made of: products of the slopes of expected results, added to ``square``.

    Parameters
    ----------
    square : float64[n_weights, n_weights, 4], changed
        Of two weights, either one first: sums of (e (1 - e))^2 and both counts, times p p, p q, q p
        and q q with the middlegame's share p and the endgame's q.
    """
    starts, terms, counts, phase, _ = trace
    width = 32 * square.shape[1]  # bytes
    expected = np.empty(TOGETHER, np.float64)
    full = np.float64(len(rows) - 1)
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        _scores(trace, rows, first, n, expected)
        _expected(expected, n, scale)
        for i in range(n):
            slope = expected[at(i)] * (1.0 - expected[at(i)])
            p = np.float64(phase[at(first + i)]) / full
            mg, eg = slope * p, slope * (1.0 - p)
            mm, me, ee = mg * mg, mg * eg, eg * eg
            begin, end = np.int64(starts[at(first + i)]), np.int64(starts[at(first + i + 1)])
            for k in range(begin, end):
                row = _place(square) + width * np.int64(terms[at(k)])
                count = np.float64(counts[at(k)])
                for m in range(k, end):
                    both = count * np.float64(counts[at(m)])
                    simd.add_four(row + 32 * np.int64(terms[at(m)]), both, mm, me, me, ee)
