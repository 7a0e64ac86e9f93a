"""bulletformat, the records of the trainer bullet: boards as the side to move sees them.

32 bytes, little-endian: occupied squares; a nibble for each piece, lowest square first (role, and
8 for the opponent's); score in centipawns and result (2 won, 1 drawn, 0 lost) of the side to move;
its king's square, and the opponent's from that one's view. For Black the board is turned over.
Source: jw1912/bulletformat, ``src/chess.rs``.

Sides, castling rights, en passant, clocks, moves and games are not in it: positions come back with
White to move, each as a game of its own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.data.formats import bulletformat_kernels as kernels
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT
from nnuelab.data.unusable import Unusable

BATCH = 1 << 16  # records


def read(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """The positions of a file.

    Yields
    ------
    ndarray of RECORD

    Raises
    ------
    UserError
        When too many are unusable.
    """
    for _, _, records in blocks(path, BATCH, unusable):
        yield records


def blocks(
    path: Path, positions: int, unusable: Unusable
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """So many positions at once; see the package."""
    size = kernels.BULLET.itemsize
    first = 0
    with open(path, "rb") as file:
        while content := file.read(positions * size):
            n = len(content) // size
            data = np.frombuffer(content, np.uint8, n * size)
            records, good = _decoded(data)
            records["game"] += np.uint32(first)
            for i in np.flatnonzero(~good):
                unusable.add(f"byte {(first + i) * size}", "no position that can be played from")
            if len(content) % size:
                unusable.add(f"byte {(first + n) * size}", "it is cut off")
            yield first * size, data, records[good]
            first += n


def decode(content: np.ndarray, positions: int) -> np.ndarray:
    """The records of a block (uint8 [m]); the first game is 0. Fewer come from a damaged one."""
    records, good = _decoded(content[: positions * kernels.BULLET.itemsize])
    return records[good]


def _decoded(content: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records of bytes (uint8 [32 n]), and which of them are positions, bool [n]."""
    bullet = content.view(kernels.BULLET)
    records, good = np.zeros(len(bullet), RECORD), np.empty(len(bullet), np.bool_)
    kernels.decode(bullet, records, good, np.empty(2 * MAX_MOVES, np.int64))
    records["game"] = np.arange(len(bullet))
    return records, good


def write(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes positions with scores and results."""
    for batch in batches:
        no_score = batch["score"] == NO_SCORE
        no_result = ~no_score & (batch["result"] == UNKNOWN_RESULT)
        left_out["no score"] += int(no_score.sum())
        left_out["no result"] += int(no_result.sum())
        fit = np.ascontiguousarray(batch[~no_score & ~no_result])
        bullet = np.zeros(len(fit), kernels.BULLET)
        kernels.encode(fit, bullet)
        file.write(bullet.tobytes())
