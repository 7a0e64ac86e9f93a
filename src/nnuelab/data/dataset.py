"""Dataset files: a ``.npy`` of RECORD, written as a stream, opened mapped into memory.

Sets that are larger, or made month by month, are several files with an index.
"""

from __future__ import annotations

import hashlib
import json
import os
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from nnuelab import artifacts
from nnuelab.data.record_text import texts
from nnuelab.data.records import RECORD
from nnuelab.errors import UserError, one_line

if TYPE_CHECKING:
    import pandas as pd

INDEX = ".shards"
HASHED = 1 << 16  # records at once


def evenly(n: int, most: int) -> np.ndarray:
    """int64: up to ``most`` indices below n, evenly spaced from the first to the last."""
    count = min(n, most)
    return np.arange(count) * (n - 1) // max(count - 1, 1)


@dataclass(frozen=True)
class Dataset:
    """Positions of one file, or of the shards that an index names.

    Attributes
    ----------
    path : Path
    shards : tuple of ndarray of RECORD
        Read-only, mapped into memory.
    """

    path: Path
    shards: tuple[np.ndarray, ...]

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @property
    def records(self) -> np.ndarray:
        """RECORD [n]: all positions; those of several shards are copied into memory."""
        return self.shards[0] if len(self.shards) == 1 else np.concatenate(self.shards)

    def parts(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """The positions from ``start`` to ``stop`` as pieces of shards, none of them copied."""
        for shard in self.shards:
            if max(start, 0) < min(stop, len(shard)):
                yield shard[max(start, 0) : stop]
            start, stop = start - len(shard), stop - len(shard)

    def spaced(self, most: int) -> np.ndarray:
        """RECORD: copies of up to ``most`` positions, evenly spaced.

        They are read one by one: all pages of a mapped file that are touched count as memory of
        this process, and of a large file that would be most of it.
        """
        wanted = evenly(len(self), most)
        found, start, stop = np.empty(len(wanted), RECORD), 0, 0
        for shard in self.shards:
            assert isinstance(shard, np.memmap)
            assert shard.filename is not None
            stop += len(shard)
            with Path(shard.filename).open("rb", buffering=0) as file:
                for i in np.flatnonzero((wanted >= start) & (wanted < stop)):
                    file.seek(shard.offset + (int(wanted[i]) - start) * RECORD.itemsize)
                    file.readinto(found[i : i + 1].view(np.uint8).data)
            start = stop
        return found

    def content_hash(self) -> str:
        """SHA-256 of the records' bytes, however many shards they lie in: the id of the data."""
        digest = hashlib.sha256()
        for part in self.parts(0, len(self)):
            for begin in range(0, len(part), HASHED):
                digest.update(np.ascontiguousarray(part[begin : begin + HASHED]).data)
        return digest.hexdigest()

    def to_pandas(self, limit: int | None = None) -> pd.DataFrame:
        """The positions in readable columns: fen, score, result, ply, game, move (UCI).

        Parameters
        ----------
        limit : int, optional
            Only the first so many; each costs about a microsecond.
        """
        import pandas as pd

        part = np.concatenate([*self.parts(0, len(self) if limit is None else limit)])
        fens, moves = texts(part)
        frame = pd.DataFrame({name: part[name] for name in ("score", "result", "ply", "game")})
        frame.insert(0, "fen", [fen.decode() for fen in fens])
        frame["move"] = [move.decode() for move in moves]
        return frame


def open(path: Path | str) -> Dataset:
    """Opens a dataset file, or the shards of an index (`write_index`).

    Raises
    ------
    UserError
        When there is no such file, or it is no dataset.
    """
    path = Path(path)
    if path.suffix != INDEX:
        return Dataset(path, (_mapped(path),))
    try:
        said = json.loads(path.read_bytes())["shards"]
        shards = [(path.parent / shard["file"], int(shard["positions"])) for shard in said]
    except FileNotFoundError:
        raise UserError(f"there is no index {path}; make it with `nnuelab data index`") from None
    except (ValueError, KeyError, TypeError) as error:
        told = f"{type(error).__name__}: {str(error)[:200]}"
        raise UserError(f"{path} is not an index of shards ({told}); make it again") from error
    mapped = [_mapped(place) for place, _ in shards]
    for (place, positions), records in zip(shards, mapped, strict=True):
        if len(records) != positions:
            raise UserError(
                f"{place} has {len(records):,} positions, {path} says {positions:,}: make the "
                "index again"
            )
    return Dataset(path, tuple(mapped))


def _mapped(path: Path) -> np.ndarray:
    try:
        records = np.load(path, mmap_mode="r")
    except FileNotFoundError:
        raise UserError(f"there is no dataset {path}; make it with `nnuelab label`") from None
    except (ValueError, EOFError, OSError, SyntaxError, tokenize.TokenError) as error:
        # The header is parsed as Python. Of what is no .npy at all, numpy says that it was pickled.
        reason = "it is not an .npy file" if "pickle" in str(error) else one_line(error)
        raise UserError(
            f"{path} is not a dataset, or cut off: {reason}; give one that `nnuelab label` made"
        ) from error
    if not isinstance(records, np.ndarray) or records.dtype != RECORD or records.ndim != 1:
        raise UserError(
            f"{path} is a numpy file, but not of this version's positions; make it again"
        )
    return records


def write_index(path: Path, shards: Sequence[Path]) -> Dataset:
    """Writes an index: several dataset files that are opened as one, in this order.

    It is JSON: ``shards``, each with its ``file`` (seen from the index), ``positions`` and
    ``sha256``; ``positions`` of all; ``content``, their `Dataset.content_hash`.

    Raises
    ------
    UserError
        When one is no dataset, or named twice.
    """
    if path.suffix != INDEX:
        raise UserError(f"{path}: the name of an index ends in {INDEX}")
    artifacts.check_apart(shards, [path])
    if (twice := artifacts.first_repeated(shards)) is not None:
        raise UserError(f"{twice} is given twice; name it once")
    opened = Dataset(path, tuple(_mapped(shard) for shard in shards))
    found = [
        {
            "file": os.path.relpath(shard, path.parent),
            "positions": len(records),
            "sha256": artifacts.sha256(shard),
        }
        for shard, records in zip(shards, opened.shards, strict=True)
    ]
    content = {"shards": found, "positions": len(opened), "content": opened.content_hash()}
    artifacts.write_json(path, content)
    return opened


class Writer:
    """Appends records to a ``.npy``, an open file, whose length is known only at the end."""

    def __init__(self, file: BinaryIO) -> None:
        self.count = 0
        self._file = file
        self._header()

    def _header(self) -> None:
        # numpy pads the header, so that the final one is as long as the first.
        np.lib.format.write_array_header_1_0(
            self._file,
            {"descr": RECORD.descr, "fortran_order": False, "shape": (self.count,)},
        )

    def append(self, records: np.ndarray) -> None:
        """Writes records behind those already there."""
        self._file.write(np.ascontiguousarray(records, RECORD).view(np.uint8).data)
        self.count += len(records)

    def close(self) -> None:
        """Completes the header."""
        self._file.seek(0)
        self._header()


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A `Writer` whose file appears at ``path`` only when the block succeeds."""
    with artifacts.atomic(path) as temporary, temporary.open("wb") as file:
        writer = Writer(file)
        yield writer
        writer.close()
