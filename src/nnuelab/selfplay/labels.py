"""Labels by this engine, in this process: scores of searches with any net."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from nnuelab import artifacts
from nnuelab.chess.moves import NO_MOVE
from nnuelab.chess.position import POSITION
from nnuelab.data.records import MATE, NO_SCORE, mate_score, unpack
from nnuelab.data.searching import Searching
from nnuelab.engine.search import DEFAULT_NET, Engine, load_net
from nnuelab.nnue.netfile import Net

HASH_MB = 1  # cleared before each position: a megabyte takes a tenth of a millisecond
KINDS = ("depth", "nodes", "movetime")


def engine(net: Path | None, limit: str, workers: int = 0) -> Searching:
    """A labeller that searches with this engine, in threads.

    Parameters
    ----------
    net : Path or None
        None: the net that ships with the package.
    limit : str
        Of each search: ``nodes 5000``, ``depth 8``, or ``movetime 10``, which isn't reproducible.
    workers : int
        Threads; 0: one per core.

    Raises
    ------
    UserError
        When the net can't be used.
    """
    loaded = load_net(net)
    identity = {
        "net": artifacts.sha256(net or DEFAULT_NET),
        "code": artifacts.code_hash("engine.search"),
        "limit": limit,
        "hash_mb": HASH_MB,
    }
    return Searching(partial(_Searcher, loaded, limit), identity, workers)


class _Searcher:
    def __init__(self, net: Net, limit: str) -> None:
        kind, amount = limit.split()
        assert kind in KINDS
        self._limit = {kind: int(amount)}
        self._engine = Engine(net, HASH_MB)
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
