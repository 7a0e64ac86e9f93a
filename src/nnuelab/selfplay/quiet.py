"""The quiet filter: positions whose static evaluation is the value of their quiescence search.

And what becomes of others: the position at the end of the quiescence line, which is quiet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from nnuelab.chess.moves import NO_MOVE, captures, legal_moves, make
from nnuelab.data.records import RECORD, pack, unpack
from nnuelab.engine.deepening import begin
from nnuelab.engine.node import enter, evaluate, list_of
from nnuelab.engine.ordering import LOSING, move_of, pick, score_captures, score_moves, score_of
from nnuelab.engine.quiescence import quiesce
from nnuelab.engine.search import Engine
from nnuelab.engine.state import FOREVER, INFINITE, frame_at
from nnuelab.engine.table import BUCKET, entries
from nnuelab.evaluator import Evaluator, invalidate, ply_at
from nnuelab.jit import at, copy_record, inline, jit

LONGEST_LINE = 64  # plies: more than there are pieces to take, with evasions between


@inline
def _forget(s):
    """Empties the table, of one bucket: no answer depends on the positions before."""
    table = entries(s)
    for slot in range(BUCKET):
        table[at(slot)].key = np.uint64(0)


@inline
def _place(s, record):
    """Makes a record the root of a new search."""
    root = ply_at(s.line, 0)
    frame_at(s, 0).reversible = 0
    begin(s, np.int64(FOREVER))
    unpack(record, root.position)
    invalidate(root)


@inline
def _is_quiet(s, value):
    """Whether the root, evaluated at ``value`` and not in check, is quiet."""
    _forget(s)
    # In this window the result is another one exactly when some move gains.
    return quiesce(s, value, value + 1, np.int64(0)) == value


@jit
def _mark(s, records, quiet):
    position = ply_at(s.line, 0).position
    for i in range(len(records)):
        _place(s, records[at(i)])
        quiet[at(i)] = position.checkers == 0 and _is_quiet(s, evaluate(s, np.int64(0)))


@jit
def _follow(s):
    """Makes the root's best capture, or evasion, as quiescence finds it; whether one gains."""
    root, below = ply_at(s.line, 0), ply_at(s.line, 1)
    position, moves = root.position, list_of(s, np.int64(0))
    best, chosen = np.int64(-INFINITE), np.int64(NO_MOVE)
    in_check = position.checkers != 0
    if in_check:
        n = legal_moves(position, moves)
        score_moves(s, np.int64(0), moves, np.int64(0), n, chosen, np.bool_(False), np.bool_(False))
    else:
        best = evaluate(s, np.int64(0))
        n = captures(position, moves, np.int64(0))
        score_captures(s, position, moves, n)
    for i in range(n):
        entry = pick(position, moves, i, n)
        if not in_check and score_of(entry) < LOSING:
            break
        enter(s, np.int64(0), move_of(entry))
        _forget(s)
        score = -quiesce(s, np.int64(-INFINITE), np.int64(INFINITE), np.int64(1))
        if score > best:
            best, chosen = score, move_of(entry)
    if chosen == NO_MOVE:
        return False
    make(position, below.position, chosen)
    copy_record(position, below.position)
    invalidate(root)
    return True


@jit
def _settle(s, records, replace, quiet, values, plies):
    position = ply_at(s.line, 0).position
    for i in range(len(records)):
        _place(s, records[at(i)])
        quiet[at(i)] = False
        values[at(i)] = 0
        plies[at(i)] = -1 if position.checkers != 0 else 0
        if position.checkers != 0:
            continue
        while True:
            if position.checkers == 0:
                value = evaluate(s, np.int64(0))
                values[at(i)] = value
                quiet[at(i)] = _is_quiet(s, value)
            over = quiet[at(i)] or not replace or plies[at(i)] == LONGEST_LINE
            if over or not _follow(s):
                break
            plies[at(i)] += 1
        if plies[at(i)] > 0 and quiet[at(i)]:
            pack(position, records[at(i)])


@jit
def _evaluate(s, records, values):
    for i in range(len(records)):
        _place(s, records[at(i)])
        values[at(i)] = evaluate(s, np.int64(0))


class Quiet:
    """Whether the static evaluation of positions is the value of their quiescence search.

    A position isn't quiet when a capture or a promotion improves it, nor in check, nor when it is a
    draw by rule. Each answer is independent of the others. Several threads may ask at once.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._here = threading.local()  # an engine for each thread

    def __call__(self, records: np.ndarray) -> np.ndarray:
        """bool [n] of legal positions, RECORD [n]."""
        found = np.zeros(len(records), bool)
        self._run(_mark, np.ascontiguousarray(records, RECORD), found)
        return found

    def values(self, records: np.ndarray) -> np.ndarray:
        """Static evaluations for the side to move, centipawns: int64 [n] of RECORD [n]."""
        found = np.zeros(len(records), np.int64)
        self._run(_evaluate, np.ascontiguousarray(records, RECORD), found)
        return found

    def settle(
        self, records: np.ndarray, replace: bool
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Quiet positions, with their evaluations; others by the end of their quiescence line.

        Positions in check are left as they are. The position at an end has another side to move
        where the line is of odd length, which results and scores here don't follow.

        Parameters
        ----------
        records : ndarray of RECORD [n]
            Legal positions.
        replace : bool
            Whether lines are followed.

        Returns
        -------
        records : ndarray of RECORD [n]
            Copies, those that were replaced with other boards.
        quiet : ndarray of bool [n]
            Which of them are quiet, now.
        values : ndarray of int64 [n]
            Their static evaluations; 0 in check.
        plies : ndarray of int64 [n]
            Length of the line to each; -1 in check.
        """
        ends = np.array(records, RECORD)
        quiet, values, plies = (np.zeros(len(ends), kind) for kind in (bool, np.int64, np.int64))
        self._run(_settle, ends, replace, quiet, values, plies)
        return ends, quiet, values, plies

    def _run(self, kernel: Callable[..., None], *arguments: Any) -> None:
        """Calls a kernel with the engine of this thread."""
        if not hasattr(self._here, "engine"):
            self._here.engine = Engine(self._evaluator, hash_mb=1)
            self._here.engine.record["buckets"] = 1  # all that each position has to clear
        engine: Engine = self._here.engine
        kernel(engine.record, *arguments)
        engine.check()
