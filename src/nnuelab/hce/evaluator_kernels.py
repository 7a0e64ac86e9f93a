"""The value of a hand-crafted evaluation along a line of the search, jitted.

A sum holds the middlegame in its high and the endgame in its low 32 bits: both are added at once,
as in Stockfish and its like.
"""

import numpy as np

from nnuelab.build import CHECKED
from nnuelab.chess.position import EMPTY, KING, PAWN, POSITION
from nnuelab.evaluator import PLIES, ply_at
from nnuelab.features.kernels.computed import found, turn_over
from nnuelab.features.kernels.lists import place, unpack
from nnuelab.features.kernels.piece_square import active_rows, changed_squares
from nnuelab.features.records import (
    COMPUTED,
    FEATURES,
    FROM_SCRATCH,
    PIECES,
    SQUARES_ON_BOARD,
    TERM,
)
from nnuelab.hce.evaluation import FULL
from nnuelab.hce.records import GROUP, PART
from nnuelab.jit import at, call, copy_record, inline, lsb, popcount, view

REMEMBERED = np.dtype(
    [
        ("is_used", "i8"),
        ("position", POSITION),
        ("turned", POSITION),  # the same as Black sees it
    ],
    align=True,
)
"""A position whose sums of groups are remembered, wherever in the tree it was."""
SLOTS = 1024

HCE = np.dtype(
    [
        ("squares", "u8"),  # -> int64[12, 64]: sums for White by piece and square
        ("n_groups", "i8"),
        ("groups", "u8"),  # -> GROUP[n_groups]
        ("n_parts", "i8"),
        ("parts", "u8"),  # -> PART[n_parts]: terms of blocks that are computed
        ("features", FEATURES),  # of all others
        ("n_weights", "i8"),
        ("weights", "u8"),  # -> int64[n_weights], sums: of the features, then of the parts
        ("phase", "i8", 6),  # what a piece of each role counts
        ("width", "i8"),
        ("lists", "u8"),  # -> int32[2, width], scratch
        # By ply, where PLY.computed[0] says so; each is White's less Black's sum:
        ("placed", "u8"),  # -> int64[PLIES]: over `squares`
        ("kept", "u8"),  # -> int64[PLIES, n_groups]
        ("called", "u8"),  # -> int64[PLIES, features.n_called]
        ("turned", "u8"),  # -> POSITION[PLIES]: as Black sees the position
        ("remembered", "u8"),  # -> REMEMBERED[SLOTS]
        ("remembered_sums", "u8"),  # -> int64[SLOTS, n_groups], as `kept`
        ("mismatches", "i8"),  # checked build: evaluations that differed from scratch
    ],
    align=True,
)
"""An evaluation and what is kept of a line."""

_ONE = np.uint64(1)
_LOW = np.int64(0xFFFFFFFF)
_HIGH = np.int64(32)
_MIXER = np.uint64(0x9E3779B97F4A7C15)  # 2^64 by the golden ratio, odd: Knuth's multiplicative hash
_SLOT_SHIFT = np.uint64(64 - 10)  # SLOTS is 2^10


@inline
def _tapered(total, phase):
    """Centipawns of a sum, by phase."""
    endgame = np.int64(np.int32(total & _LOW))
    middlegame = (total - endgame) >> _HIGH
    value = middlegame * phase + endgame * (FULL - phase)
    return value // FULL if value >= 0 else -(-value // FULL)


@inline
def _phase(a, position):
    found = np.int64(0)
    for role in range(6):
        found += a.phase[at(role)] * np.int64(popcount(position.roles[at(role)]))
    return min(found, np.int64(FULL))


@inline
def _sum(weights, features, n, offset):
    """Of some features of a term that begins at ``offset``."""
    total = np.int64(0)
    for i in range(n):
        total += weights[at(features[at(i)] + offset)]
    return total


@inline
def _squares_changed(a, old, new):
    """What the changed squares add to the sum over all squares."""
    squares = view(a.squares, (PIECES, SQUARES_ON_BOARD), np.int64)
    total, changed = np.int64(0), changed_squares(old, new)
    while changed:
        square = lsb(changed)
        changed &= changed - _ONE
        before, after = np.int64(old.board[square]), np.int64(new.board[square])
        if before != EMPTY:
            total -= squares[at(before), square]
        if after != EMPTY:
            total += squares[at(after), square]
    return total


