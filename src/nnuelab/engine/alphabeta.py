"""The search: alpha-beta with a principal variation, null move, reductions. All jitted.

Scores are centipawns for the side to move, or MATE minus plies. ``s`` is a SEARCH record. A stopped
search returns through all plies at once with values that nobody reads.
"""

import numpy as np

from nnuelab.chess.checks import checks_record, find_checks, is_check
from nnuelab.chess.moves import (
    MAX_MOVES,
    NO_MOVE,
    captures,
    is_surely_legal,
    likely_key,
    quiet_moves,
)
from nnuelab.chess.position import KING, PAWN, QUEEN, ROOK
from nnuelab.engine import table, terms
from nnuelab.engine.exchange import see_ge
from nnuelab.engine.node import (
    DRAW,
    bound_of,
    enter,
    enter_null,
    evaluate,
    is_draw,
    list_of,
    may_go_on,
    tt_cutoff,
    tt_improves_eval,
)
from nnuelab.engine.ordering import (
    HASH_MOVE,
    LOSING,
    NO_ENTRY,
    drop_quiet,
    entry_of,
    history_of,
    is_ordered,
    is_tactical,
    learn_cutoff,
    move_of,
    only_checks,
    pick,
    score_moves,
    score_of,
)
from nnuelab.engine.quiescence import quiesce
from nnuelab.engine.state import (
    INFINITE,
    MATE,
    MATE_BOUND,
    NO_DESTINATION,
    NO_EVALUATION,
    frame_at,
    lines_of,
    position_at,
)
from nnuelab.evaluator import MAX_PLY
from nnuelab.jit import at, inline, jit, view
from nnuelab.jit import table as jit_table

# The other numbers are `engine.constants`.
NULL_SLOPE, NULL_MARGIN, HISTORY_PER_PLY = 4, 200, 8192
_FIRST, _CAPTURES, _ALL = np.arange(3)  # which moves are listed: the table's, and captures, and all

_IMPROVING, _CHECK = terms.has("improving"), terms.has("check")
_REVERSE_FUTILITY, _RAZORING = terms.has("reverse-futility"), terms.has("razoring")
_NULL_MOVE = terms.has("null-move")
_INTERNAL_REDUCTION = terms.has("internal-reduction")
_LATE_PRUNING, _FUTILITY = terms.has("late-pruning"), terms.has("futility")
_EXCHANGE, _LATE_REDUCTION = terms.has("exchange-pruning"), terms.has("late-reduction")


def _reductions() -> np.ndarray:
    """Plies by which late quiet moves are searched less: logarithmic in depth and place."""
    logs = np.log(np.maximum(np.arange(64), 1))
    return np.maximum(0.5 + logs[:, None] * logs[None, :] / 2.2, 0).astype(np.int64)


_reduction_table = jit_table("reductions", _reductions())


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
    pv = lines_of(s)
    pv[at(ply), 0] = move
    length = frame_at(s, ply + 1).pv_length
    for i in range(length):
        pv[at(ply), at(i + 1)] = pv[at(ply + 1), at(i)]
    frame_at(s, ply).pv_length = length + 1


@inline
def _root_moves(s, moves, n):
    """Writes the moves to be searched at the root to moves[n:]; returns the list's end."""
    chosen = view(s.root_moves, MAX_MOVES, np.int64)
    for i in range(s.n_root_moves):
        moves[at(n + i)] = chosen[at(i)]
    return n + s.n_root_moves


@inline
def _reduction(s, ply, move, entry_score, depth, place, is_pv, improving):
    """Plies by which a late move is searched less deeply."""
    plies = _reduction_table()[at(min(depth, 63)), at(min(place, 63))]
    if is_pv:
        plies -= 1
    if entry_score < LOSING:
        return plies - 1
    if not improving:
        plies += 1
    return plies - history_of(s, position_at(s, ply), frame_at(s, ply), move) // HISTORY_PER_PLY


@inline
def _prunes_quiet(constants, evaluation, depth, alpha, searched, improving):
    """Whether all quiet moves of a shallow search that give no check are left out from now on."""
    # Late moves of a well ordered list, and quiet moves far below alpha.
    late = (constants.late_moves + depth * depth) >> np.int64(not improving)
    if _LATE_PRUNING and depth <= constants.late_depth and searched >= late:
        return True
    hopeless = evaluation + constants.futility_margin + constants.futility_slope * depth <= alpha
    return _FUTILITY and depth <= constants.futility_depth and hopeless


@inline
def _is_pruned(constants, position, checks, move, entry_score, tactical, depth, quiet_pruned):
    """Whether a move of a shallow search is left out: 0 no, 1 this one, 2 all quiet ones."""
    if not quiet_pruned and depth > constants.exchange_depth:
        return 0
    if tactical:
        loses = (
            _EXCHANGE
            and depth <= constants.exchange_depth
            and entry_score < LOSING
            and not see_ge(position, move, -constants.exchange_capture * depth)
        )
        return 1 if loses else 0
    if position.checkers or is_check(position, checks, move):
        return 0
    if quiet_pruned:
        return 2
    if (
        _EXCHANGE
        and depth <= constants.exchange_depth
        and not see_ge(position, move, -constants.exchange_quiet * depth)
    ):
        return 1
    return 0


