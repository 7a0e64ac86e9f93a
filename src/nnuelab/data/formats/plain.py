"""Stockfish's ``.plain``: a position as several lines, ended by ``e``.

::

    fen rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1
    move e2e4
    score 30
    ply 0
    result 0
    e

Score and result are those of the side to move, the score in Stockfish's own units; it is taken as
it is. Games have no numbers: see `GameNumbers`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nnuelab.data.formats import rows
from nnuelab.data.formats.rows import BadRow, Row
from nnuelab.data.record_text import texts
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT
from nnuelab.data.streams import BYTE_ORDER_MARK, lines
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

KEYS = {b"fen", b"move", b"score", b"ply", b"result"}
MAX_PLY = 65_535
LINES = 100  # of a position, empty ones included, at most


def read(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """The positions of a file, as the package describes."""
    numbers = GameNumbers()
    return (numbers.give(batch) for batch in rows.records(_rows(lines(path), unusable), unusable))


def blocks(
    path: Path, positions: int, unusable: Unusable
) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
    """So many positions at once, whole ones; see the package."""
    numbers, waiting = GameNumbers(), list[bytes]()
    with open(path, "rb") as file:
        place = len(BYTE_ORDER_MARK) * (file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK)
    number = count = 0
    for number, line in enumerate(lines(path), 1):
        waiting.append(line)
        count += line.strip() == b"e"
        if len(waiting) > LINES * positions:
            raise UserError(f"{path}: {len(waiting):,} lines have {count} ends of positions (`e`)")
        if count == positions:
            yield place, *_given(waiting, number - len(waiting) + 1, numbers, unusable)
            place += sum(map(len, waiting))
            waiting, count = [], 0
    if waiting:
        yield place, *_given(waiting, number - len(waiting) + 1, numbers, unusable)


def decode(content: np.ndarray, positions: int) -> np.ndarray:
    """The records of a block (uint8 [m]); the first game is 0. Fewer come from a damaged one."""
    text = content.tobytes().splitlines(keepends=True)
    return _given(text, 1, GameNumbers(), Unusable("", positions))[1]


def _given(
    text: list[bytes], first: int, numbers: GameNumbers, unusable: Unusable
) -> tuple[np.ndarray, np.ndarray]:
    """Some lines as bytes, and their positions; the first of them is line ``first``."""
    found = [*rows.records(_rows(text, unusable, first), unusable)]
    content = np.frombuffer(b"".join(text), np.uint8)
    return content, numbers.give(np.concatenate([np.empty(0, RECORD), *found]))


def _rows(text: Iterable[bytes], unusable: Unusable, start: int = 1) -> Iterator[Row]:
    said: dict[bytes, bytes] = {}
    first = number = 0
    for number, line in enumerate(text, start):
        key, _, value = line.strip().partition(b" ")
        if not said:
            first = number
        if key in KEYS:
            said[key] = value
        elif key == b"e":
            try:
                yield _row(first, said)
            except BadRow as error:
                unusable.add(f"line {first}", str(error))
            said = {}
        elif key:
            unusable.add(f"line {number}", f"{line[:40].decode(errors='replace').strip()!r}")
    if said:
        unusable.add(f"line {first}", "a position without its end (a line `e`)")


def _row(line: int, said: dict[bytes, bytes]) -> Row:
    if b"fen" not in said:
        raise BadRow("a position without a line `fen`")
    return Row(
        line,
        said[b"fen"],
        said.get(b"move", b"").strip(),
        rows.score(said.get(b"score", b"")),
        rows.result(said.get(b"result", b"")),
        ply=rows.number(said.get(b"ply", b""), "ply", MAX_PLY),
    )


def write(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes positions with results; those without a score get Stockfish's VALUE_NONE."""
    for batch in batches:
        fit = batch[batch["result"] != UNKNOWN_RESULT]
        left_out["no result"] += len(batch) - len(fit)
        scores = np.where(fit["score"] == NO_SCORE, rows.VALUE_NONE, fit["score"])
        values = (*texts(fit), scores.tolist(), fit["ply"].tolist(), fit["result"].tolist())
        file.write(
            b"".join(
                b"fen %b\nmove %b\nscore %d\nply %d\nresult %d\ne\n" % row
                for row in zip(*values, strict=True)
            )
        )


class GameNumbers:
    """Numbers the games of positions in a row, also those of ``.binpack``.

    A game begins where the ply doesn't grow or the result for White changes. Two games may count
    as one, which does a split no harm; no game is split in two.
    """

    def __init__(self) -> None:
        self._game, self._ply, self._white = -1, 0, 0

    def give(self, records: np.ndarray) -> np.ndarray:
        """Sets ``game`` of the next positions.

        Parameters
        ----------
        records : ndarray of RECORD [n], changed

        Returns
        -------
        ndarray of RECORD [n]
            The same.
        """
        if len(records):
            ply = np.concatenate([[self._ply], records["ply"]]).astype(np.int64)
            result = records["result"].astype(np.int64)
            white = np.where(records["flags"] & 1, -result, result)
            before = np.concatenate([[self._white], white[:-1]])
            new = (np.diff(ply) <= 0) | (white != before)
            if self._game < 0:
                new[0] = True
            records["game"] = self._game + np.cumsum(new)
            self._game, self._ply = int(records["game"][-1]), int(ply[-1])
            self._white = int(white[-1])
        return records
