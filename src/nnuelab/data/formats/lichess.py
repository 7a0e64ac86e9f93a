"""The evaluations that Lichess publishes: a line of JSON for each position.

``{"fen": ..., "evals": [{"pvs": [{"cp": 35, "line": "e2e4 ..."}], "knodes": 10, "depth": 20}]}``,
with ``mate`` for ``cp`` where a mate was found, both White's; castling is the king taking its rook.
Of several evaluations the deepest counts, of equal depth the one with more nodes; of its lines the
first. Source: https://database.lichess.org/#evals.

There are no games: each position is one of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from nnuelab.data.formats import rows
from nnuelab.data.formats.rows import BadRow, Row
from nnuelab.data.record_text import texts
from nnuelab.data.records import NO_SCORE, mate_score
from nnuelab.data.streams import lines
from nnuelab.data.unusable import Unusable

_LIMIT = 31_000  # centipawns; larger ones, which no engine means, would pass for mates


def read(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """The positions of a file; see the package for what is raised."""
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
        said = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadRow(f"no JSON ({error})") from None
    try:
        best = max(said["evals"], key=lambda found: (found["depth"], found["knodes"]))["pvs"][0]
        fen, move = said["fen"].encode(), best["line"].split(" ", 1)[0].encode()
        score = _score(best)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadRow(f"no evaluation of Lichess ({type(error).__name__}: {error})") from None
    return Row(number, fen, move, score, white=True)


def _score(pv: dict[str, Any]) -> int:
    if pv.get("cp") is not None:
        return max(-_LIMIT, min(_LIMIT, int(pv["cp"])))
    mate = int(pv["mate"])
    if mate == 0:
        raise ValueError("mate 0: the game is over")
    return mate_score(mate)


def write(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes positions with scores, as evaluations of depth 0; without results and games."""
    for batch in batches:
        fit = batch[batch["score"] != NO_SCORE]
        left_out["no score"] += len(batch) - len(fit)
        scores = (np.where(fit["flags"] & 1, -1, 1) * fit["score"]).tolist()
        found = []
        for fen, move, score in zip(*texts(fit), scores, strict=True):
            mate = rows.mate_in(score)
            worth = {"cp": score} if mate is None else {"mate": mate}
            pv = {**worth, "line": move.decode() if move != b"0000" else ""}
            evals = [{"pvs": [pv], "knodes": 0, "depth": 0}]
            short = fen.rsplit(b" ", 2)[0].decode()
            found.append(json.dumps({"fen": short, "evals": evals}, separators=(",", ":")))
        file.write("".join(text + "\n" for text in found).encode())
