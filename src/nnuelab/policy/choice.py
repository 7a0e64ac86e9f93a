"""How a move is chosen from outputs of a policy: the walk of Neural Chess, or among legal moves.

The walk sorts both halves of the outputs, descending, equal ones by their squares. For each square
to go from, and each square to go to, it asks: does an own piece stand on the first, does none stand
on the second, is the move legal? The first yes is played; none left is the end of the game. Where
there is a number for each pair of squares, it takes pairs in the order of these.

The same is found without sorting: how many come before the best legal one.
"""

from __future__ import annotations

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, NO_MOVE, PROMOTION, kind, legal_moves, origin, target
from nnuelab.chess.position import QUEEN
from nnuelab.data.draws import uniform
from nnuelab.jit import at, inline, jit
from nnuelab.policy.inference import seen
from nnuelab.policy.policyfile import SQUARES

WALK = np.dtype(
    [
        ("move", "i8"),  # NO_MOVE where there is no legal one
        ("from_rank", "i8"),  # of its square to go from among the sorted ones, from 1; 0 for none
        ("to_rank", "i8"),  # likewise; for pairs: the rank of the pair
        ("tries", "i8"),  # pairs that were looked at, with this one
        ("checks", "i8"),  # of these with own piece on the first square alone: canMove
    ]
)
"""What a walk has found."""

_ONE = np.uint64(1)
_QUEEN_PROMOTION = PROMOTION + QUEEN - 1  # kinds count from the knight


@jit
def without_underpromotions(moves, n):
    """Leaves queen promotions alone of all promotions, in place; returns how many moves remain."""
    kept = 0
    for i in range(n):
        move = moves[at(i)]
        if kind(move) < PROMOTION or kind(move) == _QUEEN_PROMOTION:
            moves[at(kept)] = move
            kept += 1
    return kept


@inline
def _pairs_of(position, moves, n, targets):
    """Moves by their squares, as the player to move sees them.

    Parameters
    ----------
    targets : uint64[64], written
        Squares to go to, by the square to go from.
    """
    turn = np.int64(position.turn)
    targets[:] = np.uint64(0)
    for i in range(n):
        square = np.uint64(seen(target(moves[i]), turn))
        targets[at(seen(origin(moves[i]), turn))] |= _ONE << square


@inline
def _before(values, start, stop, i):
    """How many of values[start:stop] come before the one at ``i``: larger, or equal and earlier."""
    n = 0
    for j in range(start, stop):
        n += values[at(j)] > values[at(i)] or (values[at(j)] == values[at(i)] and j < i)
    return n


@inline
def _own(position):
    """Squares of own pieces as the player to move sees them, by square: bool[64]."""
    turn = np.int64(position.turn)
    found = np.empty(SQUARES, np.bool_)
    for square in range(SQUARES):
        bit = np.uint64(seen(square, turn))
        found[square] = position.colors[at(turn)] >> bit & _ONE != 0
    return found


@inline
def _move_of(position, start, square):
    """The legal move of a pair of squares, a promotion to a queen."""
    moves = np.empty(MAX_MOVES, np.int64)
    turn = np.int64(position.turn)
    for i in range(without_underpromotions(moves, legal_moves(position, moves))):
        move = moves[at(i)]
        if seen(origin(move), turn) == start and seen(target(move), turn) == square:
            return move
    return np.int64(NO_MOVE)


@jit
def walk(position, values, found):
    """Walks two lists of squares, or one of pairs.

    Parameters
    ----------
    position : POSITION record
    values : float32 [128] or [4096]
        Of squares to go from and of squares to go to; or of pairs, at 64 * start + square. Squares
        are those that the player to move sees.
    found : WALK record, written
    """
    moves = np.empty(MAX_MOVES, np.int64)
    walk_among(position, values, moves, legal_moves(position, moves), found)


