"""Stockfish's ``.binpack``: chains of positions, each the one before with its move made.

A file is a row of chunks: ``BINP``, the chunk's length (4 bytes, little-endian), then chains. A
chain begins with a whole position of 32 bytes (big-endian, the board in nibbles as in our record)
and the number of moves that follow; each of these is two indices, of the piece among those of the
side to move and of its target among the pseudo-legal ones, in as many bits as their number needs,
and the change of the score in blocks of 4 bits. Sources: official-stockfish/Stockfish, branch
tools, ``docs/binpack.md``; official-stockfish/nnue-pytorch, ``nnue_training_data_formats.h``.

It holds position, score, result, ply and move, and Stockfish's own units for scores: they are taken
as they are. Positions whose game is unfinished don't fit. Games have no numbers: see `GameNumbers`.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.data.formats import binpack_encoder as encoder
from nnuelab.data.formats import binpack_kernels as kernels
from nnuelab.data.formats.plain import GameNumbers
from nnuelab.data.records import RECORD, UNKNOWN_RESULT, to_fen
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

MAGIC = b"BINP"
FULL = 1 << 20  # bytes of a chunk beyond which no chain begins, as in Stockfish
LONGEST = 1 << 28  # bytes of a chunk; Stockfish's own reader refuses more than 100 MB
FAULTS: dict[int, str] = {
    int(kernels.CUT_OFF): "it is cut off",
    int(
        kernels.BAD_POSITION
    ): "no position that can be played from (Chess960 castling isn't either)",
    int(kernels.BAD_RESULT): "no result",
    int(kernels.BAD_MOVE): "an illegal move",
}


def read(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """The positions of a file; where a chunk breaks, the rest of it counts as one unusable piece.

    Yields
    ------
    ndarray of RECORD

    Raises
    ------
    UserError
        When it is no such file, or too much is unusable.
    """
    for _, _, records in blocks(path, 1 << 15, unusable):
        yield records


def blocks(
    path: Path, positions: int, unusable: Unusable
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """Whole chains of one chunk, as many as make ``positions`` or a few more; see the package."""
    held = np.zeros(positions + int(kernels.MAX_CHAIN), RECORD)
    scratch = np.empty(2 * MAX_MOVES, np.int64)
    numbers = GameNumbers()
    for place, chunk in _chunks(path, unusable):
        at, fault = 0, 0
        while at < len(chunk) and not fault:
            start = at
            n, at, fault = kernels.decode(chunk, at, len(chunk), held, positions, scratch)
            yield place + start, chunk[start:at], numbers.give(held[:n].copy())
        if fault:
            unusable.add(f"chain at byte {place + at}", FAULTS[fault])


def decode(content: np.ndarray, positions: int) -> np.ndarray:
    """The records of a block (uint8 [m]); the first game is 0. Fewer come from a damaged one."""
    records, scratch = np.zeros(positions, RECORD), np.empty(2 * MAX_MOVES, np.int64)
    n, _, _ = kernels.decode(content, 0, len(content), records, positions, scratch)
    return GameNumbers().give(records[:n])


def _chunks(path: Path, unusable: Unusable) -> Iterator[tuple[int, np.ndarray]]:
    """Place and content of each chunk."""
    place = 0
    with open(path, "rb") as file:
        while head := file.read(8):
            if head[:4] != MAGIC:
                what = f"of something else from byte {place} on" if place else "no .binpack"
                raise UserError(f"{path} is damaged, or {what}; fetch or copy it again")
            length = int.from_bytes(head[4:].ljust(4, b"\0"), "little")
            if length > LONGEST:
                raise UserError(
                    f"{path}: the chunk at byte {place} claims {length:,} bytes; it is damaged, "
                    "fetch or copy it again"
                )
            content = file.read(length)
            if len(head) < 8 or len(content) < length:
                unusable.add(f"chunk at byte {place}", FAULTS[int(kernels.CUT_OFF)])
            yield place + 8, np.frombuffer(content, np.uint8)
            place += 8 + len(content)


def write(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes positions with results; chains and chunks are those that Stockfish would write.

    Raises
    ------
    UserError
        When the move of a position is illegal.
    """
    data = np.empty(FULL + kernels.HEAD + kernels.MOST_BYTES * (kernels.MAX_CHAIN + 1), np.uint8)
    state = np.zeros(1, encoder.STATE)[0]
    state["chain"] = -1
    scratch = np.empty(MAX_MOVES, np.int64)
    for batch in batches:
        fit = _fit(batch, left_out)
        done = 0
        while done < len(fit):
            done, fault = encoder.encode(fit, done, data, FULL, state, scratch)
            if fault:
                raise UserError(f"the move of {to_fen(fit[done])!r} is illegal; nothing is written")
            if done < len(fit):
                _flush(file, data, state)
    encoder.close(data, state)
    _flush(file, data, state)


def _fit(batch: np.ndarray, left_out: Counter[str]) -> np.ndarray:
    no_result = batch["result"] == UNKNOWN_RESULT
    late = ~no_result & (batch["ply"] > kernels.MAX_PLY)
    left_out["no result"] += int(no_result.sum())
    left_out[f"ply beyond {kernels.MAX_PLY:,}"] += int(late.sum())
    return np.ascontiguousarray(batch[~no_result & ~late])


def _flush(file: BinaryIO, data: np.ndarray, state: np.void) -> None:
    size = int(state["end"])
    if size:
        file.write(MAGIC + struct.pack("<I", size) + data[:size].tobytes())
        state["end"] = 0
