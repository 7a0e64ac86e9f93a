"""Shared by the text formats: rows of text to records, and the spelling of values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.data import record_text
from nnuelab.data.records import (
    MATE,
    NO_SCORE,
    RECORD,
    UNKNOWN_RESULT,
    from_fen,
    mate_score,
    to_fen,
)
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

BATCH = 1 << 13  # rows
LONGEST = 1_000  # bytes of a FEN; a file of one endless line would fill the memory
VALUE_NONE = 32_002  # Stockfish's score of a position that has none
HIGHEST_MATE = 999  # moves; a score nearer to MATE is written as a mate
HIGHEST = 32_700  # centipawns, as in all datasets
ABSOLUTE = {b"1-0": 1, b"0-1": -1, b"1/2-1/2": 0}  # for White


class Row(NamedTuple):
    """A position as text, with its labels."""

    line: int
    fen: bytes
    move: bytes = b""  # UCI
    score: int = NO_SCORE
    result: int = UNKNOWN_RESULT
    white: bool = False  # score and result are White's, not those of the side to move
    ply: int = -1  # -1: as the FEN says
    game: int = -1  # -1: it has none


class BadRow(ValueError):
    """A row that can't be used; the message is the reason."""


def score(text: bytes) -> int:
    """Centipawns, or moves to mate with a ``#``; NO_SCORE for nothing.

    >>> score(b"-35"), score(b"#-2"), score(b"")
    (-35, -31998, -32768)
    """
    text = text.strip()
    if not text:
        return NO_SCORE
    try:
        found = mate_score(int(text[1:])) if text.startswith(b"#") else int(text)
    except ValueError:
        raise BadRow(f"the score {text.decode(errors='replace')!r} is not a number") from None
    if found == VALUE_NONE:
        return NO_SCORE
    if abs(found) > HIGHEST:
        raise BadRow(f"the score {found} is beyond {HIGHEST}")
    return found


def mate_in(score: int) -> int | None:
    """Moves to the mate of a score, negative when being mated; None when it is no mate.

    >>> mate_in(31_997), mate_in(-31_999), mate_in(35)
    (3, -1, None)
    """
    moves = MATE - abs(score)
    return (moves if score > 0 else -moves) if 0 < moves <= HIGHEST_MATE else None


def number(text: bytes, name: str, limit: int) -> int:
    """A number from 0 to ``limit``; -1 for nothing."""
    text = text.strip()
    if not text:
        return -1
    if not text.isdigit() or len(text) > 10 or int(text) > limit:
        shown = text[:20].decode(errors="replace")
        raise BadRow(f"the {name} {shown!r} is not a number from 0 to {limit:,}")
    return int(text)


def result(text: bytes) -> int:
    """1, 0 or -1 of the side to move; UNKNOWN_RESULT for nothing."""
    try:
        return {b"1": 1, b"0": 0, b"-1": -1, b"": UNKNOWN_RESULT}[text.strip()]
    except KeyError:
        shown = text[:20].decode(errors="replace")
        raise BadRow(f"the result {shown!r} is not 1, 0 or -1") from None


def records(rows: Iterable[Row], unusable: Unusable) -> Iterator[np.ndarray]:
    """Rows to records, in batches; a row without a game is a game of its own.

    Raises
    ------
    UserError
        When too many are unusable.
    """
    rows, first = iter(rows), 0
    while batch := list(islice(rows, BATCH)):
        texts = [text for row in batch for text in (row.fen[:LONGEST], row.move)]
        ends = np.cumsum([len(text) for text in texts])
        text = np.frombuffer(b"".join(texts), np.uint8)
        found, fault = np.zeros(len(batch), RECORD), np.empty(len(batch), np.uint8)
        record_text.read(text, ends, found, fault, np.empty(2 * MAX_MOVES, np.int64))
        for i in np.flatnonzero(fault):
            try:
                found[i] = _slowly(batch[i])
                fault[i] = 0
            except (UserError, BadRow) as error:
                unusable.add(f"line {batch[i].line}", str(error))
        _, _, _, scores, results, white, plies, games = map(np.array, zip(*batch, strict=True))
        sign = np.where(white & (found["flags"] & 1).astype(bool), -1, 1)
        found["score"] = np.where(scores == NO_SCORE, NO_SCORE, sign * scores)
        found["result"] = np.where(results == UNKNOWN_RESULT, UNKNOWN_RESULT, sign * results)
        found["ply"] = np.where(plies < 0, found["ply"], plies)
        found["game"] = games.astype(np.uint32)
        good = found[fault == 0]
        own = np.arange(first, first + len(good), dtype=np.uint32)
        good["game"] = np.where(games[fault == 0] < 0, own, good["game"])
        first += len(good)
        yield good


def _slowly(row: Row) -> np.void:
    """Reads a row that the kernel refuses with `notation`, which names the error."""
    fen = row.fen.decode("ascii", "replace")
    if len(fen) > LONGEST:
        raise BadRow(f"{len(fen):,} bytes are not a FEN")
    record = from_fen(fen)
    move = row.move.decode("ascii", "replace")
    if move and move != "0000":
        rest = np.frombuffer(row.move, np.uint8)
        packed = record_text.read_move(record, rest, np.empty(MAX_MOVES, np.int64))
        if not packed:
            raise BadRow(f"{move!r} is not a legal move in {to_fen(record)}")
        record["move"] = packed
    return record
