"""Dataset files: a ``.npy`` of RECORD, written as a stream, opened mapped into memory.

Sets that are larger, or made month by month, are several files with an index. It may name files of
other formats, too, which are decoded as they are read (`encoded`), and how often each is seen.
"""

from __future__ import annotations

import hashlib
import os
import tokenize
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from nnuelab import artifacts, files, json_text
from nnuelab.data import encoded
from nnuelab.data.encoded import Encoded
from nnuelab.data.record_text import texts
from nnuelab.data.records import RECORD
from nnuelab.errors import UserError, one_line

if TYPE_CHECKING:
    import pandas as pd

INDEX = ".shards"
HASHED = 1 << 16  # records at once
SPACED = 256  # places that spaced positions are decoded from
MOST_OFTEN = 1000  # times that a position is seen, against those of weight 1
Scanned = Callable[[Path], Iterator[tuple[np.ndarray, np.ndarray]]]


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
    shards : tuple of ndarray of RECORD, or Encoded
        Read-only, mapped into memory; or decoded, slice by slice.
    weights : tuple of float
        How often training sees a position of each shard while it sees one of weight 1 once; none
        where all have that.
    content : str
        Of an index with encoded shards: its ``content_hash``.
    """

    path: Path
    shards: tuple[np.ndarray | Encoded, ...]
    weights: tuple[float, ...] = ()
    content: str = ""

    def __len__(self) -> int:
        return sum(map(len, self.shards))

    @property
    def records(self) -> np.ndarray:
        """RECORD [n]: all positions; those of several shards are copied into memory."""
        return self.shards[0][:] if len(self.shards) == 1 else np.concatenate([*self._all()])

    def _all(self) -> Iterator[np.ndarray]:
        return (shard[:] for shard in self.shards)

    @property
    def is_mapped(self) -> bool:
        """Whether all of it is mapped into memory."""
        return not any(isinstance(shard, Encoded) for shard in self.shards)

    def parts(self, start: int, stop: int) -> Iterator[np.ndarray]:
        """The positions from ``start`` to ``stop`` as pieces of shards, none of them copied."""
        for shard in self.shards:
            if max(start, 0) < min(stop, len(shard)):
                yield shard[max(start, 0) : stop]
            start, stop = start - len(shard), stop - len(shard)

    @property
    def is_decoded(self) -> bool:
        """Whether all of it is decoded: what a codec gives is a position."""
        return all(isinstance(shard, Encoded) for shard in self.shards)

    def spaced(self, most: int) -> np.ndarray:
        """RECORD: copies of up to ``most`` positions, evenly spaced.

        They are read one by one: all pages of a mapped file that are touched count as memory of
        this process, and of a large file that would be most of it. Where blocks have to be decoded
        for them, they come from up to SPACED places, evenly spaced.
        """
        wanted = evenly(len(self), most)
        if not self.is_mapped and most > SPACED:
            each = -(-len(wanted) // SPACED)
            first = evenly(max(len(self) - each, 0) + 1, SPACED)
            wanted = np.unique(first[:, None] + np.arange(min(each, len(self))))[:most]
        found, start, stop = np.empty(len(wanted), RECORD), 0, 0
        for shard in self.shards:
            stop += len(shard)
            if isinstance(shard, Encoded):
                here = np.flatnonzero((wanted >= start) & (wanted < stop))
                found[here] = shard.at(wanted[here] - start)
                start = stop
                continue
            assert isinstance(shard, np.memmap)
            assert shard.filename is not None
            with Path(shard.filename).open("rb", buffering=0) as file:
                for i in np.flatnonzero((wanted >= start) & (wanted < stop)):
                    file.seek(shard.offset + (int(wanted[i]) - start) * RECORD.itemsize)
                    file.readinto(found[i : i + 1].view(np.uint8).data)
            start = stop
        return found

    def content_hash(self) -> str:
        """SHA-256 of the records' bytes, however many shards they lie in: the id of the data."""
        if self.content and not self.is_mapped:
            return self.content
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
    if encoded.is_encoded(path):
        raise UserError(f"{path} needs an index: nnuelab data index {path} --output FILE{INDEX}")
    if path.suffix != INDEX:
        return Dataset(path, (_mapped(path),))
    try:
        index = json_text.load(files.content(path))
        said = index["shards"]
        places = [path.parent / shard["file"] for shard in said]
        counts = [int(shard["positions"]) for shard in said]
        tables = [_table(shard) for shard in said]
        weights = [_weight(shard.get("weight", 1)) for shard in said]
    except FileNotFoundError:
        raise UserError(f"there is no index {path}; make it with `nnuelab data index`") from None
    except OSError as error:
        raise UserError(f"can't read the index {path}: {error.strerror}; name a file") from error
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        told = f"{type(error).__name__}: {str(error)[:200]}"
        raise UserError(f"{path} is not an index of shards ({told}); make it again") from error
    shards = [
        _mapped(place) if table is None else _encoded(place, *table)
        for place, table in zip(places, tables, strict=True)
    ]
    for place, positions, records in zip(places, counts, shards, strict=True):
        if len(records) != positions:
            raise UserError(
                f"{place} has {len(records):,} positions, {path} says {positions:,}: make the "
                "index again"
            )
    own = weights if any(weight != 1 for weight in weights) else []
    return Dataset(path, tuple(shards), tuple(own), str(index.get("content", "")))


