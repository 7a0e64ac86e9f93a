"""The search: alpha-beta with a principal variation, null move, reductions, quiescence. All jitted.

Scores are centipawns for the side to move, or MATE minus plies. ``s`` is a SEARCH record. A stopped
search returns through all plies at once with values that nobody reads.
"""

import numpy as np

from nnuelab.chess.moves import (
    MAX_MOVES,
    NO_MOVE,
    captures,
    is_promotion,
    legal_moves,
    make,
    make_null,
)
from nnuelab.chess.position import KING, PAWN, QUEEN, ROOK, insufficient_material
from nnuelab.engine import clock, table
from nnuelab.engine.accumulators import evaluate, outdate
from nnuelab.engine.exchange import victim_value, wins_at_least
from nnuelab.engine.ordering import (
    KILLER,
    LOSING,
    destination,
    history_of,
    is_tactical,
    learn_cutoff,
    move_of,
    pick,
    score_captures,
    score_moves,
    score_of,
)
from nnuelab.engine.state import (
    FRAMES,
    HISTORY_KEYS,
    INFINITE,
    MATE,
    MATE_BOUND,
    MAX_PLY,
    NO_DESTINATION,
    NO_EVALUATION,
    frame_at,
)
from nnuelab.jit import at, inline, jit, view
from nnuelab.jit import table as jit_table

DRAW = 0
CLOCK_NODES = 1024  # the clock is read once per so many nodes, about every millisecond
FIFTY_MOVES = 100  # plies
OLD_HALFMOVES = 90  # near the 50-move rule the same position has another value: no hash cut-offs

# Margins and depths of pruning, in centipawns and plies. The forms are those that the strong open
# engines agree on (Stockfish, Ethereal, Weiss); the numbers are round starting values for this net.
REVERSE_DEPTH, REVERSE_MARGIN = 8, 80
NULL_DEPTH, NULL_REDUCTION, NULL_SLOPE, NULL_MARGIN = 3, 3, 4, 200
INTERNAL_REDUCTION_DEPTH = 4
LATE_DEPTH, LATE_MOVES = 8, 4
FUTILITY_DEPTH, FUTILITY_MARGIN, FUTILITY_SLOPE = 7, 120, 90
EXCHANGE_DEPTH, EXCHANGE_QUIET, EXCHANGE_CAPTURE = 8, 60, 100
REDUCTION_DEPTH, HISTORY_PER_PLY = 3, 8192
DELTA_MARGIN = 150  # quiescence: the most that a capture may gain in position


def _reductions() -> np.ndarray:
    """Plies by which late quiet moves are searched less: logarithmic in depth and place."""
    logs = np.log(np.maximum(np.arange(64), 1))
    return np.maximum(0.5 + logs[:, None] * logs[None, :] / 2.2, 0).astype(np.int64)


_reduction_table = jit_table("reductions", _reductions())


@inline
def _may_go_on(s):
    """Whether one more node may be searched; a node limit is exact, the clock is not."""
    if s.nodes >= s.node_limit or (s.nodes % CLOCK_NODES == 0 and clock.now() >= s.deadline):
        s.stop = 1
    return s.stop == 0


@jit
def enter(s, ply, move):
    """Makes a legal move at ``ply``: a node. The new frame is the one below."""
    frame, below = frame_at(s, ply), frame_at(s, ply + 1)
    make(frame.position, below.position, move)
    table.prefetch(s, below.position.key)
    s.nodes += 1
    outdate(below)
    below.moved = destination(frame.position, move)
    below.moved_before = frame.moved
    below.reversible = frame.reversible + 1 if below.position.halfmove > 0 else 0
    view(s.keys, HISTORY_KEYS + FRAMES, np.uint64)[at(s.root + ply + 1)] = below.position.key


@jit
def enter_null(s, ply):
    """Passes at ``ply``; no node, and no repetition reaches across it."""
    frame, below = frame_at(s, ply), frame_at(s, ply + 1)
    make_null(frame.position, below.position)
    table.prefetch(s, below.position.key)
    outdate(below)
    below.moved = NO_DESTINATION
    below.moved_before = frame.moved
    below.reversible = 0
    view(s.keys, HISTORY_KEYS + FRAMES, np.uint64)[at(s.root + ply + 1)] = below.position.key


