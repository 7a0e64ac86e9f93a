"""The quiet filter: positions whose static evaluation is the value of their quiescence search."""

from __future__ import annotations

import threading

import numpy as np

from nnuelab.data.records import RECORD, unpack
from nnuelab.engine.deepening import begin
from nnuelab.engine.node import evaluate
from nnuelab.engine.quiescence import quiesce
from nnuelab.engine.search import Engine
from nnuelab.engine.state import FOREVER, frame_at
from nnuelab.engine.table import BUCKET, entries
from nnuelab.evaluator import Evaluator, invalidate, ply_at
from nnuelab.jit import at, jit


@jit
def _mark(s, records, quiet):
    root, table = ply_at(s.line, 0), entries(s)
    position = root.position
    frame_at(s, 0).reversible = 0
    begin(s, np.int64(FOREVER))
    for i in range(len(records)):
        unpack(records[at(i)], position)
        quiet[at(i)] = False
        if position.checkers != 0:
            continue
        # The answer must not depend on the positions before.
        for slot in range(BUCKET):
            table[at(slot)].key = np.uint64(0)
        invalidate(root)
        value = evaluate(s, np.int64(0))
        # In this window the result is another one exactly when some move gains.
        quiet[at(i)] = quiesce(s, value, value + 1, np.int64(0)) == value


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
        if not hasattr(self._here, "engine"):
            self._here.engine = Engine(self._evaluator, hash_mb=1)
            self._here.engine.record["buckets"] = 1  # all that each position has to clear
        engine: Engine = self._here.engine
        found = np.zeros(len(records), bool)
        _mark(engine.record, np.ascontiguousarray(records, RECORD), found)
        engine.check()
        return found