def _table(shard: dict[str, Any]) -> tuple[np.ndarray, int] | None:
    """The blocks of an encoded shard and the bytes of its file, as the index has them."""
    if "blocks" not in shard:
        return None
    size = int(shard["bytes"])
    return encoded.from_text(shard["blocks"], size), size


def _weight(value: float) -> float:
    if not 0 < value <= MOST_OFTEN:
        raise ValueError(f"a weight is from 0, exclusive, to {MOST_OFTEN}, not {value!r:.20}")
    return float(value)


def _encoded(path: Path, blocks: np.ndarray, size: int) -> Encoded:
    if not encoded.is_encoded(path):
        raise UserError(f"{path}: the index has blocks of it, which this format has not")
    try:
        found = path.stat().st_size
    except (OSError, ValueError) as error:  # ValueError: no name at all
        raise UserError(f"can't read {path}: {one_line(error)}; check its name") from error
    if found != size:
        raise UserError(f"{path} has {found:,} bytes, not {size:,}: {encoded.CHANGED}")
    return Encoded(path, blocks)


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


def write_index(
    path: Path,
    shards: Sequence[Path],
    weights: Sequence[float] = (),
    scanned: Scanned = encoded.scan,
) -> Dataset:
    """Writes an index: several files of positions that are opened as one dataset, in this order.

    It is JSON: ``shards``, each with its ``file`` (seen from the index), ``positions`` and
    ``sha256``, if not 1 its ``weight``, and if it is no .npy its ``bytes`` and ``blocks``;
    ``positions`` of all; ``content``, their `Dataset.content_hash`.

    Parameters
    ----------
    path : Path
    shards : sequence of Path
    weights : sequence of float, optional
        Of each.
    scanned : function
        What lays out the blocks of a file that is no .npy, and gives their records.

    Raises
    ------
    UserError
        When one has no positions, or is named twice, or a weight isn't positive.
    """
    if path.suffix != INDEX:
        raise UserError(f"{path}: the name of an index ends in {INDEX}")
    artifacts.check_apart(shards, [path])
    if (twice := artifacts.first_repeated(shards)) is not None:
        raise UserError(f"{twice} is given twice; name it once")
    content, found = hashlib.sha256(), list[dict[str, Any]]()
    for shard, weight in zip(shards, weights or [1.0] * len(shards), strict=True):
        try:
            told = {} if _weight(weight) == 1 else {"weight": weight}
        except ValueError as error:
            raise UserError(f"{shard}: {error}; leave out a file that isn't wanted") from error
        place = {"file": os.path.relpath(shard, path.parent)}
        if encoded.is_encoded(shard):
            laid_out = _laid_out(shard, content, scanned)
        else:
            records = _mapped(shard)
            laid_out = {"positions": len(records)}
            for begin in range(0, len(records), HASHED):
                content.update(np.ascontiguousarray(records[begin : begin + HASHED]).data)
        found.append({**place, **laid_out, "sha256": artifacts.sha256(shard), **told})
    positions = sum(shard["positions"] for shard in found)
    whole = {"shards": found, "positions": positions, "content": content.hexdigest()}
    artifacts.write_json(path, whole)
    return open(path)


def _laid_out(shard: Path, content: Any, scanned: Scanned) -> dict[str, Any]:
    """What an index says of a file that is decoded; its records go to a hash."""
    size, blocks = shard.stat().st_size if shard.is_file() else 0, [np.empty(0, encoded.BLOCK)]
    for block, records in scanned(shard):
        blocks.append(block)
        content.update(records.data)
    table = np.concatenate(blocks)
    if not len(table):
        raise UserError(f"{shard} is held out as a whole; hold out a smaller share")
    positions = int(table["positions"].sum())
    return {"positions": positions, "bytes": size, "blocks": encoded.to_text(table)}


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
