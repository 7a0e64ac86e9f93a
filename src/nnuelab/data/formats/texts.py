"""Lines of positions: CSV, EPD, and FEN with score and result.

CSV has columns by name, of which ``fen`` is needed: ``score`` (centipawns of the side to move, or
``#3`` for a mate), ``result`` (1, 0 or -1 of the side to move, or White's: 1-0, 0-1, 1/2-1/2, or
1.0, 0.5, 0.0 in the whole column), ``ply``, ``game``, ``move`` (UCI).

EPD and FEN lines may say more behind the position: the EPD operations ``ce`` (centipawns of the
side to move), ``dm`` (mate in so many moves), ``hmvc`` and ``fmvn`` (the clocks), or
``| 35 | 0.5`` (centipawns and score of the game, both White's, as bullet's tools write it), or
``[0.5]``, or the result as in PGN, quoted or not. Source: the PGN standard, section 16.2.

Positions without a number of their game are games of their own.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nnuelab.data.formats import rows
from nnuelab.data.formats.rows import ABSOLUTE, BadRow, Row
from nnuelab.data.record_text import texts
from nnuelab.data.records import NO_SCORE, UNKNOWN_RESULT
from nnuelab.data.streams import lines
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

COLUMNS = ("fen", "score", "result", "ply", "game", "move")
MAX_PLY, MAX_GAME = 65_535, 2**32 - 1

_LINE = re.compile(rb"([^ ]+ [wb] [^ ]+ [^ ;|\[]+)(?: (\d+) (\d+)(?=[ ;|\[]|$))?[ ;]*(.*)")
_OPERATION = re.compile(rb"\b(ce|dm|hmvc|fmvn) (-?\d+)")
_PIPES = re.compile(rb"\| *(-?\d+) *\| *(1(?:\.0)?|0(?:\.[05])?)\b")
_RESULT = re.compile(rb"(?:^|[\s\"|])(1-0|0-1|1/2-1/2)(?:$|[\s\"|;])")
_POINTS = re.compile(rb"\[ *(1(?:\.0)?|0(?:\.[05])?) *\]")
_NUMBERS = {b"1": 1, b"1.0": 1, b"0.5": 0, b".5": 0, b"0": -1, b"0.0": -1}  # White's points


def read_csv(path: Path, unusable: Unusable, points: bool = False) -> Iterator[np.ndarray]:
    """The positions of a table, as the package describes.

    Parameters
    ----------
    points : bool
        Whether results are White's points where the whole column has 1 and 0 alone.
    """
    found = _has_points(path)
    return rows.records(_csv_rows(path, unusable, points if found is None else found), unusable)


def read_lines(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """The positions of EPD or FEN lines, as the package describes."""
    return rows.records(_line_rows(path, unusable), unusable)


def _has_points(path: Path) -> bool | None:
    """Whether a column of results has halves or a -1; None when it has neither.

    Else nobody could tell a 0, a loss or a draw.
    """
    reader = csv.reader(line.decode("utf-8", "replace") for line in lines(path))
    with suppress(csv.Error):  # the one who reads all of it tells where
        names = [name.strip().lower() for name in next(reader, [])]
        if "result" not in names:
            return None
        column = names.index("result")
        for cells in reader:
            said = cells[column].strip() if column < len(cells) else ""
            if said == "-1" or "." in said:
                return said != "-1"
    return None


def _csv_rows(path: Path, unusable: Unusable, points: bool) -> Iterator[Row]:
    reader = csv.reader(line.decode("utf-8", "replace") for line in lines(path))
    try:
        names = [name.strip().lower() for name in next(reader, [])]
        if "fen" not in names:
            raise UserError(
                f"{path} has no column fen in its first line; known columns are "
                f"{', '.join(COLUMNS)}"
            )
        for cells in reader:
            if not cells:
                continue
            try:
                if len(cells) != len(names):
                    raise BadRow(f"{len(cells)} cells instead of {len(names)}")
                yield _csv_row(reader.line_num, dict(zip(names, cells, strict=True)), points)
            except BadRow as error:
                unusable.add(f"line {reader.line_num}", str(error))
    except csv.Error as error:
        raise UserError(f"{path}, line {reader.line_num}: not CSV: {error}") from error


def _csv_row(line: int, cells: dict[str, str], points: bool) -> Row:
    values = {name: cells.get(name, "").encode() for name in COLUMNS}
    game = rows.number(values["game"], "game", MAX_GAME - 1)
    fen, told = values["fen"].strip(), values["result"].strip()
    white = {**_NUMBERS, **ABSOLUTE} if points else ABSOLUTE
    if told in white:
        sign = -1 if fen.split(b" ")[1:2] == [b"b"] else 1
        result = sign * white[told]
    elif points and told not in (b"", b"*"):
        raise BadRow(f"the result {cells['result'][:20]!r} is none of 1, 0.5, 0")
    else:
        result = rows.result(told if told != b"*" else b"")
    return Row(
        line,
        fen,
        values["move"].strip(),
        rows.score(values["score"]),
        result,
        ply=rows.number(values["ply"], "ply", MAX_PLY),
        game=game,
    )


def _line_rows(path: Path, unusable: Unusable) -> Iterator[Row]:
    for number, line in enumerate(lines(path), 1):
        line = line.strip()
        if not line or line.startswith(b"#"):
            continue
        try:
            yield _line_row(number, line)
        except BadRow as error:
            unusable.add(f"line {number}", str(error))


def _line_row(number: int, line: bytes) -> Row:
    found = _LINE.fullmatch(line)
    if found is None:
        # Whatever it is: the reader of FENs says what is wrong.
        return Row(number, line)
    board, halfmove, fullmove, rest = found.groups()
    clocks = [halfmove or b"0", fullmove or b"1"]
    if not rest:
        return Row(number, b" ".join([board, *clocks]))
    said = dict(_OPERATION.findall(rest))
    clocks = [said.get(b"hmvc", clocks[0]), said.get(b"fmvn", clocks[1])]
    fen = b" ".join([board, *clocks])
    sign = -1 if b" b " in board else 1
    score, result = NO_SCORE, UNKNOWN_RESULT
    if pipes := _PIPES.search(rest):
        score, result = sign * rows.score(pipes[1]), sign * round(2 * float(pipes[2]) - 1)
    elif points := _POINTS.search(rest):
        result = sign * round(2 * float(points[1]) - 1)
    elif absolute := _RESULT.search(rest):
        result = sign * ABSOLUTE[absolute[1]]
    if b"dm" in said:
        score = rows.score(b"#" + said[b"dm"])
    elif b"ce" in said:
        score = rows.score(said[b"ce"])
    return Row(number, fen, score=score, result=result)


def write_csv(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes all columns; cells of unknown scores, results and moves are empty."""
    file.write(",".join(COLUMNS).encode() + b"\n")
    for batch in batches:
        fens, moves = texts(batch)
        values = (
            fens,
            (b"" if value == NO_SCORE else b"%d" % value for value in batch["score"].tolist()),
            (b"" if r == UNKNOWN_RESULT else b"%d" % r for r in batch["result"].tolist()),
            batch["ply"].tolist(),
            batch["game"].tolist(),
            (b"" if move == b"0000" else move for move in moves),
        )
        lines = (b"%b,%b,%b,%d,%d,%b\n" % row for row in zip(*values, strict=True))
        file.write(b"".join(lines))


