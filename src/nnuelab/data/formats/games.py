"""PGN with ``[%eval]``: positions that follow each other, as games with tags and SAN.

Written only; `nnuelab sample` reads it. A row of positions of one game, each the one before with
its move made, is a game; where the row breaks, another one begins with its position as ``FEN``. The
score of a position stands behind the move that led to it, in pawns from White's view, as Lichess
writes it; that of the first one before the first move, where sampling doesn't look.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nnuelab.chess import notation, san
from nnuelab.chess.moves import MAX_MOVES
from nnuelab.chess.position import POSITION
from nnuelab.data.formats import games_kernels as kernels
from nnuelab.data.formats.rows import HIGHEST_MATE
from nnuelab.data.records import MATE, NO_SCORE, UNKNOWN_RESULT, unpack
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

RESULTS = {1: "1-0", 0: "1/2-1/2", -1: "0-1"}  # of White


def read(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """Refuses: which positions of games are taken is for `nnuelab sample` to say."""
    raise UserError(f"{path}: take positions out of games with `nnuelab sample`")


def write(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes positions whose moves are known and legal."""
    rest: np.ndarray | None = None
    for batch in batches:
        legal = np.zeros(len(batch), np.bool_)
        kernels.find_legal(np.ascontiguousarray(batch), legal, np.empty(MAX_MOVES, np.int64))
        left_out["no legal move"] += int(len(batch) - legal.sum())
        fit = batch[legal] if rest is None else np.concatenate([rest, batch[legal]])
        if not len(fit):
            continue
        follows = np.zeros(len(fit), np.bool_)
        kernels.find_following(fit, follows)
        begins = [*np.flatnonzero(~follows).tolist(), len(fit)]
        # The last game may go on in the next batch.
        rest = fit[begins[-2] :].copy()
        for begin, end in pairwise(begins[:-1]):
            file.write(_game(fit[begin:end]).encode())
    if rest is not None and len(rest):
        file.write(_game(rest).encode())


def _game(records: np.ndarray) -> str:
    start = np.zeros(1, POSITION)[0]
    unpack(records[0], start)
    moves = records["move"].astype(np.int64)
    words = san.sans(san.replay(start, moves), moves)
    fen = notation.to_fen(start)
    white = -int(records[0]["result"]) if records[0]["flags"] & 1 else int(records[0]["result"])
    result = "*" if records[0]["result"] == UNKNOWN_RESULT else RESULTS[white]
    tags = {"Event": "?", "Site": "?", "Date": "????.??.??", "Round": str(records[0]["game"] + 1)}
    tags |= {"White": "?", "Black": "?", "Result": result}
    if fen != notation.STARTING_FEN:
        tags |= {"SetUp": "1", "FEN": fen}
    turn, number = int(start["turn"]), int(start["fullmove"])
    text = []
    scores = np.where(records["flags"] & 1, -1, 1) * records["score"].astype(np.int64)
    for i, (word, score) in enumerate(zip(words, scores.tolist(), strict=True)):
        if records[i]["score"] != NO_SCORE:
            text.append(f"{{ [%eval {_pawns(score)}] }}")
        full, black = divmod(turn + i, 2)
        text.append(f"{number + full}... {word}" if black else f"{number + full}. {word}")
    head = "".join(f'[{name} "{value}"]\n' for name, value in tags.items())
    return f"{head}\n{' '.join([*text, result])}\n\n"


def _pawns(score: int) -> str:
    """White's centipawns as PGN has them.

    >>> _pawns(-35), _pawns(31_998)
    ('-0.35', '#2')
    """
    moves = MATE - abs(score)
    if 0 <= moves <= HIGHEST_MATE:
        return f"#{moves if score > 0 else -moves}"
    return f"{score / 100:.2f}"