@inline
def _list_of(s, ply):
    return view(s.moves, (FRAMES, MAX_MOVES), np.int64)[at(ply)]


@jit
def is_draw(s, ply):
    """Fifty moves (a mate on the board goes first), too little material, repetition.

    Once is enough for a repetition inside the line that is searched: what was best there is best
    again. A position of the game before the root has to come up for the third time.
    """
    frame = frame_at(s, ply)
    position = frame.position
    if position.halfmove >= FIFTY_MOVES and (
        not position.checkers or legal_moves(position, _list_of(s, ply)) > 0
    ):
        return True
    if insufficient_material(position):
        return True
    keys = view(s.keys, HISTORY_KEYS + FRAMES, np.uint64)
    here = s.root + ply
    seen = 0
    for back in range(4, frame.reversible + 1, 2):
        if keys[at(here - back)] == position.key:
            seen += 1
            if back < ply or seen == 2:
                return True
    return False


@inline
def _usable(bound, score, alpha, beta):
    """Whether a stored bound settles a search with this window."""
    if bound == table.BOUND_EXACT:
        return True
    return score >= beta if bound == table.BOUND_LOWER else score <= alpha


@inline
def _bound(best, alpha, beta):
    """What a result of a search with this window says about the true value."""
    bound = np.int64(table.BOUND_UPPER)
    if best >= beta:
        bound = np.int64(table.BOUND_LOWER)
    elif best > alpha:
        bound = np.int64(table.BOUND_EXACT)
    return bound


@inline
def _store_quiet(s, ply, move, best, evaluation, alpha, beta):
    """Stores a result of quiescence."""
    key = frame_at(s, ply).position.key
    table.store(s, key, move, best, evaluation, np.int64(0), _bound(best, alpha, beta), ply)


@jit
def quiesce(s, alpha, beta, ply):
    """The value of a position once all captures that don't lose are played out.

    In check every evasion is tried, so that a mate is seen.
    """
    frame = frame_at(s, ply)
    position = frame.position
    frame.pv_length = 0
    s.seldepth = max(s.seldepth, ply)
    if is_draw(s, ply):
        return DRAW
    if ply >= MAX_PLY:
        return evaluate(s, ply)
    in_check = position.checkers != 0
    slot = table.probe(s, position.key)
    hash_move = np.int64(NO_MOVE)
    evaluation = np.int64(NO_EVALUATION)
    if slot >= 0:
        entry = table.entries(s)[at(slot)]
        score = table.score_at(np.int64(entry.score), ply)
        if _usable(entry.bound & 3, score, alpha, beta) and beta - alpha == 1:
            return score
        hash_move = np.int64(entry.move)
        evaluation = np.int64(entry.evaluation)
    best = np.int64(-INFINITE)
    if not in_check:
        if evaluation == NO_EVALUATION:
            evaluation = evaluate(s, ply)
        best = evaluation
        if best >= beta:
            if slot < 0:
                _store_quiet(s, ply, hash_move, best, evaluation, alpha, beta)
            return best
    frame.evaluation = evaluation
    floor = alpha
    alpha = max(alpha, best)
    moves = _list_of(s, ply)
    if in_check:
        n = legal_moves(position, moves)
        if n == 0:
            return ply - MATE
        score_moves(s, frame, moves, n, hash_move)
    else:
        n = captures(position, moves)
        score_captures(position, moves, n)
    best_move = np.int64(NO_MOVE)
    for i in range(n):
        entry_of_list = pick(position, moves, i, n)
        move = move_of(entry_of_list)
        if best > -MATE_BOUND:
            if score_of(entry_of_list) < LOSING:
                break  # only captures that lose material are left
            if in_check and i > 2 and not is_tactical(position, move):
                break  # some evasion has held already
            if not in_check and not is_promotion(move):
                gain = evaluation + victim_value(position, move) + DELTA_MARGIN
                if gain <= alpha:
                    best = max(best, gain)
                    continue
        if not _may_go_on(s):
            return DRAW
        enter(s, ply, move)
        score = -quiesce(s, -beta, -alpha, ply + 1)
        if s.stop != 0:
            return DRAW
        if score > best:
            best = score
            if score > alpha:
                best_move = move
                alpha = score
                if score >= beta:
                    break
    _store_quiet(s, ply, best_move, best, evaluation, floor, beta)
    return best