def write_epd(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes EPD with ce or dm, the clocks, and the result as ``c9``; without plies and moves."""
    for batch in batches:
        fens, _ = texts(batch)
        values = batch["score"].tolist(), batch["result"].tolist(), batch["flags"].tolist()
        found = []
        for fen, score, result, flags in zip(fens, *values, strict=True):
            board, halfmove, fullmove = fen.rsplit(b" ", 2)
            operations = [board]
            if score != NO_SCORE:
                mate = rows.mate_in(score)
                operations.append(b"ce %d;" % score if mate is None else b"dm %d;" % mate)
            if result != UNKNOWN_RESULT:
                won = -result if flags & 1 else result
                operations.append(b'c9 "%b";' % {1: b"1-0", 0: b"1/2-1/2", -1: b"0-1"}[won])
            operations.append(b"hmvc %b; fmvn %b;\n" % (halfmove, fullmove))
            found.append(b" ".join(operations))
        file.write(b"".join(found))


def write_fen(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes ``FEN | centipawns | 1.0``, White's, of positions that have both."""
    for batch in batches:
        has = (batch["score"] != NO_SCORE) & (batch["result"] != UNKNOWN_RESULT)
        left_out["no score or no result"] += int((~has).sum())
        fit = batch[has]
        fens, _ = texts(fit)
        sign = np.where(fit["flags"] & 1, -1, 1)
        scores = (sign * fit["score"]).tolist()
        points = ((sign * fit["result"] + 1) / 2).tolist()
        lines = (b"%b | %d | %.1f\n" % row for row in zip(fens, scores, points, strict=True))
        file.write(b"".join(lines))
