"""Lazy accumulators: only a position that is evaluated pays for its accumulator.

It is brought up ply by ply from the nearest frame above that has one. The frames between keep
theirs, for all the siblings that follow: jumping over them would be paid again by every one.

Where the key of the features changes on the way (the own king has moved, mostly), no feature stays.
Then the accumulator comes from the last position with that key and its accumulator, wherever in the
tree that was: a *finny table*, first in Koivisto, here for whatever the features depend on.
"""

import numpy as np
from numba import from_dtype, types

from nnuelab.engine.state import CACHED, EVALUATION_BOUND, FRAMES, SEARCH, frame_at
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.jit import CHECKED, at, call, copy_record, entry, inline, jit, view
from nnuelab.nnue import inference

_COUNT_BITS = np.int64(32)  # of lists.pack
_COUNT = np.int64((1 << 32) - 1)


@inline
def _step(s, old, new, perspective, source, target):
    """Computes the accumulator of ``new`` from the one of ``old``; they may be in one place."""
    net = s.net
    added = view(s.added, net.max_active, np.int32)
    removed = view(s.removed, net.max_active, np.int32)
    n_added, n_removed = kernels.changes(net.features, old, new, perspective, added, removed)
    inference.update(net, source, target, added, n_added, removed, n_removed)


@jit
def _refresh(s, position, perspective, target):
    """Computes the accumulator of a position from the cache, which keeps it."""
    key = kernels.key(s.net.features, position, perspective)
    slot = at(key % s.slots)
    entry = view(s.cached, (2, s.slots), CACHED)[at(perspective), slot]
    stored = view(s.cache, (2, s.slots, s.net.width), np.int16)[at(perspective), slot]
    if entry.key == key:
        _step(s, entry.position, position, perspective, stored, stored)
    else:
        inference.refresh(s.net, position, perspective, stored)
        entry.key = key
    copy_record(entry.position, position)
    target[:] = stored


@inline
def _source(s, ply, perspective):
    """The nearest ply from which the accumulator can be brought up, -1 when there is none."""
    source = ply
    while frame_at(s, source).computed[at(perspective)] == 0:
        if source == 0 or kernels.needs_refresh(
            s.net.features,
            frame_at(s, source - 1).position,
            frame_at(s, source).position,
            perspective,
        ):
            return np.int64(-1)
        source -= 1
    return source


@inline
def _steps(s, accumulators, source, ply, perspective):
    """Computes the accumulators of one perspective behind ``source``, up to ``ply``."""
    for step in range(source + 1, ply + 1):
        _step(
            s,
            frame_at(s, step - 1).position,
            frame_at(s, step).position,
            perspective,
            accumulators[at(step - 1), at(perspective)],
            accumulators[at(step), at(perspective)],
        )
        frame_at(s, step).computed[at(perspective)] = 1


@inline
def _steps_of_both(s, accumulators, source, ply):
    """The same for both perspectives."""
    net = s.net
    added = view(s.added, (2, net.max_active), np.int32)
    removed = view(s.removed, (2, net.max_active), np.int32)
    for step in range(source + 1, ply + 1):
        n_added, n_removed = kernels.changes_of_both(
            net.features,
            frame_at(s, step - 1).position,
            frame_at(s, step).position,
            added,
            removed,
        )
        for perspective in range(2):
            inference.update(
                net,
                accumulators[at(step - 1), at(perspective)],
                accumulators[at(step), at(perspective)],
                added[at(perspective)],
                n_added & _COUNT,
                removed[at(perspective)],
                n_removed & _COUNT,
            )
            n_added >>= _COUNT_BITS
            n_removed >>= _COUNT_BITS
            frame_at(s, step).computed[at(perspective)] = 1


@inline
def _bring_up(s, ply):
    """Computes the accumulators at ``ply`` unless that is done; no refresh is ever due."""
    accumulators = view(s.accumulators, (FRAMES, 2, s.net.width), np.int16)
    source = ply
    while source >= 0 and frame_at(s, source).computed[0] == 0:
        source -= 1
    if source < 0:
        for perspective in range(2):
            target = accumulators[at(ply), at(perspective)]
            inference.refresh(s.net, frame_at(s, ply).position, perspective, target)
            frame_at(s, ply).computed[at(perspective)] = 1
        return
    _steps_of_both(s, accumulators, source, ply)


def _bring_up_by_key(s, ply):
    """The same where a refresh may be due, for one perspective or for both."""
    accumulators = view(s.accumulators, (FRAMES, 2, s.net.width), np.int16)
    white, black = _source(s, ply, np.int64(0)), _source(s, ply, np.int64(1))
    if white == black and white >= 0:
        _steps_of_both(s, accumulators, white, ply)
        return np.int64(0)
    for perspective in range(2):
        source = white if perspective == 0 else black
        if source >= 0:
            _steps(s, accumulators, source, ply, perspective)
        else:
            position, target = frame_at(s, ply).position, accumulators[at(ply), at(perspective)]
            _refresh(s, position, perspective, target)
            frame_at(s, ply).computed[at(perspective)] = 1
    return np.int64(0)


@inline
def outdate(frame):
    """Says that a frame's position has changed."""
    frame.computed[0] = 0
    frame.computed[1] = 0


def _evaluate(s, ply):
    if s.slots > 1:
        call(s.bring_up_by_key, s, ply)
    else:
        _bring_up(s, ply)
    accumulators = view(s.accumulators, (FRAMES, 2, s.net.width), np.int16)
    position = frame_at(s, ply).position
    turn = np.int64(position.turn)
    value = inference.forward(
        s.net, position, accumulators[at(ply), at(turn)], accumulators[at(ply), at(turn ^ 1)]
    )
    if CHECKED and value != inference.evaluate(s.net, position):
        s.mismatches += 1
    return min(max(value, -EVALUATION_BOUND), EVALUATION_BOUND)


def compile_for(record: np.void) -> None:
    """Writes the addresses of what :func:`evaluate` calls into a record of SEARCH."""
    record["evaluate"] = entry(_evaluate, from_dtype(SEARCH), types.int64)
    if record["slots"] > 1:
        record["bring_up_by_key"] = entry(_bring_up_by_key, from_dtype(SEARCH), types.int64)


@jit
def evaluate(s, ply):
    """The net's value of the position at ``ply``, centipawns for the side to move.

    Called by address: the accumulators, the features and the net are compiled once, and not again
    with each part of the search that evaluates.
    """
    return call(s.evaluate, s, np.int64(ply))
