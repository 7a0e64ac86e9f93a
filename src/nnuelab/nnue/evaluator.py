"""A net as the evaluator of a search, with lazily updated accumulators.

An accumulator is updated ply by ply from the nearest ply above that has one. The plies between keep
theirs, for all the siblings that follow: jumping over them would be paid again by every one. Only
positions in check are jumped over. They are not evaluated, few moves follow, and what the check has
taken from the accumulator, most of the mobility for one, an evasion brings back.

A move changes mobility in much the same way wherever it is made, and that takes many rows. So where
a feature set has sets of squares, what a move has changed is kept together with the sum of its rows
(`_step_by_change`). When the move is made again, the rows by which the change differs this time are
added to that sum, and the sum to the accumulator.

Where the key of the features changes on the way (the own king has moved, mostly), no feature stays.
Then the accumulator comes from the last position with that key and its accumulator, wherever in the
tree that was: a *finny table*, first in Koivisto, here for whatever the features depend on.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import from_dtype, types

from nnuelab import artifacts
from nnuelab.build import CHECKED
from nnuelab.chess.position import POSITION
from nnuelab.errors import UserError
from nnuelab.evaluator import EVALUATOR, PLIES, ply_at
from nnuelab.features import fingerprint, revision
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.kernels import moved
from nnuelab.features.kernels.lists import place
from nnuelab.features.kernels.moved import PLACED
from nnuelab.features.kernels.piece_square import append_changed, changed_squares
from nnuelab.features.records import COUNTS, FEATURES, KEPT, PIECE_SQUARE
from nnuelab.features.revision import Revision
from nnuelab.jit import (
    address,
    aligned,
    at,
    call,
    copy_record,
    entry,
    inline,
    jit,
    local_record,
    view,
)
from nnuelab.nnue import inference
from nnuelab.nnue.inference import NET, Inference
from nnuelab.nnue.netfile import DEFAULT_NET, Net, read_net

CACHED = np.dtype(
    [
        ("key", "i8"),  # of the feature set (kernels.key), NO_KEY where nothing is stored
        ("position", POSITION),
    ],
    align=True,
)
"""The position of an accumulator in the cache."""
CHANGES = 512
"""Kept changes, a power of two. Twice as many need a tenth fewer rows, and more of the cache."""
CACHE_SLOTS = 1024  # by perspective; one for each key up to so many
NO_KEY = -1

ACCUMULATORS = np.dtype(
    [
        ("net", NET),
        ("revise", "u8"),  # function of kernels.revision, or 0: no changes are kept
        ("terms", "i8"),  # address of TERM[n_terms], of which changes are kept
        ("n_terms", "i8"),
        ("pieces", PIECE_SQUARE),  # and the blocks of which they are, too
        ("rest", FEATURES),  # the others, for updates
        ("rest_is_empty", "i8"),
        ("words", "i8"),  # of a kept change
        ("changes", "u8"),  # -> uint64[CHANGES, words]
        ("sums", "u8"),  # -> int16[CHANGES, 2, stride]: of their rows, by perspective
        ("more", "u8"),  # -> int32[2, 2 * max_active], scratch
        ("less", "u8"),  # -> int32[2, 2 * max_active], scratch
        ("accumulators", "u8"),  # -> int16[PLIES, 2, stride], by ply and perspective
        ("slots", "i8"),  # of the cache of accumulators
        ("cached", "u8"),  # -> CACHED[2, slots], by perspective
        ("cache", "u8"),  # -> int16[2, slots, stride]
        ("added", "u8"),  # -> int32[2, max_active], scratch
        ("removed", "u8"),  # -> int32[2, max_active], scratch
        ("mismatches", "i8"),  # checked build: evaluations that differed from scratch
    ],
    align=True,
)
"""A net and the accumulators of a line."""

_counts = local_record(COUNTS)
_SPREAD = np.uint64(0x9E3779B97F4A7C15)  # odd: 2^64 by the golden ratio (Knuth's hashing)
_COUNT_BITS = np.int64(32)  # of lists.pack
_COUNT = np.int64((1 << 32) - 1)


@inline
def accumulators_of(a):
    """int16[PLIES, 2, stride], by ply and perspective."""
    return view(a.accumulators, (PLIES, 2, a.net.stride), np.int16)


@inline
def _step(a, old, new, perspective, source, target):
    """Computes the accumulator of ``new`` from the one of ``old``; they may be in one place."""
    net = a.net
    added = view(a.added, net.max_active, np.int32)
    removed = view(a.removed, net.max_active, np.int32)
    n_added, n_removed = kernels.changes(net.features, old, new, perspective, added, removed)
    inference.update(net, source, target, added, n_added, removed, n_removed)


@jit
def _refresh(a, position, perspective, target):
    """Computes the accumulator of a position from the cache, which keeps it."""
    key = kernels.key(a.net.features, position, perspective)
    slot = at(key % a.slots)
    entry = view(a.cached, (2, a.slots), CACHED)[at(perspective), slot]
    stored = view(a.cache, (2, a.slots, a.net.stride), np.int16)[at(perspective), slot]
    if entry.key == key:
        _step(a, entry.position, position, perspective, stored, stored)
    else:
        inference.refresh(a.net, position, perspective, stored)
        entry.key = key
    copy_record(entry.position, position)
    target[:] = stored


@inline
def _source(a, line, ply, perspective):
    """The nearest ply from which the accumulator can be updated, -1 when there is none."""
    source = ply
    while ply_at(line, source).computed[at(perspective)] == 0:
        if source == 0 or kernels.needs_refresh(
            a.net.features,
            ply_at(line, source - 1).position,
            ply_at(line, source).position,
            perspective,
        ):
            return np.int64(-1)
        source -= 1
    return source


@inline
def _next(line, source, ply):
    """The next ply behind ``source`` on the way to ``ply`` that gets an accumulator."""
    step = source + 1
    while step < ply and ply_at(line, step).position.checkers != 0:
        step += 1
    return step


@inline
def _steps(a, line, source, ply, perspective):
    """Computes the accumulators of one perspective behind ``source``, up to ``ply``."""
    accumulators = accumulators_of(a)
    while source < ply:
        step = _next(line, source, ply)
        _step(
            a,
            ply_at(line, source).position,
            ply_at(line, step).position,
            perspective,
            accumulators[at(source), at(perspective)],
            accumulators[at(step), at(perspective)],
        )
        ply_at(line, step).computed[at(perspective)] = 1
        source = step


@jit
def _step_by_change(a, line, source, step):
    """Computes both accumulators at ``step`` from those at ``source`` by a kept change.

    The change is that of the last time that the move was made, if it is still there, and becomes
    that of this time.
    """
    net, accumulators, counts = a.net, accumulators_of(a), _counts()
    old, new = ply_at(line, source).position, ply_at(line, step).position
    added = view(a.added, (2, net.max_active), np.int32)
    removed = view(a.removed, (2, net.max_active), np.int32)
    changed = changed_squares(old, new)
    # A move and the way back change the same bits of the key.
    arrived = changed & (new.colors[0] | new.colors[1]) & ~(old.colors[0] | old.colors[1])
    move = (old.key ^ new.key) + arrived * _SPREAD
    slot = at((move >> np.uint64(32)) & np.uint64(CHANGES - 1))
    words = view(a.changes, (CHANGES, a.words), np.uint64)[slot]
    sums = view(a.sums, (CHANGES, 2, net.stride), np.int16)[slot]
    if not moved.is_of(words, changed, old, new):
        moved.begin(words, changed, old, new)
        sums[:] = 0
        for i in range(2):
            perspective = at(i)
            more, less = added[perspective], removed[perspective]
            n_more, n_less = append_changed(
                a.pieces, changed, old, new, i, more, np.int64(0), less, np.int64(0)
            )
            row = sums[perspective]
            inference.update(net, row, row, more, n_more, less, n_less)
    width = 2 * net.max_active
    more, less = view(a.more, (2, width), np.int32), view(a.less, (2, width), np.int32)
    kept, plus, minus = inference.location(words) + 8 * PLACED, place(more, 0), place(less, 0)
    at_old, at_new = source & (KEPT - 1), step & (KEPT - 1)
    at_new ^= np.int64(at_old == at_new)
    call(a.revise, old, new, at_old, at_new, a.terms, a.n_terms, kept, plus, minus, width, counts)
    n_more, n_less = counts.added & _COUNT, counts.removed & _COUNT
    if n_more | n_less:
        inference.update_both(net, sums, more, n_more, less, n_less)
    n_added, n_removed = np.int64(0), np.int64(0)
    if not a.rest_is_empty:
        n_added, n_removed = kernels.changes_of_both(a.rest, old, new, added, removed)
    for i in range(2):
        perspective = at(i)
        inference.update_by(
            net,
            accumulators[at(source), perspective],
            sums[perspective],
            accumulators[at(step), perspective],
            added[perspective],
            n_added & _COUNT,
            removed[perspective],
            n_removed & _COUNT,
        )
        n_added >>= _COUNT_BITS
        n_removed >>= _COUNT_BITS
        ply_at(line, step).computed[perspective] = 1


@inline
def _step_of_both(a, line, source, step):
    """The same without one."""
    net, accumulators = a.net, accumulators_of(a)
    added = view(a.added, (2, net.max_active), np.int32)
    removed = view(a.removed, (2, net.max_active), np.int32)
    old, new = ply_at(line, source).position, ply_at(line, step).position
    n_added, n_removed = kernels.changes_of_both(net.features, old, new, added, removed)
    for perspective in range(2):
        inference.update(
            net,
            accumulators[at(source), at(perspective)],
            accumulators[at(step), at(perspective)],
            added[at(perspective)],
            n_added & _COUNT,
            removed[at(perspective)],
            n_removed & _COUNT,
        )
        n_added >>= _COUNT_BITS
        n_removed >>= _COUNT_BITS
        ply_at(line, step).computed[at(perspective)] = 1


@inline
def _steps_of_both(a, line, source, ply):
    """Computes the accumulators of both perspectives behind ``source``, up to ``ply``."""
    while source < ply:
        step = _next(line, source, ply)
        if a.revise:
            _step_by_change(a, line, source, step)
        else:
            _step_of_both(a, line, source, step)
        source = step


@inline
def _update_to(a, line, ply):
    """Computes the accumulators at ``ply`` unless that is done; no key ever changes."""
    source = ply
    while source >= 0 and ply_at(line, source).computed[0] == 0:
        source -= 1
    if source >= 0:
        _steps_of_both(a, line, source, ply)
        return
    entry = ply_at(line, ply)
    for perspective in range(2):
        target = accumulators_of(a)[at(ply), at(perspective)]
        inference.refresh(a.net, entry.position, perspective, target)
        entry.computed[at(perspective)] = 1


@inline
def _update_by_key(a, line, ply):
    """The same where a refresh may be due, for one perspective or for both."""
    white = _source(a, line, ply, np.int64(0))
    black = _source(a, line, ply, np.int64(1))
    if white == black and white >= 0:
        _steps_of_both(a, line, white, ply)
        return
    for perspective in range(2):
        source = white if perspective == 0 else black
        if source >= 0:
            _steps(a, line, source, ply, perspective)
        else:
            target = accumulators_of(a)[at(ply), at(perspective)]
            _refresh(a, ply_at(line, ply).position, perspective, target)
            ply_at(line, ply).computed[at(perspective)] = 1


@inline
def _forward(a, line, ply):
    """The value at ``ply``, whose accumulators are computed."""
    position, accumulators = ply_at(line, ply).position, accumulators_of(a)
    turn = np.int64(position.turn)
    value = inference.forward(
        a.net, position, accumulators[at(ply), at(turn)], accumulators[at(ply), at(turn ^ 1)]
    )
    if CHECKED and value != inference.evaluate(a.net, position):
        a.mismatches += 1
    return value


def _evaluate(a, line, ply):
    _update_to(a, line, ply)
    return _forward(a, line, ply)


def _evaluate_by_key(a, line, ply):
    _update_by_key(a, line, ply)
    return _forward(a, line, ply)


class Accumulators:
    """A net with the accumulators of a line: :class:`nnuelab.evaluator.Bound`.

    Attributes
    ----------
    record : np.void of EVALUATOR
    data : np.void of ACCUMULATORS
        What ``record`` points to.
    memory : dict of ndarray
        What the addresses in ``data`` point to, by the names of its fields.
    """

    def __init__(self, net: Net) -> None:
        self._inference = Inference(net)
        of_net = self._inference.record
        stride, lists = int(of_net["stride"]), (2, int(of_net["max_active"]))
        slots = min(int(of_net["features"]["n_keys"]), CACHE_SLOTS)
        self.memory = {
            "accumulators": aligned((PLIES, 2, stride), np.int16),
            "cached": np.zeros((2, slots), CACHED),
            "cache": aligned((2, slots, stride), np.int16),
            "added": np.zeros(lists, np.int32),
            "removed": np.zeros(lists, np.int32),
        }
        self._revision = Revision(net.features, self._inference.tables)
        if self._revision.n:
            twice = (2, 2 * int(of_net["max_active"]))
            self.memory |= {
                "changes": aligned((CHANGES, self._revision.words), np.uint64),
                "sums": aligned((CHANGES, 2, stride), np.int16),
                "more": np.zeros(twice, np.int32),
                "less": np.zeros(twice, np.int32),
            }
        self.memory["cached"]["key"] = NO_KEY
        data = np.zeros(1, ACCUMULATORS)
        data["net"], data["slots"] = of_net, slots
        for name in ("terms", "pieces", "rest", "rest_is_empty", "words"):
            data[name] = getattr(self._revision, name)
        data["revise"], data["n_terms"] = self._revision.function, self._revision.n
        for name, array in self.memory.items():
            data[name] = address(array)
        arguments = from_dtype(ACCUMULATORS), types.uint64, types.int64
        self.data, self.record = data[0], np.zeros(1, EVALUATOR)[0]
        evaluate = _evaluate_by_key if slots > 1 else _evaluate
        self.record["evaluate"], self.record["data"] = entry(evaluate, *arguments), address(data)

    def check(self) -> None:
        """Raises UserError when a block of a user's has broken its bounds since the last time."""
        try:
            self._inference.check()
        except UserError:
            self.memory["cached"]["key"] = NO_KEY  # nothing is kept of what it has left out
            raise


class NetEvaluator:
    """A net as an :class:`nnuelab.evaluator.Evaluator`.

    Parameters
    ----------
    net : Net, path of a net of either format, or None
        None: the net that ships with the package.

    Raises
    ------
    UserError
        When there is no such file or it isn't usable.
    """

    def __init__(self, net: Net | Path | str | None = None) -> None:
        if net is None and not DEFAULT_NET.is_file():
            raise UserError("this installation has no default net; give one with --net FILE")
        self._file = None if isinstance(net, Net) else Path(net or DEFAULT_NET)
        self.net = net if isinstance(net, Net) else read_net(net or DEFAULT_NET)

    @property
    def name(self) -> str:
        """Its feature set."""
        return self.net.feature_set

    def files(self) -> dict[str, Path]:
        """The net's, if it comes from one."""
        return {} if self._file is None else {"net": self._file}

    def code(self) -> str:
        """Of this module and of the blocks of its features."""
        features = self.net.features
        of_features = fingerprint.code(features), revision.code(features)
        return artifacts.code_hash("nnue.evaluator", more=list(of_features))

    def bind(self) -> Accumulators:
        """The net in the layout of the kernels, with its accumulators."""
        return Accumulators(self.net)
