"""Quiescence: a position's value once the captures that don't lose are played out. All jitted."""

import numpy as np

from nnuelab.chess.moves import NO_MOVE, captures, is_promotion, legal_moves
from nnuelab.engine import table, terms
from nnuelab.engine.exchange import victim_value
from nnuelab.engine.node import (
    DRAW,
    bound_of,
    enter,
    evaluate,
    is_draw,
    list_of,
    may_go_on,
    tt_cutoff,
    tt_improves_eval,
)
from nnuelab.engine.ordering import (
    LOSING,
    is_tactical,
    move_of,
    pick,
    score_captures,
    score_moves,
    score_of,
)
from nnuelab.engine.state import INFINITE, MATE, MATE_BOUND, NO_EVALUATION, frame_at, position_at
from nnuelab.evaluator import MAX_PLY
from nnuelab.jit import at, inline, jit

_NO = np.bool_(False)
_DELTA, _LATE_EVASIONS = terms.has("delta"), terms.has("late-evasions")


@inline
def _store_quiet(s, ply, move, best, evaluation, alpha, beta):
    """Stores a result of quiescence."""
    key = position_at(s, ply).key
    table.store(s, key, move, best, evaluation, np.int64(0), bound_of(best, alpha, beta), ply)


@jit
def quiesce(s, alpha, beta, ply):
    """The value of a position once all captures that don't lose are played out.

    In check evasions are tried until one holds, so that a mate is seen.
    """
    frame, position = frame_at(s, ply), position_at(s, ply)
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
        if beta - alpha == 1 and tt_cutoff(position, entry, score, alpha, beta):
            return score
        hash_move = np.int64(entry.move)
        evaluation = np.int64(entry.evaluation)
    best = np.int64(-INFINITE)
    if not in_check:
        if evaluation == NO_EVALUATION:
            evaluation = evaluate(s, ply)
        best = evaluation
        if slot >= 0 and tt_improves_eval(position, entry, score, evaluation):
            best = score
        if best >= beta:
            if slot < 0:
                _store_quiet(s, ply, hash_move, best, evaluation, alpha, beta)
            return best
    frame.evaluation = evaluation
    floor = alpha = max(alpha, best)
    moves = list_of(s, ply)
    if in_check:
        n = legal_moves(position, moves)
        if n == 0:
            return ply - MATE
        score_moves(s, ply, moves, np.int64(0), n, hash_move, _NO, _NO)
    else:
        n = captures(position, moves, np.int64(0))
        score_captures(s, position, moves, n)
    best_move = np.int64(NO_MOVE)
    for i in range(n):
        entry_of_list = pick(position, moves, i, n)
        move = move_of(entry_of_list)
        if best > -MATE_BOUND:
            if score_of(entry_of_list) < LOSING:
                break  # only captures that lose material are left
            if _LATE_EVASIONS and in_check and i > 2 and not is_tactical(position, move):
                break  # some evasion has held already
            # The margin is the most that a capture may gain in position.
            if _DELTA and not in_check and not is_promotion(move):
                gain = evaluation + victim_value(position, move) + s.constants.delta_margin
                if gain <= alpha:
                    best = max(best, gain)
                    continue
        if not may_go_on(s):
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
