"""Positions to counts of weights, jitted."""

import numpy as np

from nnuelab.chess.position import POSITION
from nnuelab.features.kernels import feature_set
from nnuelab.features.kernels.computed import found
from nnuelab.features.kernels.feature_set import place_pieces, place_state
from nnuelab.features.records import COMPUTED
from nnuelab.hce import simd
from nnuelab.hce.evaluation import FULL
from nnuelab.jit import at, call, inline, jit, lsb, popcount, view

MOST = 127  # a count that int8 holds
_BLOCK = 64  # positions whose lists of features and sums stay in the cache
_WORD = np.int64(6)  # 2^6 weights are one word of a set
_ONE, _FOUR, _SIXTY = np.uint64(1), np.uint64(4), np.uint64(60)
_NIBBLE = np.uint64(15)


@inline
def _add(features, n, sign, members, first, sums):
    """Adds ``sign`` to the sums of all weights of some features, numbered from ``first`` on."""
    for k in range(n):
        feature = first + np.int64(features[at(k)])
        for m in range(members.shape[1]):
            weight = members[at(feature), at(m)]
            if weight < 0:
                break
            sums[at(weight)] += sign


@jit
def _add_part(part, positions, n, sign, listed, members, sums):
    """Adds ``sign`` to the sums of what a part finds in each of n positions."""
    computed, first = view(part.data, 1, COMPUTED)[0], part.first
    place = np.int64(listed.ctypes.data)
    for i in range(n):
        many = found(computed, positions[i], listed, place)
        _add(listed, many, sign, members, first, sums[at(i)])


@jit
def _add_group(group, parts, positions, n, sign, listed, members, sums, fresh, noted, counts):
    """The same of a group that tells of changes: found anew where it may be another one.

    ``fresh`` (int32[n_weights]) is 0 before and after, ``noted`` and ``counts`` are scratch.
    """
    place, many = np.int64(listed.ctypes.data), np.int64(0)
    for i in range(n):
        if i == 0 or call(group.changed, positions[i - 1], positions[i]) != 0:
            entries = np.int64(0)
            for p in range(group.start, group.stop):
                computed, first = view(parts[at(p)].data, 1, COMPUTED)[0], parts[at(p)].first
                for k in range(found(computed, positions[i], listed, place)):
                    feature = first + np.int64(listed[at(k)])
                    for m in range(members.shape[1]):
                        weight = members[at(feature), at(m)]
                        if weight < 0:
                            break
                        fresh[at(weight)] += sign
                        noted[at(entries)] = weight
                        entries += 1
            # Each weight once, the first time it comes.
            many = np.int64(0)
            for k in range(entries):
                weight = noted[at(k)]
                noted[at(many)], counts[at(many)] = weight, fresh[at(weight)]
                many += fresh[at(weight)] != 0
                fresh[at(weight)] = 0
        row = sums[at(i)]
        for k in range(many):
            row[at(noted[at(k)])] += counts[at(k)]


@inline
def _add_placed(record, placed, sums):
    """Adds what each piece counts where it stands."""
    starts, weights, signs = placed
    left = np.uint64(record.occupied)
    low, high = np.uint64(record.pieces_low), np.uint64(record.pieces_high)
    while left:
        place = np.int64(low & _NIBBLE) * 64 + lsb(left)
        left &= left - _ONE
        low = low >> _FOUR | high << _SIXTY
        high >>= _FOUR
        for k in range(starts[at(place)], starts[at(place + 1)]):
            sums[at(weights[at(k)])] += signs[at(k)]


