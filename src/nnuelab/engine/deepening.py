"""Iterative deepening: one iteration, and a search to a limit of nodes or depth. All jitted."""

from __future__ import annotations

import numpy as np
from numba import types

from nnuelab.chess.moves import MAX_MOVES, NO_MOVE
from nnuelab.engine import alphabeta, terms
from nnuelab.engine.node import evaluate
from nnuelab.engine.state import (
    BEST_LINE,
    HISTORY_KEYS,
    INFINITE,
    MATE_BOUND,
    NO_DESTINATION,
    SEARCH,
    frame_at,
    keys_of,
    lines_of,
)
from nnuelab.engine.table import GENERATIONS
from nnuelab.evaluator import invalidate, ply_at
from nnuelab.jit import at, call, copy_record, entry, inline, jit, record_type, view

WIDEST_WINDOW = 1000
_LOWEST, _HIGHEST = np.int64(-INFINITE), np.int64(INFINITE)
_ASPIRATION = terms.has("aspiration")


@jit
def place_root(s, position, keys, n_keys):
    """Makes ``position`` the root; ``keys[:n_keys]`` are those of the game before it."""
    reversible = min(n_keys, np.int64(position.halfmove), HISTORY_KEYS)
    own = keys_of(s)
    for i in range(reversible):
        own[at(i)] = keys[at(n_keys - reversible + i)]
    own[at(reversible)] = position.key
    s.root = reversible
    root, frame = ply_at(s.line, 0), frame_at(s, 0)
    copy_record(root.position, position)
    invalidate(root)
    frame.reversible = reversible
    frame.moved = frame.moved_before = NO_DESTINATION
    frame.pv_length = 0
    evaluate(s, 0)  # in check, too: an evaluator's updates begin from the root


@jit
def begin(s, nodes):
    """Counts a new search, which ends at so many nodes."""
    s.generation = (s.generation + 1) % GENERATIONS
    s.root_score = s.seldepth = s.nodes = 0
    s.node_limit = nodes


@inline
def _keep_line(s):
    pv = lines_of(s)
    length = frame_at(s, 0).pv_length
    if length > 0:
        for i in range(length):
            pv[at(BEST_LINE), at(i)] = pv[0, at(i)]
        s.line_length = length


def _iterate(s, depth, last):
    # Around the last score, doubled when it is left; early iterations jump too much for that.
    window = s.constants.aspiration_window
    alpha, beta = _LOWEST, _HIGHEST
    if _ASPIRATION and depth >= s.constants.aspiration_depth and abs(last) < MATE_BOUND:
        alpha, beta = last - window, last + window
    s.line_length = 0
    while True:
        score = alphabeta.search(s, alpha, beta, depth, np.int64(0))
        _keep_line(s)
        if s.stop != 0 or alpha < score < beta:
            return score
        window *= 2
        if score <= alpha:
            alpha = max(score - window, _LOWEST)
        else:
            beta = min(score + window, _HIGHEST)
        if window > WIDEST_WINDOW:
            alpha, beta = _LOWEST, _HIGHEST


def compiled_iterate() -> int:
    """The address of what :func:`iterate` calls."""
    return entry(_iterate, record_type(SEARCH), types.int64, types.int64)


@jit
def iterate(s, depth, last):
    """One iteration in a window around the ``last`` score, widened until the score is inside.

    The best line is then in row BEST_LINE of the lines; it has no moves when none has come up to
    the window. Called by address, so that the search is compiled once.
    """
    return call(s.iterate, s, np.int64(depth), np.int64(last))


@jit
def score_when_cut(s, move, score):
    """The score of an iteration that was cut, after one that gave this ``move`` and ``score``.

    Only moves that were tried count in it, so that it is a lower bound: a lower score of the same
    move says nothing yet, nor does a mate that some other move may avoid.
    """
    same = lines_of(s)[BEST_LINE, 0] == move
    if s.root_score < score and (same or s.root_score <= -MATE_BOUND):
        return score
    return s.root_score


@jit
def think(s, position, keys, n_keys, moves, n, nodes, depth):
    """Searches to a number of nodes or a depth: ``Engine.search`` without its options.

    Parameters
    ----------
    s : SEARCH record
        Its ``stop`` and ``deadline`` as `search.Engine.ready` leaves them.
    position : POSITION record
    keys, n_keys : uint64, int64
        The first ``n_keys`` are those of the game before, oldest first.
    moves, n : int64, int64
        The first ``n`` are the legal moves, at least one.
    nodes, depth : int64
        Whichever is reached first.

    Returns
    -------
    move, score, depth : int64
        The score in centipawns for the side to move, beyond +-MATE_BOUND for mates; the depth of
        the last whole iteration.
    """
    place_root(s, position, keys, n_keys)
    begin(s, nodes)
    roots = view(s.root_moves, MAX_MOVES, np.int64)
    pv = lines_of(s)
    for i in range(n):
        roots[at(i)] = moves[at(i)]
    s.n_root_moves, s.root_whole, s.root_best = n, 1, NO_MOVE
    best, score, done = moves[0], np.int64(0), np.int64(0)
    while done < depth:
        s.root_depth, s.seldepth = done + 1, 0
        found = iterate(s, done + 1, score)
        last = best
        if s.line_length > 0:
            best = pv[at(BEST_LINE), 0]
        if s.stop != 0:
            if s.line_length > 0:  # cut, but it has come so far
                score = score_when_cut(s, last, score)
            break
        done += 1
        score = found
        s.root_best = best
    s.stop = 0
    return best, score, done
