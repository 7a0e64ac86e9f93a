"""Holds the searches of several builds of an engine against each other: what `go` hides."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from nnuelab.data.uci import Reply, UciEngine, UciError
from nnuelab.errors import UserError
from nnuelab.export.check_engine import command_of, line_of, lines_of, words_of
from nnuelab.features.check import Game
from nnuelab.progress import Progress


def compare(engines: Sequence[Path], games: Iterable[Game], depth: int, patience: float) -> int:
    """Searches the middle of each game's longest part without null moves; all must say the same.

    They have one thread each, and cleared hash tables. A build that evaluates every position from
    scratch, or without vectors, searches the same tree as the others, unless one of them is wrong.

    Parameters
    ----------
    engines : sequence of Path
        Two or more; the first is what the others are held against.
    games : iterable of Game
    depth : int
        What is compared: its last depth, nodes, score and line, and the move.
    patience : float
        Seconds for each search.

    Returns
    -------
    int
        Positions that were searched alike.

    Raises
    ------
    UserError
        Where two differ, or one fails or tells no nodes, with the position; or when one doesn't
        start.
    """
    parts = (lines_of([game], nulls=False) for game in games)
    lines = [max(each, key=lambda part: len(part.moves)) for each in parts]
    with ExitStack() as stack, Progress(len(lines), "searches", "check") as progress:
        started = [stack.enter_context(UciEngine(command_of(engine))) for engine in engines]
        for alike, line in enumerate(lines):
            told: list[Reply] = []
            fen, moves = words_of(line)
            position = line_of(fen, moves[: len(moves) // 2])
            where = f"after {alike:,} searches alike, in position {position}, go depth {depth}"
            for engine, path in zip(started, engines, strict=True):
                try:
                    told.append(engine.search(position, f"depth {depth}", patience, clear=True))
                except UciError as error:
                    raise UserError(f"{path}, {where}: {error}") from error
                if told[-1].nodes is None:
                    raise UserError(
                        f"{path}, {where}: it tells no nodes, so trees can't be compared"
                    )
                if told[-1] != told[0]:
                    each = f"{engines[0]} says {_said(told[0])}; {path} says {_said(told[-1])}"
                    raise UserError(f"{where}: {each}")
            progress.advance(1)
    return len(lines)


def _said(reply: Reply) -> str:
    said = [f"depth {reply.depth}, {reply.nodes} nodes, {reply.move or 'no move'}"]
    for cp, mate, moves in reply.variations:
        said.append(f"mate {mate}" if cp is None else f"{cp} centipawns")
        said.append(" ".join(moves))
    return ", ".join(said)