@inline
def _squares(a, position):
    squares = view(a.squares, (PIECES, SQUARES_ON_BOARD), np.int64)
    total, occupied = np.int64(0), position.colors[0] | position.colors[1]
    while occupied:
        square = lsb(occupied)
        occupied &= occupied - _ONE
        total += squares[np.int64(position.board[square]), square]
    return total


@inline
def _difference(term, weights, list, n):
    """White's sum less Black's of features as White sees them, by the table of their like."""
    total = np.int64(0)
    for i in range(n):
        feature = np.int64(list[at(i)])
        other = np.int64(view(term.turned, feature + 1, np.int32)[at(feature)])
        total += weights[at(feature + term.offset)] - weights[at(other + term.offset)]
    return total


@inline
def _active(a, term, position, turned):
    """White's sum less Black's of a called term."""
    weights = view(a.weights, a.n_weights, np.int64)
    list = view(a.lists, a.width, np.int32)
    n = call(term.active, term.data, position, np.int64(0), place(list, 0))
    if term.turned != 0:
        return _difference(term, weights, list, n)
    total = _sum(weights, list, n, term.offset)
    # What Black sees is what White would see of the board turned over, which is done once.
    n = call(term.active, term.data, turned, np.int64(0), place(list, 0))
    return total - _sum(weights, list, n, term.offset)


@inline
def _seen(a, term, old, new, added, removed):
    """What changes as White sees it; FROM_SCRATCH where a term doesn't know."""
    return call(term.changes, term.data, old, new, np.int64(0), place(added, 0), place(removed, 0))


@inline
def _changed(a, term, old, new, turned_old, turned_new, before):
    """White's sum less Black's of a term that was ``before``; updated where that is known."""
    lists = view(a.lists, (2, a.width), np.int32)
    weights = view(a.weights, a.n_weights, np.int64)
    added, removed = lists[0], lists[1]
    counts = _seen(a, term, old, new, added, removed)
    if counts == FROM_SCRATCH:
        return _active(a, term, new, turned_new)
    more, less = unpack(counts)
    if term.turned != 0:
        plus = _difference(term, weights, added, more)
        return before + plus - _difference(term, weights, removed, less)
    total = before + _sum(weights, added, more, term.offset)
    total -= _sum(weights, removed, less, term.offset)
    counts = _seen(a, term, turned_old, turned_new, added, removed)
    if counts == FROM_SCRATCH:
        return _active(a, term, new, turned_new)
    more, less = unpack(counts)
    total -= _sum(weights, added, more, term.offset)
    return total + _sum(weights, removed, less, term.offset)


@inline
def _rows(a, position):
    """White's sum less Black's of the terms in tables that are not in one."""
    features = a.features
    if features.terms.n == features.n_kings == 0:
        return np.int64(0)
    weights = view(a.weights, a.n_weights, np.int64)
    list = view(a.lists, a.width, np.int32)
    n = active_rows(features, position, np.int64(0), list)
    total = _sum(weights, list, n, np.int64(0))
    n = active_rows(features, position, np.int64(1), list)
    return total - _sum(weights, list, n, np.int64(0))


@inline
def _group(a, group, position, turned):
    """White's sum less Black's of a group."""
    parts = view(a.parts, a.n_parts, PART)
    weights = view(a.weights, a.n_weights, np.int64)
    list = view(a.lists, a.width, np.int32)
    total = np.int64(0)
    for i in range(group.start, group.stop):
        part = parts[at(i)]
        data = view(part.data, 1, COMPUTED)[0]
        n = found(data, position, list, place(list, 0))
        total += _sum(weights, list, n, part.first)
        n = found(data, turned, list, place(list, 0))
        total -= _sum(weights, list, n, part.first)
    return total


@inline
def _source(line, ply):
    """The nearest ply whose sums are kept, -1 when there is none."""
    source = ply
    while source >= 0 and ply_at(line, source).computed[0] == 0:
        source -= 1
    return source


@inline
def _slot(position):
    """Where a position with such pawns and kings is remembered, if it is."""
    pawns, kings = position.roles[PAWN], position.roles[KING]
    mixed = pawns * _MIXER ^ (pawns & position.colors[0]) + (kings & position.colors[0])
    return np.int64((mixed ^ kings) * _MIXER >> _SLOT_SHIFT)


