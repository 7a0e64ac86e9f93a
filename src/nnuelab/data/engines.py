"""UCI engines of the user's: how one is found, and a pool of them that scores positions."""

from __future__ import annotations

import os
import shutil
from collections.abc import Generator, Iterable
from multiprocessing.util import Finalize
from pathlib import Path

import chess
import chess.engine
import numpy as np

from nnuelab.data.parallel import ordered
from nnuelab.data.records import MATE, to_fen
from nnuelab.errors import UserError

HASH_MB = 4  # cleared before each position: more would only cost time


def find_engine(engine: str | Path) -> str:
    """The absolute path of an engine's program, given by path or by name.

    Raises
    ------
    UserError
        When there is no such program, or it can't be executed.
    """
    # Debian installs games outside of root's and of many services' PATH.
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"])
    found = shutil.which(str(engine), path=places)
    if found is None:
        raise UserError(
            f"no engine {engine!s}: it is neither a program on PATH nor an executable file; "
            "install it (Debian: apt install stockfish) or name another with --engine"
        )
    return str(Path(found).resolve())


def engine_name(path: str) -> str:
    """What the engine calls itself, version included."""
    engine = _open(path)
    try:
        return engine.id.get("name", Path(path).name)
    finally:
        engine.quit()


def _open(path: str) -> chess.engine.SimpleEngine:
    try:
        engine = chess.engine.SimpleEngine.popen_uci(path)
        wanted = {"Threads": 1, "Hash": HASH_MB}
        engine.configure({name: value for name, value in wanted.items() if name in engine.options})
        return engine
    except (chess.engine.EngineError, TimeoutError, OSError) as error:
        raise UserError(
            f"{path} doesn't start as a UCI engine ({str(error) or type(error).__name__}); "
            "start it by hand and type `uci`"
        ) from error


_engine: chess.engine.SimpleEngine  # of this worker process
_limit: chess.engine.Limit


def _start_worker(path: str, limit: chess.engine.Limit) -> None:
    global _engine, _limit
    _engine, _limit = _open(path), limit
    # python-chess runs an engine in a thread that a process would wait for at its end.
    Finalize(None, _engine.quit, exitpriority=1)


def _scores(records: np.ndarray) -> np.ndarray:
    scores = np.empty(len(records), np.int16)
    for i, record in enumerate(records):
        # A new game object makes python-chess send `ucinewgame`: with a warm hash table a label
        # would depend on the positions before it.
        try:
            found = _engine.analyse(chess.Board(to_fen(record)), _limit, game=object())
        except chess.engine.EngineError as error:
            raise UserError(f"the engine failed on {to_fen(record)!r}: {error}") from error
        score = found["score"].relative.score(mate_score=MATE)
        scores[i] = max(-MATE, min(MATE, score))
    return scores


def scores(
    batches: Iterable[np.ndarray], path: str, limit: chess.engine.Limit, workers: int = 0
) -> Generator[np.ndarray, None, None]:
    """Scores of batches of records, in order, by a pool of engine processes.

    Parameters
    ----------
    batches : iterable of RECORD [n]
    path : str
        The engine's program.
    limit : chess.engine.Limit
        Of each search: depth or nodes; under a time limit labels wouldn't be reproducible.

    Yields
    ------
    ndarray of int16 [n]
        Centipawns for the side to move, mates by `records.mate_score`.
    """
    yield from ordered(_scores, batches, workers, _start_worker, (path, limit))
