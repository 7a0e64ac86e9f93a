"""The opening book of the tournaments: random balanced positions, each once, as EPD.

Guarantees: as `datagen`, the same seed gives the same book with any number of workers. A book is
made in minutes, so a run that was killed begins anew.
"""

from __future__ import annotations

import gzip
import itertools
from contextlib import closing
from pathlib import Path

from nnuelab import artifacts
from nnuelab.data.engines import find_engine
from nnuelab.data.parallel import ordered
from nnuelab.errors import UserError
from nnuelab.progress import Progress
from nnuelab.selfplay import openings
from nnuelab.selfplay.openings import balanced, candidate, usable
from nnuelab.selfplay.uci import UciEngine

_engine: UciEngine  # of this worker process
_seed: int
_plies: int
_max_score: int

CHUNK = 50  # candidates per task


def _start_worker(path: str, limit: str, seed: int, plies: int, max_score: int) -> None:
    global _engine, _seed, _plies, _max_score
    _engine = UciEngine(path, limit)
    _seed, _plies, _max_score = seed, plies, max_score


def _judge(chunk: int) -> list[str]:
    """The EPDs among the candidates of one chunk that are fit for a book."""
    boards = (candidate(_seed, chunk, attempt, _plies) for attempt in range(CHUNK))
    return [
        board.epd() for board in boards if usable(board) and balanced(_engine, board, _max_score)
    ]


def book(
    output: Path,
    engine: str,
    positions: int,
    limit: str,
    random_plies: int,
    max_score: int,
    seed: int,
    workers: int = 0,
) -> None:
    """Writes ``positions`` distinct openings to ``output`` (.epd.gz), four EPD fields a line.

    Raises
    ------
    UserError
        Without the engine, or when MAX_REJECTED candidates in a row are no new openings.
    """
    path = find_engine(engine)
    with UciEngine(path, limit) as probe:
        name = probe.name
    found: dict[str, None] = {}  # a set that keeps its order
    arguments = (path, limit, seed, random_plies, max_score)
    rejected = 0
    with (
        Progress(positions, "openings", "book") as progress,
        closing(ordered(_judge, itertools.count(), workers, _start_worker, arguments)) as chunks,
    ):
        while len(found) < positions:
            before = len(found)
            found.update(dict.fromkeys(next(chunks)))
            progress.advance(min(len(found), positions) - before)
            rejected = 0 if len(found) > before else rejected + CHUNK
            if rejected >= openings.MAX_REJECTED:
                raise UserError(
                    f"{rejected:,} candidates in a row are no new openings, after {len(found):,} "
                    f"of {positions:,}: ask for fewer --positions, or give a larger --max-score or "
                    "more --random-plies"
                )
    lines = list(found)[:positions]
    with artifacts.atomic(output) as temporary:
        # Without a time of its own the file is the same, byte for byte, whenever it is made.
        data = gzip.compress("".join(line + "\n" for line in lines).encode(), 9, mtime=0)
        temporary.write_bytes(data)
    artifacts.provenance(
        output,
        parameters={
            "limit": limit,
            "random_plies": random_plies,
            "max_score": max_score,
            "positions": positions,
        },
        seed=seed,
        module="selfplay.book",
        engine=name,
    )
