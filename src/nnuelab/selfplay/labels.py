"""Labels by this engine, in this process: scores of searches with any evaluator."""

from __future__ import annotations

from functools import partial

import numpy as np

from nnuelab import artifacts
from nnuelab.chess.moves import NO_MOVE
from nnuelab.chess.position import POSITION
from nnuelab.data.records import MATE, NO_SCORE, mate_score, unpack
from nnuelab.data.searching import Searching
from nnuelab.engine.search import Engine
from nnuelab.evaluator import Evaluator

HASH_MB = 1  # cleared before each position: a megabyte takes a tenth of a millisecond
KINDS = ("depth", "nodes", "movetime")


def engine(evaluator: Evaluator, limit: str, workers: int = 0) -> Searching:
    """A labeller that searches with this engine, in threads.

    Parameters
    ----------
    evaluator : Evaluator
    limit : str
        Of each search: ``nodes 5000``, ``depth 8``, or ``movetime 10``, which isn't reproducible.
    workers : int
        Threads; 0: one per core.
    """
    identity = {
        **{kind: artifacts.sha256(file) for kind, file in evaluator.files().items()},
        "code": artifacts.code_hash("engine.search", more=[evaluator.code()]),
        "limit": limit,
        "hash_mb": HASH_MB,
    }
    return Searching(partial(_Searcher, evaluator, limit), identity, workers)


class _Searcher:
    def __init__(self, evaluator: Evaluator, limit: str) -> None:
        kind, amount = limit.split()
        assert kind in KINDS
        self._limit = {kind: int(amount)}
        self._engine = Engine(evaluator, HASH_MB)
        self._position = np.zeros(1, POSITION)[0]

    def __call__(self, record: np.void) -> tuple[int, int]:
        unpack(record, self._position)
        self._position["fullmove"] = 1  # no part of a position, as for other engines
        self._engine.new_game()
        found = self._engine.search(self._position, **self._limit)  # type: ignore[arg-type]
        if found.move == NO_MOVE:
            return NO_SCORE, NO_MOVE
        score = found.score_cp if found.mate is None else mate_score(found.mate)
        return max(-MATE, min(MATE, score)), found.move

    def close(self) -> None:
        """Ends a search that runs."""
        self._engine.stop()