@jit
def search(s, alpha, beta, depth, ply):
    """The value of the position at ``ply`` within [alpha, beta], fail-soft.

    Parameters
    ----------
    depth : int64
        Plies left; at 0 quiescence takes over.
    """
    frame, position, constants = frame_at(s, ply), position_at(s, ply), s.constants
    in_check = position.checkers != 0
    if _CHECK and in_check and ply < 2 * s.root_depth:
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

    hash_move = np.int64(NO_MOVE)
    evaluation = np.int64(NO_EVALUATION)
    slot = table.probe(s, position.key)
    if slot >= 0:
        entry = table.entries(s)[at(slot)]
        score = table.score_at(np.int64(entry.score), ply)
        if not is_pv and entry.depth >= depth and tt_cutoff(position, entry, score, alpha, beta):
            return score
        hash_move = np.int64(entry.move)
        evaluation = np.int64(entry.evaluation)
        table.prefetch(s, likely_key(position, hash_move))
    if is_root:
        hash_move = s.root_best

    improving = False
    if in_check:
        evaluation = np.int64(NO_EVALUATION)
    else:
        if evaluation == NO_EVALUATION:
            evaluation = evaluate(s, ply)
        improving = _IMPROVING and ply >= 2 and evaluation > frame_at(s, ply - 2).evaluation
    frame.evaluation = evaluation
    estimate = evaluation
    if slot >= 0 and not in_check and tt_improves_eval(position, entry, score, evaluation):
        estimate = score

    if not is_pv and not in_check and abs(beta) < MATE_BOUND:
        # Reverse futility: so far ahead that a shallow search would hardly change it.
        if (
            _REVERSE_FUTILITY
            and depth <= constants.reverse_depth
            and estimate - constants.reverse_margin * (depth - np.int64(improving)) >= beta
        ):
            return estimate
        # Razoring: so far behind that only captures could help.
        if (
            _RAZORING
            and depth <= constants.razor_depth
            and estimate + constants.razor_margin + constants.razor_slope * depth <= alpha
        ):
            score = quiesce(s, alpha, beta, ply)
            if s.stop != 0 or score <= alpha:
                return score
        # Null move: a position that is good enough even after passing is good enough.
        if (
            _NULL_MOVE
            and depth >= constants.null_depth
            and estimate >= beta
            and frame.moved != NO_DESTINATION  # never two in a row
            and _is_mobile(position)
        ):
            less = constants.null_reduction + depth // NULL_SLOPE
            less += min((estimate - beta) // NULL_MARGIN, 3)
            enter_null(s, ply)
            score = -search(s, -beta, 1 - beta, depth - less, ply + 1)
            if s.stop != 0:
                return DRAW
            if score >= beta:
                return beta if score >= MATE_BOUND else score
    if (
        _INTERNAL_REDUCTION
        and depth >= constants.internal_reduction_depth
        and hash_move == NO_MOVE
        and not is_root
    ):
        depth -= 1  # without a move to try first a full search is not worth its price

    # The table's move goes first, then the captures that don't lose: each often settles the node
    # before the other moves are listed.
    moves = list_of(s, ply)
    n = listed = np.int64(0)  # moves to be tried, and all that are listed
    if hash_move != NO_MOVE and (is_root or is_surely_legal(position, hash_move)):
        moves[0] = entry_of(hash_move, np.int64(HASH_MOVE), np.int64(0))
        n = listed = np.int64(1)
    tried = n > 0
    stage = _FIRST

    best, best_move, floor = np.int64(-INFINITE), np.int64(NO_MOVE), alpha
    searched = np.int64(0)
    checks = checks_record()
    i = np.int64(-1)
    while True:
        i += 1
        may_prune = not is_root and best > -MATE_BOUND
        quiet_pruned = (
            may_prune
            and not in_check
            and _prunes_quiet(constants, estimate, depth, alpha, searched, improving)
        )
        while True:
            entry_of_list = pick(position, moves, i, n) if i < n else np.int64(NO_ENTRY)
            if stage == _ALL or score_of(entry_of_list) >= LOSING:
                break
            first = n
            if is_root:
                stage = _ALL
                n = _root_moves(s, moves, n)
            elif stage == _FIRST:
                stage = _CAPTURES
                n = captures(position, moves, n)
            else:
                stage = _ALL
                n = quiet_moves(position, moves, n)
                if not in_check:
                    find_checks(position, checks)
                if quiet_pruned:
                    n = only_checks(position, checks, moves, first, n)
            ordered = stage == _ALL and not quiet_pruned and is_ordered(s, depth, ply)
            n = listed = score_moves(s, ply, moves, first, n, hash_move, tried, ordered)
        if i == n:
            break
        move, entry_score = move_of(entry_of_list), score_of(entry_of_list)
        tactical = is_tactical(position, move)
        if may_prune:
            pruned = _is_pruned(
                constants, position, checks, move, entry_score, tactical, depth, quiet_pruned
            )
            if pruned == 2:
                n = drop_quiet(position, checks, moves, i + 1, n)
            if pruned:
                continue
        if not may_go_on(s):
            return DRAW
        enter(s, ply, move)
        searched += 1
        if searched == 1:
            score = -search(s, -beta, -alpha, depth - 1, ply + 1)
        else:
            less = np.int64(0)
            if (
                _LATE_REDUCTION
                and depth >= constants.reduction_depth
                and (not tactical or entry_score < LOSING)
            ):
                less = _reduction(s, ply, move, entry_score, depth, searched, is_pv, improving)
                if position_at(s, ply + 1).checkers:
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
                    learn_cutoff(s, ply, moves, i, n, listed, depth)
                    break
    if searched == 0:
        return ply - MATE if in_check else DRAW
    if not is_root or s.root_whole:
        bound = bound_of(best, floor, beta)
        table.store(s, position.key, best_move, best, evaluation, depth, bound, ply)
    return best
