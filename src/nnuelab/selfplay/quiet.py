"""The quiet filter: positions whose static evaluation is the value of their quiescence search."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from nnuelab.data.records import RECORD, unpack
from nnuelab.engine.accumulators import evaluate, outdate
from nnuelab.engine.deepening import begin
from nnuelab.engine.quiescence import quiesce
from nnuelab.engine.search import Engine
from nnuelab.engine.state import FOREVER, frame_at
from nnuelab.engine.table import BUCKET, entries
from nnuelab.jit import at, jit


@jit
def _mark(s, records, quiet):
    root, table = frame_at(s, 0), entries(s)
    position = root.position
    root.reversible = 0
    begin(s, np.int64(FOREVER))
    for i in range(len(records)):
        unpack(records[at(i)], position)
        quiet[at(i)] = False
        if position.checkers != 0:
            continue
        # The answer must not depend on the positions before.
        for slot in range(BUCKET):
            table[at(slot)].key = np.uint64(0)
        outdate(root)
        value = evaluate(s, np.int64(0))
        # In this window the result is another one exactly when some move gains.
        quiet[at(i)] = quiesce(s, value, value + 1, np.int64(0)) == value


_here = threading.local()  # an engine for each thread


def _engine(net: Path | None) -> Engine:
    if getattr(_here, "net", ()) != net:
        _here.engine, _here.net = Engine(net, hash_mb=1), net
        _here.engine.record["buckets"] = 1  # as much as has to be cleared for every position
    engine: Engine = _here.engine
    return engine


def quiet(records: np.ndarray, net: Path | None = None) -> np.ndarray:
    """Whether the static evaluation of positions is the value of their quiescence search.

    A position isn't quiet when a capture or a promotion improves it, nor in check, nor when it is a
    draw by rule. Each answer is independent of the others. Several threads may ask at once.

    Parameters
    ----------
    records : ndarray of RECORD [n]
        Legal positions.
    net : path, optional
        The net that evaluates; None: the one that ships with the package.

    Returns
    -------
    ndarray of bool [n]

    Raises
    ------
    UserError
        When the net can't be read.
    """
    found = np.zeros(len(records), bool)
    engine = _engine(net)
    _mark(engine.record, np.ascontiguousarray(records, RECORD), found)
    engine.check()
    return found