@inline
def _is_mobile(position):
    """Whether the side to move has a rook, a queen or two minor pieces: hardly ever zugzwang."""
    own = position.colors[np.int64(position.turn)]
    pieces = own & ~(position.roles[PAWN] | position.roles[KING])
    heavy = pieces & (position.roles[ROOK] | position.roles[QUEEN])
    return (heavy | (pieces & (pieces - np.uint64(1)))) != 0


@inline
def _extend_line(s, ply, move):
    """The best line at ``ply`` is ``move`` and the best line below."""
    pv = view(s.pv, (FRAMES, FRAMES), np.int64)
    pv[at(ply), 0] = move
    length = frame_at(s, ply + 1).pv_length
    for i in range(length):
        pv[at(ply), at(i + 1)] = pv[at(ply + 1), at(i)]
    frame_at(s, ply).pv_length = length + 1


@inline
def _generate(s, ply):
    """Writes the moves to be searched at ``ply`` to its list."""
    moves = _list_of(s, ply)
    if ply > 0:
        return legal_moves(frame_at(s, ply).position, moves)
    chosen = view(s.root_moves, MAX_MOVES, np.int64)
    for i in range(s.n_root_moves):
        moves[at(i)] = chosen[at(i)]
    return s.n_root_moves


@inline
def _reduction(s, frame, move, entry_score, depth, place, is_pv, improving):
    """Plies by which a late move is searched less deeply."""
    plies = _reduction_table()[at(min(depth, 63)), at(min(place, 63))]
    if is_pv:
        plies -= 1
    if entry_score < LOSING:
        return plies - 1
    if not improving:
        plies += 1
    if entry_score >= KILLER:
        return plies - 1
    return plies - history_of(s, frame, move) // HISTORY_PER_PLY


