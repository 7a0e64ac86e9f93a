"""Lazy accumulators: only a position that is evaluated pays for its accumulator.

It is brought up ply by ply from the nearest frame above that has one. The frames between keep
theirs, for all the siblings that follow: jumping over them would be paid again by every one.

Where the key of the features changes on the way (the own king has moved, mostly), no feature stays.
Then the accumulator comes from the last position with that key and its accumulator, wherever in the
tree that was: a *finny table*, first in Koivisto, here for whatever the features depend on.
"""

import numpy as np

from nnuelab.engine.state import CACHED, EVALUATION_BOUND, FRAMES, frame_at
from nnuelab.features import kernels
from nnuelab.jit import CHECKED, at, copy_record, inline, jit, view
from nnuelab.nnue import inference


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


@jit
def bring_up(s, ply, perspective):
    """Computes the accumulator of one perspective at ``ply`` unless that is done."""
    accumulators = view(s.accumulators, (FRAMES, 2, s.net.width), np.int16)
    source = ply
    while source >= 0 and frame_at(s, source).computed[at(perspective)] == 0:
        if source == 0 or kernels.needs_refresh(
            s.net.features,
            frame_at(s, source - 1).position,
            frame_at(s, source).position,
            perspective,
        ):
            source = -1
        else:
            source -= 1
    if source < 0:
        position, target = frame_at(s, ply).position, accumulators[at(ply), at(perspective)]
        if s.slots > 1:
            _refresh(s, position, perspective, target)
        else:
            inference.refresh(s.net, position, perspective, target)
        frame_at(s, ply).computed[at(perspective)] = 1
    else:
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
def outdate(frame):
    """Says that a frame's position has changed."""
    frame.computed[0] = 0
    frame.computed[1] = 0


@jit
def evaluate(s, ply):
    """The net's value of the position at ``ply``, centipawns for the side to move."""
    for perspective in range(2):  # a loop, since numba compiles anew for every literal argument
        bring_up(s, ply, perspective)
    accumulators = view(s.accumulators, (FRAMES, 2, s.net.width), np.int16)
    turn = np.int64(frame_at(s, ply).position.turn)
    value = inference.forward(
        s.net, accumulators[at(ply), at(turn)], accumulators[at(ply), at(turn ^ 1)]
    )
    if CHECKED and value != inference.evaluate(s.net, frame_at(s, ply).position):
        s.mismatches += 1
    return min(max(value, -EVALUATION_BOUND), EVALUATION_BOUND)
