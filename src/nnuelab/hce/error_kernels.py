"""The error of weights on a trace, its gradient and its curvature, jitted.

Positions are taken a few at a time, in three steps: their scores, then the sigmoid of all of them
as vector code, then what goes back to the weights, while their entries are in the cache. Sums are
of float64, in an order that depends on the positions alone: no number of threads and no vector
width changes a bit.
"""

import numpy as np

from nnuelab.jit import at, inline, jit

TOGETHER = 128  # positions: their entries fit the first cache
_FULL = 24.0  # evaluation.FULL
_LARGEST = 1000.0  # 2^-1000 is nothing beside 1
_SHIFTER = 6755399441055744.0  # 1.5 * 2^52: added to a number, it leaves whole ones in the low bits
_BITS = np.int64(np.float64(_SHIFTER).view(np.int64))
# Taylor's coefficients of 2^f; for |f| <= 1/2 the next one is below half a unit in the last place.
_T = [float(np.log(2.0) ** n / np.prod(np.arange(1.0, n + 1))) for n in range(14)]
_T1, _T2, _T3, _T4, _T5, _T6, _T7, _T8, _T9, _T10, _T11, _T12, _T13 = _T[1:]


@inline
def power_of_two(x):
    """2^x within two units in the last place, for |x| <= 1000; in a loop it becomes vector code.

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
def _scores(trace, weights, start, n, out):
    """Scores of positions start..start + n: centipawns for White, not rounded."""
    starts, terms, counts, phase, _ = trace
    for i in range(n):
        position = start + i
        k, end = np.int64(starts[at(position)]), np.int64(starts[at(position + 1)])
        mg0, eg0, mg1, eg1 = 0.0, 0.0, 0.0, 0.0
        while k + 1 < end:
            c, w = np.float64(counts[at(k)]), weights[at(terms[at(k)])]
            mg0 += c * w[0]
            eg0 += c * w[1]
            c, w = np.float64(counts[at(k + 1)]), weights[at(terms[at(k + 1)])]
            mg1 += c * w[0]
            eg1 += c * w[1]
            k += 2
        if k < end:
            c, w = np.float64(counts[at(k)]), weights[at(terms[at(k)])]
            mg0 += c * w[0]
            eg0 += c * w[1]
        p = np.float64(phase[at(position)])
        out[at(i)] = ((mg0 + mg1) * p + (eg0 + eg1) * (_FULL - p)) / _FULL


@inline
def _expected(scores, n, scale):
    """Scores become expected results, 1 / (1 + 2^(scale * score))."""
    for i in range(n):
        x = min(max(scores[at(i)] * scale, -_LARGEST), _LARGEST)
        scores[at(i)] = 1.0 / (1.0 + power_of_two(x))


@inline
def _differences(trace, expected, start, n, out):
    """Expected results less those of the games, and the sum of their squares."""
    results = trace[4]
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
def scores(trace, weights, start, stop, out):
    """Centipawns for White of the positions start..stop into ``out`` (float32[n], from start on).

    Parameters
    ----------
    trace : tuple
        starts, terms, counts, phase, results of `Trace`.
    weights : float64[n_weights, 2]
    """
    found = np.empty(TOGETHER, np.float64)
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        _scores(trace, weights, first, n, found)
        for i in range(n):
            out[at(first + i)] = found[at(i)]


@jit
def errors(trace, weights, scale, start, stop):
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
        _scores(trace, weights, first, n, expected)
        _expected(expected, n, scale)
        total += _differences(trace, expected, first, n, differences)
    return total


@jit
def gradient(trace, weights, scale, start, stop, out):
    """The same sum, and half its gradient by scores, ``scale`` and log 2 apart, added to ``out``.

    Parameters
    ----------
    out : float64[n_weights, 2], changed
        For each weight, the sum of (e - r) e (1 - e) count phase share.
    """
    starts, terms, counts, phase, _ = trace
    expected, differences = np.empty(TOGETHER, np.float64), np.empty(TOGETHER, np.float64)
    total = 0.0
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        _scores(trace, weights, first, n, expected)
        _expected(expected, n, scale)
        total += _differences(trace, expected, first, n, differences)
        for i in range(n):
            e = expected[at(i)]
            slope = differences[at(i)] * e * (1.0 - e)
            p = np.float64(phase[at(first + i)]) / _FULL
            mg, eg = slope * p, slope * (1.0 - p)
            for k in range(starts[at(first + i)], starts[at(first + i + 1)]):
                c, g = np.float64(counts[at(k)]), out[at(terms[at(k)])]
                g[0] += c * mg
                g[1] += c * eg
    return total


@jit
def normal(trace, weights, scale, start, stop, square, right):
    """J'J and J'r of the positions, ``scale`` and log 2 apart, added to two arrays.

    Parameters
    ----------
    square : float64[n_weights, n_weights, 2, 2], changed
        By two weights and their phases: only where the second weight isn't below the first.
    right : float64[n_weights, 2], changed
    """
    starts, terms, counts, phase, _ = trace
    expected, differences = np.empty(TOGETHER, np.float64), np.empty(TOGETHER, np.float64)
    for first in range(start, stop, TOGETHER):
        n = min(TOGETHER, stop - first)
        _scores(trace, weights, first, n, expected)
        _expected(expected, n, scale)
        _differences(trace, expected, first, n, differences)
        for i in range(n):
            e = expected[at(i)]
            slope = e * (1.0 - e)
            p = np.float64(phase[at(first + i)]) / _FULL
            mg, eg = slope * p, slope * (1.0 - p)
            begin, end = np.int64(starts[at(first + i)]), np.int64(starts[at(first + i + 1)])
            for k in range(begin, end):
                a, g = np.float64(counts[at(k)]), right[at(terms[at(k)])]
                g[0] += a * mg * differences[at(i)]
                g[1] += a * eg * differences[at(i)]
                row = square[at(terms[at(k)])]
                amm, ame, aee = a * mg * mg, a * mg * eg, a * eg * eg
                for m in range(k, end):
                    b, cell = np.float64(counts[at(m)]), row[at(terms[at(m)])]
                    cell[0, 0] += b * amm
                    cell[0, 1] += b * ame
                    cell[1, 0] += b * ame
                    cell[1, 1] += b * aee
