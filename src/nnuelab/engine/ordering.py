"""Move ordering, and the history tables behind it.

An entry of a move list is ``score << 32 | move << 16 | place``, so that sorting is comparing
integers, and the greatest says where it stands. From the top: the transposition table's move,
captures by MVV-LVA, quiet moves by history, captures that lose material, promotions to less than a
queen.

Whoever gives a move a score that it may be tried for asks for the bucket of the transposition table
where it leads to: memory is slower than all that happens until then.
"""

import numpy as np

from nnuelab.chess.checks import is_check
from nnuelab.chess.moves import (
    EN_PASSANT,
    PROMOTION,
    is_promotion,
    kind,
    likely_key,
    origin,
    target,
)
from nnuelab.chess.position import EMPTY, KNIGHT, PAWN, QUEEN
from nnuelab.engine import table, terms
from nnuelab.engine.exchange import VALUES, see_ge, victim_value
from nnuelab.engine.state import DESTINATIONS, LIST, frame_at, position_at
from nnuelab.jit import at, inline, jit, view
from nnuelab.orderer import order

HASH_MOVE = 1 << 30
CAPTURE = 1 << 28
LOSING = -(1 << 26)  # below every history, above the two that follow
LOSING_CAPTURE = -(1 << 27)
UNDERPROMOTION = -(1 << 28)
NO_ENTRY = -(1 << 60)  # below every entry
HISTORY_LIMIT = 1 << 14  # histories stay within +-
_SCORE_SHIFT, _MOVE_SHIFT = 32, 16
_MASK = (1 << 16) - 1  # of a move or a place
_MVV = 16  # an attacker's role never outweighs a difference of victims
_CAPTURE_SHARE = 8  # of a capture's history in its score: worth at most 128 centipawns of victim
_BUTTERFLY, _CONTINUATION = terms.has("butterfly"), terms.has("continuation")
_CAPTURE_HISTORY, _EXCHANGE = terms.has("capture-history"), terms.has("exchange-ordering")


@inline
def entry_of(move, score, place):
    """A list's entry."""
    return score << _SCORE_SHIFT | move << _MOVE_SHIFT | place


@inline
def move_of(entry):
    """The move of a list's entry."""
    return (entry >> _MOVE_SHIFT) & _MASK


@inline
def score_of(entry):
    """The score of a list's entry."""
    return entry >> _SCORE_SHIFT


@inline
def _put(moves, entry, place):
    """Writes an entry to a place of its list; returns what stands there then."""
    entry = (entry & ~np.int64(_MASK)) | place
    moves[at(place)] = entry
    return entry


@inline
def is_tactical(position, move):
    """A capture or a promotion: what has no history."""
    return (
        position.board[target(move)] != EMPTY or kind(move) == EN_PASSANT or kind(move) >= PROMOTION
    )


@inline
def destination(position, move):
    """Piece and target square as an index below DESTINATIONS."""
    return np.int64(position.board[origin(move)]) * 64 + target(move)


@inline
def _histories(s):
    return view(s.history, (2, 4096), np.int16)


@inline
def _captures(s):
    return view(s.captures, (DESTINATIONS, 6), np.int16)


@inline
def _continuations(s):
    return view(s.continuations, (DESTINATIONS + 1, DESTINATIONS), np.int16)


@inline
def history_of(s, position, frame, move):
    """History of a quiet move: butterfly, and continuation one and two plies back."""
    place = destination(position, move)
    continuations = _continuations(s)
    score = np.int64(0)
    if _BUTTERFLY:
        score += np.int64(_histories(s)[at(position.turn), at(move & 4095)])
    if _CONTINUATION:
        score += np.int64(continuations[at(frame.moved), at(place)])
        score += np.int64(continuations[at(frame.moved_before), at(place)])
    return score


@inline
def _victim_role(position, move):
    """Role of what a capture takes; PAWN for en passant and for a promotion that takes nothing."""
    piece = np.int64(position.board[at(target(move))])
    return PAWN if piece == EMPTY else piece >> 1


@inline
def _tactical_score(s, position, move):
    """Most valuable victim, then how the capture has done, then least valuable attacker."""
    gain = victim_value(position, move)
    if kind(move) >= PROMOTION:
        if kind(move) != PROMOTION + QUEEN - KNIGHT:
            return np.int64(UNDERPROMOTION)
        gain += VALUES[QUEEN]
    score = CAPTURE + _MVV * gain - (np.int64(position.board[origin(move)]) >> 1)
    if _CAPTURE_HISTORY:
        place, victim = destination(position, move), _victim_role(position, move)
        score += np.int64(_captures(s)[at(place), at(victim)]) // _CAPTURE_SHARE
    return score