@jit
def search(s, alpha, beta, depth, ply):
    """The value of the position at ``ply`` within [alpha, beta], fail-soft.

    Parameters
    ----------
    depth : int64
        Plies left; at 0 quiescence takes over.
    """
    frame = frame_at(s, ply)
    position = frame.position
    in_check = position.checkers != 0
    if in_check and ply < 2 * s.root_depth:
        depth += 1
    if depth <= 0:
        return quiesce(s, alpha, beta, ply)
    frame.pv_length = 0
    s.seldepth = max(s.seldepth, ply)
    is_root, is_pv = ply == 0, beta - alpha > 1
    if not is_root:
        if is_draw(s, ply):
            return DRAW
        if ply >= MAX_PLY:
            return evaluate(s, ply)
        # No line from here can be better than mating now, nor worse than being mated.
        alpha, beta = max(alpha, ply - MATE), min(beta, MATE - ply - 1)
        if alpha >= beta:
            return alpha

    slot = table.probe(s, position.key)
    hash_move = np.int64(NO_MOVE)
    evaluation = np.int64(NO_EVALUATION)
    if slot >= 0:
        entry = table.entries(s)[at(slot)]
        score = table.score_at(np.int64(entry.score), ply)
        if (
            not is_pv
            and entry.depth >= depth
            and position.halfmove < OLD_HALFMOVES
            and _usable(entry.bound & 3, score, alpha, beta)
        ):
            return score
        hash_move = np.int64(entry.move)
        evaluation = np.int64(entry.evaluation)
    if is_root:
        hash_move = s.root_best

    improving = False
    if in_check:
        evaluation = np.int64(NO_EVALUATION)
    else:
        if evaluation == NO_EVALUATION:
            evaluation = evaluate(s, ply)
        improving = ply >= 2 and evaluation > frame_at(s, ply - 2).evaluation
    frame.evaluation = evaluation

    if not is_pv and not in_check and abs(beta) < MATE_BOUND:
        # Reverse futility: so far ahead that a shallow search would hardly change it.
        if (
            depth <= REVERSE_DEPTH
            and evaluation - REVERSE_MARGIN * (depth - np.int64(improving)) >= beta
        ):
            return evaluation
        # Null move: a position that is good enough even after passing is good enough.
        if (
            depth >= NULL_DEPTH
            and evaluation >= beta
            and frame.moved != NO_DESTINATION  # never two in a row
            and _is_mobile(position)
        ):
            less = NULL_REDUCTION + depth // NULL_SLOPE
            less += min((evaluation - beta) // NULL_MARGIN, 3)
            enter_null(s, ply)
            score = -search(s, -beta, 1 - beta, depth - less, ply + 1)
            if s.stop != 0:
                return DRAW
            if score >= beta:
                return beta if score >= MATE_BOUND else score
    if depth >= INTERNAL_REDUCTION_DEPTH and hash_move == NO_MOVE:
        depth -= 1  # without a move to try first a full search is not worth its price

    moves = _list_of(s, ply)
    n = _generate(s, ply)
    if n == 0:
        return ply - MATE if in_check else DRAW
    score_moves(s, frame, moves, n, hash_move)

    best, best_move, floor = np.int64(-INFINITE), np.int64(NO_MOVE), alpha
    searched = 0
    skip_quiet = False
    for i in range(n):
        entry_of_list = pick(position, moves, i, n)
        move, entry_score = move_of(entry_of_list), score_of(entry_of_list)
        tactical = is_tactical(position, move)
        if not is_root and best > -MATE_BOUND:
            if not tactical:
                if skip_quiet:
                    continue
                if not in_check:
                    # Late moves of a well ordered list, and quiet moves far below alpha.
                    if depth <= LATE_DEPTH and searched >= (
                        (LATE_MOVES + depth * depth) >> np.int64(not improving)
                    ):
                        skip_quiet = True
                        continue
                    if (
                        depth <= FUTILITY_DEPTH
                        and entry_score < KILLER
                        and evaluation + FUTILITY_MARGIN + FUTILITY_SLOPE * depth <= alpha
                    ):
                        skip_quiet = True
                        continue
                    if depth <= EXCHANGE_DEPTH and not wins_at_least(
                        position, move, -EXCHANGE_QUIET * depth
                    ):
                        continue
            elif (
                depth <= EXCHANGE_DEPTH
                and entry_score < LOSING
                and not wins_at_least(position, move, -EXCHANGE_CAPTURE * depth)
            ):
                continue
        if not _may_go_on(s):
            return DRAW
        enter(s, ply, move)
        searched += 1
        if searched == 1:
            score = -search(s, -beta, -alpha, depth - 1, ply + 1)
        else:
            less = np.int64(0)
            if depth >= REDUCTION_DEPTH and (not tactical or entry_score < LOSING):
                less = _reduction(s, frame, move, entry_score, depth, searched, is_pv, improving)
                if frame_at(s, ply + 1).position.checkers:
                    less -= 1
                less = max(min(less, depth - 2), 0)
            score = -search(s, -alpha - 1, -alpha, depth - 1 - less, ply + 1)
            if less > 0 and score > alpha and s.stop == 0:
                score = -search(s, -alpha - 1, -alpha, depth - 1, ply + 1)
            if alpha < score < beta and s.stop == 0:
                score = -search(s, -beta, -alpha, depth - 1, ply + 1)
        if s.stop != 0:
            return DRAW
        if score > best:
            best = score
            if score > alpha:
                best_move = move
                alpha = score
                _extend_line(s, ply, move)
                if is_root:
                    s.root_best, s.root_score = move, score
                if score >= beta:
                    if not tactical:
                        learn_cutoff(s, frame, moves, i, depth)
                    break
    bound = _bound(best, floor, beta)
    table.store(s, position.key, best_move, best, evaluation, depth, bound, ply)
    return best