@inline
def _place(record, position, turned):
    """The position of a record as both players see it."""
    place_pieces(record.occupied, record.pieces_low, record.pieces_high, position)
    position.turn = record.flags & 1
    place_state(record, position, turned)


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
def trace(tables, placed, groups, parts, members, n_weights, roles, most, records, out):
    """The weights that each position counts, ascending, and how often: White's less Black's.

    Features come by three ways: each of a piece on a square, by a table; computed ones, by their
    functions; and all others, by ``feature_set.batch``. Neighbours are of one game as a rule: a
    group that surely is the same as in the position before isn't found again.

    Parameters
    ----------
    tables : FEATURES record
        Of the others; of size 0 where there are none.
    placed : (int32[769], int32[all], int32[all])
        Where the weights of each piece * 64 + square begin, these, and whose they are: 1 or -1.
    groups, parts : GROUP [groups], PART [parts]
        Of computed blocks.
    members : int32[rows, most]
        The weights of each of the others' features and of the computed ones, then -1.
    n_weights : int64
    roles : int64[6]
        What a piece of each role counts for the phase.
    most : int64
        The phase of a full board.
    records : RECORD [n]
    out : (int64[n], uint16[all], int8[all], uint8[n]), written
        Where the entries of each position end; weights, and their counts, none of them 0; phases.

    Returns
    -------
    int64
        -1, or a weight whose count int8 can't hold.
    """
    ends, terms, counts, phases = out
    width = max(tables.max_active, np.int64(1))
    own, other = np.empty((_BLOCK, width), np.int32), np.empty((_BLOCK, width), np.int32)
    n_own, n_other = np.empty(_BLOCK, np.int64), np.empty(_BLOCK, np.int64)
    positions, turned = np.zeros(_BLOCK, POSITION), np.zeros(_BLOCK, POSITION)
    listed = np.empty(_longest(parts), np.int32)
    words = (n_weights + 63) >> _WORD
    sums = np.zeros((_BLOCK, words << _WORD), np.int32)
    fresh = np.zeros(n_weights, np.int32)
    room = len(parts) * len(listed) * members.shape[1]
    noted, often = np.empty(room, np.int32), np.empty(room, np.int32)
    written = np.int64(0)
    for start in range(0, len(records), _BLOCK):
        block = records[start : start + _BLOCK]
        if tables.size > 0:
            feature_set.batch(tables, block, own, other, n_own, n_other)
            for i in range(len(block)):
                sign = np.int32(1 - 2 * (block[i].flags & 1))
                _add(own[i], n_own[i], sign, members, np.int64(0), sums[at(i)])
                _add(other[i], n_other[i], -sign, members, np.int64(0), sums[at(i)])
        for i in range(len(block)):
            _add_placed(block[i], placed, sums[at(i)])
            if len(parts) > 0:
                _place(block[i], positions[i], turned[i])
        n = len(block)
        for g in range(len(groups)):
            group = groups[at(g)]
            for sign, seen in ((np.int32(1), positions), (np.int32(-1), turned)):
                if group.changed != 0:
                    _add_group(
                        group, parts, seen, n, sign, listed, members, sums, fresh, noted, often
                    )
                else:
                    for p in range(group.start, group.stop):
                        _add_part(parts[at(p)], seen, n, sign, listed, members, sums)
        # By then what was written is in the cache: vectors can't be read from what is on its way.
        for i in range(len(block)):
            row = sums[at(i)]
            for word in range(words):
                left = simd.nonzero(np.int64(row.ctypes.data) + np.int64(4 * 64) * word)
                while left:
                    weight = (np.int64(word) << _WORD) + lsb(left)
                    left &= left - _ONE
                    count = row[at(weight)]
                    row[at(weight)] = 0
                    if abs(count) > MOST:
                        return weight
                    terms[at(written)] = weight
                    counts[at(written)] = count
                    written += 1
            ends[at(start + i)] = written
            phases[at(start + i)] = phase_of(block[i], roles, most)
    return np.int64(-1)


@inline
def _longest(parts):
    """Features that a computed block has active at once, at most."""
    longest = np.int64(1)
    for p in range(len(parts)):
        longest = max(longest, view(parts[at(p)].data, 1, COMPUTED)[0].bound)
    return longest


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
def hits(starts, terms, phases, found):
    """Adds to ``found`` (int64[n_weights, 2]) in how many positions each phase's weight counts."""
    for i in range(len(phases)):
        for k in range(starts[i], starts[i + 1]):
            found[terms[k], 0] += phases[i] > 0
            found[terms[k], 1] += phases[i] < FULL
