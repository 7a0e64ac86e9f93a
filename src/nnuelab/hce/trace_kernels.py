"""Positions to counts of weights, jitted."""

import numpy as np

from nnuelab.features.kernels import feature_set
from nnuelab.jit import at, inline, jit, lsb

MOST = 127  # a count that int8 holds
_BLOCK = 256  # positions whose lists of features stay in the cache
_WORD = np.int64(6)  # 2^6 weights are one word of a set
_ONE = np.uint64(1)


@inline
def _add(features, n, sign, members, counts, seen):
    """Adds ``sign`` to the counts of all weights of some features."""
    starts, weights = members
    for k in range(n):
        feature = features[at(k)]
        for m in range(starts[at(feature)], starts[at(feature + 1)]):
            weight = weights[at(m)]
            counts[at(weight)] += sign
            seen[at(weight >> _WORD)] |= _ONE << np.uint64(weight & 63)


@inline
def phase_of(record, weights, most):
    """What the pieces of a record count together, at most ``most``.

    Parameters
    ----------
    record : RECORD record
    weights : int64[8]
        Of each role.
    """
    found = np.int64(0)
    left, pieces = np.uint64(record.occupied), np.uint64(record.pieces_low)
    n = np.int64(0)
    while left:
        left &= left - _ONE
        found += weights[at((pieces >> _ONE) & np.uint64(7))]
        pieces >>= np.uint64(4)
        n += 1
        if n == 16:
            pieces = np.uint64(record.pieces_high)
    return min(found, most)


@jit
def trace(tables, records, members, n_weights, roles, most, ends, terms, counts, phases):
    """The weights that each position counts, ascending, and how often: White's less Black's.

    Parameters
    ----------
    tables : FEATURES record
    records : RECORD [n]
    members : (int32[size + 1], int32[all])
        Of `Evaluation.members`.
    n_weights : int64
    roles : int64[8]
        What a piece of each role counts for the phase.
    most : int64
        The phase of a full board.
    ends : int64[n], written
        Where the entries of each position end.
    terms, counts : uint16[all], int8[all], written
        Weights and their counts, none of them 0.
    phases : uint8[n], written

    Returns
    -------
    int64
        -1, or a weight whose count int8 can't hold.
    """
    width = max(tables.max_active, np.int64(1))
    own, other = np.empty((_BLOCK, width), np.int32), np.empty((_BLOCK, width), np.int32)
    n_own, n_other = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    sums = np.zeros(n_weights, np.int32)
    seen = np.zeros((n_weights >> _WORD) + 1, np.uint64)
    written = np.int64(0)
    for start in range(0, len(records), _BLOCK):
        block = records[start : start + _BLOCK]
        feature_set.batch(tables, block, own, other, n_own, n_other)
        for i in range(len(block)):
            sign = np.int32(1 - 2 * (block[i].flags & 1))
            _add(own[i], n_own[i], sign, members, sums, seen)
            _add(other[i], n_other[i], -sign, members, sums, seen)
            for word in range(len(seen)):
                left = seen[at(word)]
                seen[at(word)] = 0
                while left:
                    weight = (np.int64(word) << _WORD) + lsb(left)
                    left &= left - _ONE
                    count = sums[at(weight)]
                    sums[at(weight)] = 0
                    if abs(count) > MOST:
                        return weight
                    terms[at(written)] = weight
                    counts[at(written)] = count
                    written += count != 0
            ends[at(start + i)] = written
            phases[at(start + i)] = phase_of(block[i], roles, most)
    return np.int64(-1)


@jit
def fault(starts, terms, phases, results, n_weights, most):
    """Whether arrays that were read are no trace: kernels that index by them would leave memory.

    Returns
    -------
    int64
        0 when all is well; else what is wrong: 1 starts, 2 terms, 3 phases, 4 results.
    """
    for i in range(len(starts) - 1):
        if starts[at(i)] > starts[at(i + 1)]:
            return np.int64(1)
    last = np.uint16(0)
    for k in range(len(terms)):
        last = max(last, terms[at(k)])
    if len(terms) > 0 and last >= n_weights:
        return np.int64(2)
    for i in range(len(phases)):
        if phases[at(i)] > most:
            return np.int64(3)
    for i in range(len(results)):
        if not (results[at(i)] >= 0 and results[at(i)] <= 1):
            return np.int64(4)
    return np.int64(0)


@jit
def hits(terms, found):
    """Adds to ``found`` (int64[n_weights]) in how many positions each weight has a count."""
    for k in range(len(terms)):
        found[at(terms[at(k)])] += 1
