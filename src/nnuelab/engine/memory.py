"""The memory of a search: the Python object that owns what its record points to."""

from __future__ import annotations

import numpy as np

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.engine.deepening import compiled_iterate
from nnuelab.engine.state import DESTINATIONS, FRAME, HISTORY_KEYS, LIST, SEARCH
from nnuelab.evaluator import PLIES, PLY, Bound, Evaluator
from nnuelab.jit import address, aligned

KEPT = ("history", "captures", "continuations")  # by a search for the next


class Memory:
    """Owns what a SEARCH record points to, all but the transposition table.

    Attributes
    ----------
    record : np.void of dtype SEARCH
        Valid as long as this object lives; one search at a time.
    evaluator : Bound
    line, frames, moves, scores, pv, keys, root_moves, history, captures, continuations : ndarray
        As in SEARCH.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator: Bound = evaluator.bind()
        self.line = aligned(PLIES, PLY)
        self.frames = np.zeros(PLIES, FRAME)
        self.moves = np.zeros((PLIES, LIST), np.int64)
        self.scores = np.zeros(LIST, np.int64)
        self.pv = np.zeros((PLIES + 1, PLIES), np.int64)
        self.keys = np.zeros(HISTORY_KEYS + PLIES, np.uint64)
        self.history = np.zeros((2, 4096), np.int16)
        self.captures = np.zeros((DESTINATIONS, 6), np.int16)
        self.continuations = np.zeros((DESTINATIONS + 1, DESTINATIONS), np.int16)
        self.root_moves = np.zeros(MAX_MOVES, np.int64)
        self.record = record = np.zeros(1, SEARCH)[0]
        record["evaluator"], record["iterate"] = self.evaluator.record, compiled_iterate()
        for name in ("line", "frames", "moves", "scores", "pv", "keys", "root_moves", *KEPT):
            record[name] = address(vars(self)[name])

    def forget(self) -> None:
        """Clears what one search leaves for the next."""
        for name in KEPT:
            vars(self)[name].fill(0)