@inline
def _is_same(group, old, position, turned_old, turned):
    """Whether a group surely has the same sum in two positions; it has a function that tells."""
    return call(group.changed, old, position) == 0 and call(group.changed, turned_old, turned) == 0


@inline
def _update_groups(a, ply, source, old, position, turned_old, turned):
    """Of each group, the sum at ``source`` or a remembered one if it is the same, or else anew."""
    groups = view(a.groups, a.n_groups, GROUP)
    kept = view(a.kept, (PLIES, a.n_groups), np.int64)[at(ply)]
    known = view(a.kept, (PLIES, a.n_groups), np.int64)[at(max(source, np.int64(0)))]
    slot = _slot(position)
    other = view(a.remembered, SLOTS, REMEMBERED)[at(slot)]
    sums = view(a.remembered_sums, (SLOTS, a.n_groups), np.int64)[at(slot)]
    is_new = False
    for i in range(a.n_groups):
        group = groups[at(i)]
        tells = group.changed != 0
        if tells and source >= 0 and _is_same(group, old, position, turned_old, turned):
            kept[at(i)] = known[at(i)]
        elif (
            tells
            and other.is_used != 0
            and _is_same(group, other.position, position, other.turned, turned)
        ):
            kept[at(i)] = sums[at(i)]
        else:
            kept[at(i)] = _group(a, group, position, turned)
            is_new |= tells
    if is_new:
        other.is_used = 1
        copy_record(other.position, position)
        copy_record(other.turned, turned)
        sums[:] = kept


@inline
def _update_called(a, ply, source, old, position, turned_old, turned):
    """The same for the terms that are called, some of which tell what changes."""
    n = a.features.n_called
    called = view(a.called, (PLIES, n), np.int64)
    terms = view(a.features.called, n, TERM)
    for i in range(n):
        term = terms[at(i)]
        if source >= 0 and term.changes != 0:
            before = called[at(source), at(i)]
            called[at(ply), at(i)] = _changed(a, term, old, position, turned_old, turned, before)
        else:
            called[at(ply), at(i)] = _active(a, term, position, turned)


@inline
def _update_to(a, line, ply, source):
    """Computes what is kept of ``ply`` from what is kept of ``source``, -1 for nothing."""
    placed = view(a.placed, PLIES, np.int64)
    boards = view(a.turned, PLIES, POSITION)
    position, turned = ply_at(line, ply).position, boards[at(ply)]
    turn_over(position, turned)
    known = max(source, np.int64(0))  # no matter which where there is none
    old, turned_old = ply_at(line, known).position, boards[at(known)]
    if source >= 0:
        placed[at(ply)] = placed[at(source)] + _squares_changed(a, old, position)
    else:
        placed[at(ply)] = _squares(a, position)
    _update_groups(a, ply, source, old, position, turned_old, turned)
    _update_called(a, ply, source, old, position, turned_old, turned)
    ply_at(line, ply).computed[0] = 1


@inline
def _from_scratch(a, position, turned):
    """All that is kept of a ply, by nothing but its position."""
    total = _squares(a, position)
    groups = view(a.groups, a.n_groups, GROUP)
    for i in range(a.n_groups):
        total += _group(a, groups[at(i)], position, turned)
    terms = view(a.features.called, a.features.n_called, TERM)
    for i in range(a.features.n_called):
        total += _active(a, terms[at(i)], position, turned)
    return total


def evaluate(a, line, ply):
    """Centipawns for the side to move at ``ply``: what an EVALUATOR calls."""
    source = _source(line, ply)
    if source != ply:
        _update_to(a, line, ply, source)
    position = ply_at(line, ply).position
    total = view(a.placed, PLIES, np.int64)[at(ply)]
    kept = view(a.kept, (PLIES, a.n_groups), np.int64)
    for i in range(a.n_groups):
        total += kept[at(ply), at(i)]
    n = a.features.n_called
    called = view(a.called, (PLIES, n), np.int64)
    for i in range(n):
        total += called[at(ply), at(i)]
    if CHECKED:
        turned = view(a.turned, PLIES, POSITION)[at(ply)]
        a.mismatches += total != _from_scratch(a, position, turned)
    total += _rows(a, position)
    value = _tapered(total, _phase(a, position))
    return value if position.turn == 0 else -value
