"""The evaluations that Lichess publishes: a line of JSON for each position.

``{"fen": ..., "evals": [{"pvs": [{"cp": 35, "line": "e2e4 ..."}], "knodes": 10, "depth": 20}]}``,
with ``mate`` for ``cp`` where a mate was found, both White's; castling is the king taking its rook.
Of several evaluations the deepest counts, of equal depth the one with more nodes; of its lines the
first. Source: https://database.lichess.org/#evals.

There are no games: each position is one of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from nnuelab import json_text
from nnuelab.data.formats import rows
from nnuelab.data.formats.rows import BadRow, Row
from nnuelab.data.records import mate_score
from nnuelab.data.streams import lines
from nnuelab.data.unusable import Unusable

_LIMIT = 31_000  # centipawns; larger ones, which no engine means, would pass for mates


def read(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """The positions of a file, as the package describes."""
    return rows.records(_rows(path, unusable), unusable)


def _rows(path: Path, unusable: Unusable) -> Iterator[Row]:
    for number, line in enumerate(lines(path), 1):
        if not line.strip():
            continue
        try:
            yield _row(number, line)
        except BadRow as error:
            unusable.add(f"line {number}", str(error))


def _row(number: int, line: bytes) -> Row:
    try:
        said = json_text.load(line)
    except ValueError as error:
        raise BadRow(f"not JSON ({error})") from None
    try:
        best = max(said["evals"], key=lambda found: (found["depth"], found["knodes"]))["pvs"][0]
        fen, move = said["fen"].encode(), best["line"].split(" ", 1)[0].encode()
        score = _score(best)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadRow(f"not a Lichess evaluation ({type(error).__name__}: {error})") from None
    return Row(number, fen, move, score, white=True)


def _score(pv: dict[str, Any]) -> int:
    if pv.get("cp") is not None:
        return max(-_LIMIT, min(_LIMIT, int(pv["cp"])))
    mate = int(pv["mate"])
    if mate == 0:
        raise ValueError("mate 0: the game is over")
    return mate_score(mate)
