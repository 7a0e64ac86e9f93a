"""Positions to counts of weights, jitted."""

import numpy as np

from nnuelab.features.kernels import feature_set
from nnuelab.jit import at, inline, jit, popcount

MOST = 127  # a count that int8 holds
_BLOCK = 64  # positions whose lists of features stay in the cache
_ONE = np.uint64(1)


@inline
def _add(features, n, sign, members, sums, stamps, stamp, met, n_met):
    """Adds ``sign`` to the sums of all weights of some features, and lists these weights once.

    A weight is listed where its stamp isn't that of the position yet. Listed as often as it is met,
    it would be read just after it was cleared, which a CPU guesses wrong and does again.
    """
    for k in range(n):
        feature = features[at(k)]
        for m in range(members.shape[1]):
            weight = members[at(feature), at(m)]
            if weight < 0:
                break
            sums[at(weight)] += sign
            met[at(n_met)] = weight
            n_met += np.int64(stamps[at(weight)] != stamp)
            stamps[at(weight)] = stamp
    return n_met


_ROLE_BITS = np.uint64(0x7777777777777777)  # of nibbles that hold a role
_HIGH_BITS = np.uint64(0x8888888888888888)
_ONES = np.uint64(0x1111111111111111)


@inline
def phase_of(record, weights, most):
    """What the pieces of a record count together, at most ``most``.

    Parameters
    ----------
    record : RECORD record
    weights : int64[6]
        Of each role.
    """
    low = np.uint64(record.pieces_low) >> _ONE & _ROLE_BITS
    high = np.uint64(record.pieces_high) >> _ONE & _ROLE_BITS
    left = popcount(np.uint64(record.occupied))
    found = np.int64(0)
    for role in range(1, 6):
        # A nibble of another role isn't 0 after the comparison: 7 more carry into its high bit.
        same = _ONES * np.uint64(role)
        others = popcount(((low ^ same) + _ROLE_BITS) & _HIGH_BITS)
        others += popcount(((high ^ same) + _ROLE_BITS) & _HIGH_BITS)
        found += weights[at(role)] * (32 - others)
        left -= 32 - others
    return min(found + weights[0] * left, most)


@jit
def trace(tables, records, members, n_weights, roles, most, ends, terms, counts, phases):
    """The weights that each position counts, each once, and how often: White's less Black's.

    Parameters
    ----------
    tables : FEATURES record
    records : RECORD [n]
    members : int32[size, most]
        The weights of each feature, then -1.
    n_weights : int64
    roles : int64[6]
        What a piece of each role counts for the phase.
    most : int64
        The phase of a full board.
    ends : int64[n], written
        Where the entries of each position end.
    terms, counts : uint16[all], int8[all], written
        Weights and their counts, none of them 0; one more is written over.
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
    stamps, stamp = np.zeros(n_weights, np.int32), np.int32(0)
    met = np.empty(2 * width * members.shape[1] + 1, np.int32)
    written = np.int64(0)
    for start in range(0, len(records), _BLOCK):
        block = records[start : start + _BLOCK]
        feature_set.batch(tables, block, own, other, n_own, n_other)
        for i in range(len(block)):
            sign = np.int32(1 - 2 * (block[i].flags & 1))
            stamp += np.int32(1)
            n = np.int64(0)
            n = _add(own[i], n_own[i], sign, members, sums, stamps, stamp, met, n)
            n = _add(other[i], n_other[i], -sign, members, sums, stamps, stamp, met, n)
            for k in range(n):
                weight = np.int64(met[at(k)])
                count = sums[at(weight)]
                if abs(count) > MOST:
                    return weight
                sums[at(weight)] = 0
                terms[at(written)] = weight
                counts[at(written)] = count
                written += np.int64(count != 0)
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