@jit
def walk_among(position, values, moves, n, found):
    """A walk that takes only some legal moves: the others count as if canMove said no.

    Parameters
    ----------
    moves : int64 [at least n]
        Legal ones.
    """
    targets = np.empty(SQUARES, np.uint64)
    _pairs_of(position, moves, n, targets)
    if values.size == 2 * SQUARES:
        _walk_to(position, values, targets, found)
    else:
        _walk_pairs_to(position, values, targets, found)


@jit
def _walk_to(position, values, targets, found):
    own = _own(position)
    n_own = 0
    for square in range(SQUARES):
        n_own += own[square]
    best = -1
    for start in range(SQUARES):
        if targets[start] != 0 and (best < 0 or values[start] > values[best]):
            best = start
    # Squares with an own piece and no legal move cost a check for each square without one.
    found.from_rank, found.to_rank, found.checks = 0, 0, 0
    for start in range(SQUARES):
        first = best < 0 or values[start] > values[best]
        if (first or (values[start] == values[best] and start < best)) and own[start]:
            found.checks += SQUARES - n_own
    if best < 0:
        found.move, found.tries = NO_MOVE, SQUARES * SQUARES
        return
    goal = -1
    for square in range(SQUARES):
        legal = targets[best] >> np.uint64(square) & _ONE != 0
        if legal and (goal < 0 or values[SQUARES + square] > values[SQUARES + goal]):
            goal = square
    found.from_rank = _before(values, 0, SQUARES, best) + 1
    found.to_rank = 1
    found.checks += 1
    for square in range(SQUARES):
        a, b = values[SQUARES + square], values[SQUARES + goal]
        if a > b or (a == b and square < goal):
            found.to_rank += 1
            found.checks += not own[square]
    found.tries = SQUARES * (found.from_rank - 1) + found.to_rank
    found.move = _move_of(position, best, goal)


@jit
def _walk_pairs_to(position, values, targets, found):
    own = _own(position)
    best = -1
    for pair in range(SQUARES * SQUARES):
        legal = targets[pair >> 6] >> np.uint64(pair & 63) & _ONE != 0
        if legal and (best < 0 or values[pair] > values[best]):
            best = pair
    found.from_rank, found.to_rank, found.checks = 0, 0, 0
    found.tries, found.move = SQUARES * SQUARES, NO_MOVE
    if best >= 0:
        found.tries = 0
    for pair in range(SQUARES * SQUARES):
        first = best < 0 or values[pair] > values[best]
        if first or (values[pair] == values[best] and pair <= best):
            found.tries += best >= 0
            found.checks += own[pair >> 6] and not own[pair & 63]
    if best >= 0:
        found.to_rank = found.tries
        found.from_rank = 1
        found.move = _move_of(position, best >> 6, best & 63)


@jit
def draw(logits, n, temperature, top_p, state):
    """One of n logits, by their softmax.

    Parameters
    ----------
    logits : float32 [at least n]
    temperature : float
        0: the largest, the first of equal ones.
    top_p : float
        The likeliest that together have this probability are drawn from; 1: all.
    state : uint64 [1], updated
        Of the generator (splitmix64).

    Returns
    -------
    int
    """
    best = 0
    for i in range(1, n):
        if logits[at(i)] > logits[at(best)]:
            best = i
    if temperature <= 0:
        return best
    weights, total = np.empty(n), 0.0
    for i in range(n):
        difference = np.float64(logits[at(i)]) - np.float64(logits[at(best)])
        weights[at(i)] = np.exp(difference / temperature)
        total += weights[at(i)]
    if top_p < 1:
        order = np.argsort(-weights, kind="mergesort")
        enough, kept = top_p * total, 0.0
        for i in range(n):
            if kept >= enough:
                weights[at(order[at(i)])] = 0.0
            kept += weights[at(order[at(i)])]
        total = kept
    left = total * uniform(state)
    for i in range(n):
        left -= weights[at(i)]
        if left < 0:
            return i
    return best