@inline
def is_ordered(s, depth, ply):
    """Whether an orderer has a say at a node."""
    return s.orderer.order != 0 and (ply == 0 or depth >= s.ordering_depth)


@jit
def score_moves(s, ply, moves, first, n, hash_move, tried, ordered):
    """Turns moves[first:n] into entries, less one of the table that was tried; returns the end.

    ``ordered``: the orderer's scores are added to the histories.
    """
    position, frame = position_at(s, ply), frame_at(s, ply)
    scores = view(s.scores, LIST, np.int64)
    if ordered:
        order(s.orderer, s.line, ply, moves[first:].ctypes.data, n - first, s.scores)
    end = first
    for i in range(first, n):
        move = moves[at(i)]
        if move == hash_move:
            if tried:
                continue
            score = np.int64(HASH_MOVE)
        elif is_tactical(position, move):
            score = _tactical_score(s, position, move)
        else:
            score = history_of(s, position, frame, move)
            if ordered:
                score += scores[at(i - first)]
        moves[at(end)] = entry_of(move, score, end)
        end += 1
        if score > 0:
            table.prefetch(s, likely_key(position, move))
    return end


@jit
def score_captures(s, position, moves, n):
    """The same where only captures and queen promotions are listed."""
    for i in range(n):
        move = moves[at(i)]
        moves[at(i)] = entry_of(move, _tactical_score(s, position, move), i)
        table.prefetch(s, likely_key(position, move))


@inline
def best_first(moves, i, n):
    """Swaps the greatest of moves[i:n] to place ``i``; LLVM makes vectors of the loop."""
    first = moves[at(i)]
    entry = first
    for j in range(i + 1, n):
        entry = max(entry, moves[at(j)])
    _put(moves, first, entry & _MASK)
    return _put(moves, entry, i)


@inline
def pick(position, moves, i, n):
    """Brings the best entry of moves[i:n] to place ``i`` and returns it.

    Whether a capture loses material is asked only when its turn comes; if so it goes to the back.
    """
    entry = best_first(moves, i, n)
    while _EXCHANGE and CAPTURE // 2 < score_of(entry) < HASH_MOVE:
        move = move_of(entry)
        if see_ge(position, move, np.int64(0)):
            break
        moves[at(i)] = entry_of(move, score_of(entry) - CAPTURE + LOSING_CAPTURE, i)
        entry = best_first(moves, i, n)
    return entry


@inline
def only_checks(position, checks, moves, first, n):
    """Keeps checks and promotions of the quiet moves[first:n], not yet scored; returns the end."""
    end = first
    for i in range(first, n):
        move = moves[at(i)]
        if is_promotion(move) or is_check(position, checks, move):
            moves[at(end)] = move
            end += 1
    return end


@inline
def drop_quiet(position, checks, moves, first, n):
    """Moves captures, promotions and checks in moves[first:n] to the front; returns their end."""
    for j in range(first, n):
        entry = moves[at(j)]
        move = move_of(entry)
        if is_tactical(position, move) or is_check(position, checks, move):
            _put(moves, moves[at(first)], j)
            _put(moves, entry, first)
            first += 1
    return first


@inline
def _learn(history, row, column, bonus):
    """Moves an entry towards the bonus: the nearer to its limit, the less."""
    value = np.int64(history[at(row), at(column)])
    history[at(row), at(column)] = value + bonus - value * abs(bonus) // HISTORY_LIMIT


@inline
def _reward(s, position, frame, move, bonus):
    place = destination(position, move)
    if is_tactical(position, move):
        _learn(_captures(s), place, _victim_role(position, move), bonus)
        return
    _learn(_histories(s), np.int64(position.turn), move & 4095, bonus)
    _learn(_continuations(s), frame.moved, place, bonus)
    _learn(_continuations(s), frame.moved_before, place, bonus)


@jit
def learn_cutoff(s, ply, moves, i, n, listed, depth):
    """Rewards moves[i], which caused the beta cutoff, and penalises those tried before it.

    These are moves[:i] and, among those that were listed and left out, moves[n:listed], the greater
    ones. A capture that refutes says nothing against the quiet moves, which weren't tried.
    """
    position, frame = position_at(s, ply), frame_at(s, ply)
    best = move_of(moves[at(i)])
    bonus = min(150 * depth, 1500)
    quiet = not is_tactical(position, best)
    _reward(s, position, frame, best, bonus)
    for j in range(listed):
        if j < i or (j >= n and moves[at(j)] > moves[at(i)]):
            move = move_of(moves[at(j)])
            if quiet or is_tactical(position, move):
                _reward(s, position, frame, move, -bonus)
