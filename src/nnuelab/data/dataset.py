"""Dataset files: a ``.npy`` of RECORD, written as a stream, opened mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from nnuelab import artifacts
from nnuelab.data.records import RECORD
from nnuelab.errors import UserError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Dataset:
    """Positions of one file.

    Attributes
    ----------
    path : Path
    records : ndarray of RECORD [n], read-only, mapped into memory
    """

    path: Path
    records: np.ndarray

    def __len__(self) -> int:
        return len(self.records)

    def to_pandas(self, limit: int | None = None) -> pd.DataFrame:
        """The positions in readable columns: fen, score, result, ply, game, move (UCI).

        Parameters
        ----------
        limit : int, optional
            Only the first so many; each costs about a microsecond.
        """
        import pandas as pd

        from nnuelab.data.formats import rows

        part = self.records[:limit]
        fens, moves = rows.texts(part)
        frame = pd.DataFrame({name: part[name] for name in ("score", "result", "ply", "game")})
        frame.insert(0, "fen", [fen.decode() for fen in fens])
        frame["move"] = [move.decode() for move in moves]
        return frame


def open(path: Path | str) -> Dataset:
    """Opens a dataset file.

    Raises
    ------
    UserError
        When there is no such file, or it is no dataset.
    """
    path = Path(path)
    try:
        records = np.load(path, mmap_mode="r")
    except FileNotFoundError:
        raise UserError(f"there is no dataset {path}; make it with `nnuelab label`") from None
    except (ValueError, EOFError, OSError) as error:
        raise UserError(f"{path} is no dataset, or cut off: {error}; make it again") from error
    if not isinstance(records, np.ndarray) or records.dtype != RECORD or records.ndim != 1:
        raise UserError(
            f"{path} is a numpy file, but not of this version's positions; make it again"
        )
    return Dataset(path, records)


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
        self._file.write(np.ascontiguousarray(records, RECORD).tobytes())
        self.count += len(records)

    def close(self) -> None:
        """Completes the header."""
        self._file.seek(0)
        self._header()


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A `Writer` whose file appears at ``path`` when the block ends well, not at all otherwise."""
    with artifacts.atomic(path) as temporary, temporary.open("wb") as file:
        writer = Writer(file)
        yield writer
        writer.close()
