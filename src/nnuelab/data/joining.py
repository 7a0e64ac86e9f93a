"""Several files of positions as one dataset, a part of them held out to validate with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from nnuelab import artifacts
from nnuelab.data import dataset, encoded
from nnuelab.data.dataset import Dataset
from nnuelab.data.draws import seed_of
from nnuelab.errors import UserError
from nnuelab.progress import Progress


def join(
    output: Path,
    files: Mapping[Path, float],
    validation: Path | None = None,
    share: float = 0.0,
    seed: int = 1,
) -> tuple[Dataset, int]:
    """Writes an index of files, and the positions that are held out of it.

    Held out are blocks of neighbours, drawn by a hash of the seed and the places of file and block.
    The first and the last game of a block, which may go on beyond it, are left out of both sets. Of
    a dataset (.npy) nothing is held out: labelling has done that.

    Parameters
    ----------
    output : Path
        The index, .shards.
    files : mapping of Path to float
        Files with their weights.
    validation : Path, optional
        Dataset to write, .npy.
    share : float
        Of the blocks that are held out.
    seed : int

    Returns
    -------
    joined : Dataset
    held_out : int
        Positions.

    Raises
    ------
    UserError
        When a file can't be used as a whole, or nothing is left for one of the two.
    """
    if (validation is None) != (share == 0):
        raise UserError("give both --validation and --validation-share, or none of them")
    artifacts.check_apart(files, filter(None, [output, validation]))
    order = {path: number for number, path in enumerate(files)}
    limit, games = share * 2.0**64, 0
    with ExitStack() as stack:
        progress = stack.enter_context(Progress(None, "positions", "index"))
        writer = None
        if validation is not None:
            writer = stack.enter_context(dataset.writing(validation))

        def scanned(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
            nonlocal games
            for number, (block, records) in enumerate(encoded.scan(path)):
                progress.advance(len(records))
                if writer is None or seed_of(seed, order[path], number) >= limit:
                    yield block, records
                    continue
                inner = _inner_games(records)
                inner["game"], games = _numbered(inner["game"], games)
                writer.append(inner)

        joined = dataset.write_index(output, [*files], [*files.values()], scanned)
        held_out = 0 if writer is None else writer.count
        if writer is not None and not held_out:
            output.unlink()
            raise UserError(f"of {len(joined):,} positions none is held out; give a larger share")
    if validation is not None:
        artifacts.provenance(
            validation,
            inputs={f"positions {number}": path for number, path in enumerate(files, 1)},
            parameters={"validation_share": share},
            seed=seed,
            module="data.joining",
            counts={"positions": held_out},
        )
    return joined, held_out


def _inner_games(records: np.ndarray) -> np.ndarray:
    """A copy without the first and the last game."""
    game = records["game"]
    return records[(game != game[0]) & (game != game[-1])]


def _numbered(games: np.ndarray, first: int) -> tuple[np.ndarray, int]:
    """Numbers of games from ``first`` on in place of their own, and the next one."""
    if not len(games):
        return games, first
    found = first + np.concatenate([[0], np.cumsum(np.diff(games.astype(np.int64)) != 0)])
    return found, int(found[-1]) + 1
