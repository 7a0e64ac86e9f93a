"""Dataset files: a ``.npy`` of RECORD, written as a stream, opened mapped into memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
            Only the first so many; FENs cost about 30 microseconds each.
        """
        import pandas as pd

        from nnuelab.chess import notation
        from nnuelab.data.records import to_fen

        part = self.records[:limit]
        frame = pd.DataFrame({name: part[name] for name in ("score", "result", "ply", "game")})
        frame.insert(0, "fen", [to_fen(record) for record in part])
        frame["move"] = [notation.move_to_uci(int(move)) for move in part["move"]]
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
    """Appends records to a ``.npy`` whose length is known only at the end."""

    def __init__(self, path: Path) -> None:
        self.count = 0
        self._file = path.open("wb")
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
        self._file.close()


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A `Writer` whose file appears at ``path`` when the block ends well, not at all otherwise."""
    with artifacts.atomic(path) as temporary:
        writer = Writer(temporary)
        try:
            yield writer
        finally:
            writer.close()
