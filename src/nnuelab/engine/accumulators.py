"""Lazy accumulators: only a position that is evaluated pays for its accumulator.

It is brought up ply by ply from the nearest frame above that has one. The frames between keep
theirs, for all the siblings that follow: jumping over them would be paid again by every one. Where
a king that the features depend on has moved on the way, the accumulator is made from scratch.
"""

import numpy as np

from nnuelab.engine.state import EVALUATION_BOUND, FRAMES, frame_at
from nnuelab.features import kernels
from nnuelab.jit import CHECKED, at, inline, jit, view
from nnuelab.nnue import inference


@inline
def _step(s, accumulators, ply, perspective):
    """Computes the accumulator at ``ply`` from the one above."""
    net = s.net
    added = view(s.added, net.max_active, np.int32)
    removed = view(s.removed, net.max_active, np.int32)
    n_added, n_removed = kernels.changes(
        net.features,
        frame_at(s, ply - 1).position,
        frame_at(s, ply).position,
        perspective,
        added,
        removed,
    )
    inference.update(
        net,
        accumulators[at(ply - 1), at(perspective)],
        accumulators[at(ply), at(perspective)],
        added,
        n_added,
        removed,
        n_removed,
    )


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
        position = frame_at(s, ply).position
        inference.refresh(s.net, position, perspective, accumulators[at(ply), at(perspective)])
        frame_at(s, ply).computed[at(perspective)] = 1
    else:
        for step in range(source + 1, ply + 1):
            _step(s, accumulators, step, perspective)
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
