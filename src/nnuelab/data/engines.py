"""UCI engines of the user's: how one is found, and a pool of them that scores positions."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Generator, Iterable
from multiprocessing.util import Finalize
from pathlib import Path

import chess
import chess.engine
import numpy as np

from nnuelab.data.parallel import ordered
from nnuelab.data.records import MATE, pack_move, to_fen
from nnuelab.errors import UserError

HASH_MB = 4  # cleared before each position: more would only cost time
PATIENCE = 120.0  # seconds that an engine may take for one answer before it counts as hanging


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
            "install it (Debian: apt install stockfish) or name another one"
        )
    return os.path.abspath(found)  # links stay: a program may go by the name it is called by


def engine_name(path: str) -> str:
    """What the engine calls itself, version included."""
    with _open(path) as engine:
        return engine.id.get("name", Path(path).name)


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
_path: str
_limit: chess.engine.Limit
_patience: float


def _start_worker(path: str, limit: chess.engine.Limit, patience: float) -> None:
    global _engine, _path, _limit, _patience
    _engine, _path, _limit, _patience = _open(path), path, limit, patience
    # python-chess runs an engine in a thread that a process would wait for at its end.
    Finalize(None, lambda: _engine.close(), exitpriority=1)


def _label(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores = np.empty(len(records), np.int16)
    moves = np.empty(len(records), np.uint16)
    for i, record in enumerate(records):
        scores[i], moves[i] = _search_or_restart(to_fen(record))
    return scores, moves


def _search_or_restart(fen: str) -> tuple[int, int]:
    """`_search`; an engine that fails or hangs gets a second chance as a new process."""
    global _engine
    board = chess.Board(fen)
    for _ in range(2):
        # python-chess waits for ever under a limit of nodes or depth.
        watchdog = threading.Timer(_patience, _engine.close)
        watchdog.start()
        try:
            return _search(board)
        except chess.engine.EngineError as error:
            fired = watchdog.finished.is_set()
            reason = f"no answer for {_patience:g} s" if fired else str(error)
            _engine.close()
            _engine = _open(_path)
        finally:
            watchdog.cancel()
    raise UserError(f"the engine {_path} failed twice on {fen!r}: {reason}")


def _search(board: chess.Board) -> tuple[int, int]:
    """Score in centipawns for the side to move, and best move."""
    # A new game object makes python-chess send `ucinewgame`: with a warm hash table a label would
    # depend on the positions before it.
    analysis = _engine.analysis(board, _limit, game=object(), info=chess.engine.INFO_SCORE)
    move = analysis.wait().move
    if move is None or "score" not in analysis.info:
        raise UserError(f"the engine {_path} gave no move with a score on {board.fen()!r}")
    score = analysis.info["score"].relative.score(mate_score=MATE)
    return max(-MATE, min(MATE, score)), pack_move(board, move)


def labels(
    batches: Iterable[np.ndarray],
    path: str,
    limit: chess.engine.Limit,
    workers: int = 0,
    patience: float = PATIENCE,
) -> Generator[tuple[np.ndarray, np.ndarray], None, None]:
    """Scores and best moves of batches of records, in order, by a pool of engine processes.

    Parameters
    ----------
    batches : iterable of RECORD [n]
    path : str
        The engine's program.
    limit : chess.engine.Limit
        Of each search: depth or nodes; under a time limit labels wouldn't be reproducible.
    patience : float
        Seconds that a search may take before its engine counts as hanging.

    Yields
    ------
    scores : ndarray of int16 [n]
        Centipawns for the side to move, mates by `records.mate_score`.
    moves : ndarray of uint16 [n]
        In the layout of ``chess.moves``.

    Raises
    ------
    UserError
        When an engine doesn't start, or dies or hangs twice on a position.
    """
    yield from ordered(_label, batches, workers, _start_worker, (path, limit, patience))
