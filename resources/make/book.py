"""The opening book of the tournaments: random balanced positions, each once, as EPD.

The same seed gives the same book with any number of workers.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import shlex
import sys
from contextlib import closing
from pathlib import Path

from nnuelab import artifacts
from nnuelab.chess import notation
from nnuelab.data.parallel import ordered
from nnuelab.data.uci import find_engine
from nnuelab.errors import UserError
from nnuelab.progress import Progress
from nnuelab.selfplay import openings
from nnuelab.selfplay.datagen import Source
from nnuelab.selfplay.openings import balanced, candidate, usable
from nnuelab.tournament.game import Seat
from nnuelab.tournament.limits import Limit

_seat: Seat  # of this worker process
_seed: int
_plies: int
_max_score: int

CHUNK = 50  # candidates per task


def _start_worker(source: Source, limit: Limit, seed: int, plies: int, max_score: int) -> None:
    global _seat, _seed, _plies, _max_score
    _seat = source.start(limit)
    _seed, _plies, _max_score = seed, plies, max_score


def _judge(chunk: int) -> list[str]:
    """The EPDs among the candidates of one chunk that are fit for a book."""
    found = (candidate(_seed, chunk, attempt, _plies) for attempt in range(CHUNK))
    return [
        notation.to_fen(opening.position).rsplit(" ", 2)[0]
        for opening in found
        if usable(opening.position) and balanced(_seat, opening, _max_score)
    ]


def book(
    output: Path,
    engine: str,
    positions: int,
    limit: Limit,
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
    source = Source(find_engine(engine))
    name = source.name()
    found: dict[str, None] = {}  # a set that keeps its order
    arguments = (source, limit, seed, random_plies, max_score)
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
                    f"of {positions:,}: ask for fewer"
                )
    lines = list(found)[:positions]
    with artifacts.atomic(output) as temporary:
        # Without a time of its own the file is the same, byte for byte, whenever it is made.
        data = gzip.compress("".join(line + "\n" for line in lines).encode(), 9, mtime=0)
        temporary.write_bytes(data)
    artifacts.provenance(
        output,
        inputs=source.files(),
        parameters={
            "limit": str(limit),
            "random_plies": random_plies,
            "max_score": max_score,
            "positions": positions,
        },
        seed=seed,
        command=shlex.join(["python", *sys.argv]),
        code=artifacts.code_hash(None, [__file__]),
        player=name,
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help=".epd.gz")
    parser.add_argument("--positions", type=int, default=12_000)
    parser.add_argument("--workers", type=int, default=0)
    given = parser.parse_args()
    try:
        book(given.output, "stockfish", given.positions, Limit(nodes=2000), 8, 50, 2, given.workers)
    except UserError as error:
        sys.exit(str(error))
