"""What every node of the search does: limits, making a move, draws, bounds. All jitted."""

import numpy as np

from nnuelab import evaluator
from nnuelab.chess.moves import legal_moves, likely_key, make, make_null
from nnuelab.chess.position import insufficient_material
from nnuelab.engine import clock, table, terms
from nnuelab.engine.ordering import destination
from nnuelab.engine.state import (
    EVALUATION_BOUND,
    LIST,
    MATE,
    MATE_BOUND,
    NO_DESTINATION,
    frame_at,
    keys_of,
    position_at,
)
from nnuelab.evaluator import PLIES, invalidate, ply_at
from nnuelab.jit import at, inline, jit, view

DRAW = 0
UNTIMED_NODES = 1024  # what little time there may be, a move has been searched after so many
CLOCK_NODES = 128  # then the clock is read once per so many, some 50 us: it takes 20 ns
FIFTY_MOVES = 100  # plies
OLD_HALFMOVES = 90  # near the 50-move rule the same position has another value
_TRANSPOSITION = terms.has("transposition")
_TABLE_EVALUATION = terms.has("table-evaluation")


@inline
def may_go_on(s):
    """Whether one more node may be searched; a node limit is exact, the clock is not."""
    due = s.nodes >= UNTIMED_NODES and s.nodes % CLOCK_NODES == 0
    if s.nodes >= s.node_limit or (due and clock.now() >= s.deadline):
        s.stop = 1
    return s.stop == 0


@jit
def evaluate(s, ply):
    """The evaluator's value of the position at ``ply``: centipawns for the side to move."""
    value = evaluator.evaluate(s.evaluator, s.line, ply)
    return min(max(value, -EVALUATION_BOUND), EVALUATION_BOUND)


@jit
def enter(s, ply, move):
    """Makes a legal move at ``ply``: a node. The new position is the one below."""
    position, below = position_at(s, ply), ply_at(s.line, ply + 1)
    table.prefetch(s, likely_key(position, move))  # it comes while the move is made
    make(position, below.position, move)
    s.nodes += 1
    invalidate(below)
    frame, reached = frame_at(s, ply), frame_at(s, ply + 1)
    reached.moved = destination(position, move)
    reached.moved_before = frame.moved
    reached.reversible = frame.reversible + 1 if below.position.halfmove > 0 else 0
    keys_of(s)[at(s.root + ply + 1)] = below.position.key


@jit
def enter_null(s, ply):
    """Makes a null move at ``ply``; not a node, and no repetition reaches across it."""
    below = ply_at(s.line, ply + 1)
    make_null(position_at(s, ply), below.position)
    table.prefetch(s, below.position.key)
    invalidate(below)
    reached = frame_at(s, ply + 1)
    reached.moved = NO_DESTINATION
    reached.moved_before = frame_at(s, ply).moved
    reached.reversible = 0
    keys_of(s)[at(s.root + ply + 1)] = below.position.key


@inline
def list_of(s, ply):
    return view(s.moves, (PLIES, LIST), np.int64)[at(ply)]


@jit
def is_draw(s, ply):
    """Fifty moves (unless it is mate), insufficient material, repetition.

    Once is enough for a repetition inside the line that is searched: what was best there is best
    again. A position of the game before the root has to come up for the third time.
    """
    position = position_at(s, ply)
    if position.halfmove >= FIFTY_MOVES and (
        not position.checkers or legal_moves(position, list_of(s, ply)) > 0
    ):
        return True
    if insufficient_material(position):
        return True
    keys = keys_of(s)
    here = s.root + ply
    seen = 0
    for back in range(4, frame_at(s, ply).reversible + 1, 2):
        if keys[at(here - back)] == position.key:
            seen += 1
            if back < ply or seen == 2:
                return True
    return False


@inline
def is_usable(bound, score, alpha, beta):
    """Whether a stored bound answers a search with this window."""
    if bound == table.BOUND_EXACT:
        return True
    return score >= beta if bound == table.BOUND_LOWER else score <= alpha


@inline
def _is_trusted(position, entry):
    """Whether a stored score of a position holds under its clock of 50 moves, as a mate in time."""
    halfmove, score = np.int64(position.halfmove), abs(np.int64(entry.score))
    return halfmove < OLD_HALFMOVES and (
        score < MATE_BOUND or MATE - score <= FIFTY_MOVES - halfmove
    )


@inline
def tt_cutoff(position, entry, score, alpha, beta):
    """Whether an entry of the table ends a search of a position with this window."""
    return (
        _TRANSPOSITION
        and _is_trusted(position, entry)
        and is_usable(entry.bound & 3, score, alpha, beta)
    )


@inline
def tt_improves_eval(position, entry, score, evaluation):
    """Whether a stored bound, short of a mate, corrects an evaluation."""
    return (
        _TABLE_EVALUATION
        and abs(score) < MATE_BOUND
        and _is_trusted(position, entry)
        and is_usable(entry.bound & 3, score, evaluation, evaluation)
    )


@inline
def bound_of(best, alpha, beta):
    """What a result of a search with this window says about the true value."""
    bound = np.int64(table.BOUND_UPPER)
    if best >= beta:
        bound = np.int64(table.BOUND_LOWER)
    elif best > alpha:
        bound = np.int64(table.BOUND_EXACT)
    return bound
