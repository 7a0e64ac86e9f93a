"""Which format a position file has, by its suffix, and conversion from one to another."""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np
import zstandard

from nnuelab import artifacts, files
from nnuelab.data import dataset
from nnuelab.data.formats import binpack, bulletformat, lichess, plain, texts
from nnuelab.data.unusable import Unusable
from nnuelab.data.validation import check
from nnuelab.errors import UserError
from nnuelab.progress import Progress

Read = Callable[[Path, Unusable], Iterator[np.ndarray]]
Write = Callable[[BinaryIO, Iterable[np.ndarray], Counter[str]], None]
BATCH = 1 << 16  # records of a dataset that are read at once


def _read_dataset(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    opened = dataset.open(path)
    for start in range(0, len(opened), BATCH):
        for part in opened.parts(start, start + BATCH):
            records = np.array(part)
            check(records, path)
            yield records


def _write_dataset(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    writer = dataset.Writer(file)
    for batch in batches:
        writer.append(batch)
    writer.close()


@dataclass(frozen=True)
class Format:
    """Reader and writer of a kind of file; ``whose`` describes it.

    Text may be compressed as a whole: .zst, .gz, to be read also .bz2.
    """

    whose: str
    read: Read
    write: Write | None  # None: it is read only
    is_text: bool = True


FORMATS = {
    ".npy": Format("this project's", _read_dataset, _write_dataset, is_text=False),
    ".shards": Format("an index of them", _read_dataset, None, is_text=False),
    ".binpack": Format("Stockfish's", binpack.read, binpack.write, is_text=False),
    ".bf": Format("bulletformat", bulletformat.read, bulletformat.write, is_text=False),
    ".plain": Format("Stockfish's text", plain.read, plain.write),
    ".csv": Format("columns", texts.read_csv, texts.write_csv),
    ".epd": Format("EPD", texts.read_lines, texts.write_epd),
    ".fen": Format("FEN | score | result", texts.read_lines, texts.write_fen),
    ".jsonl": Format("Lichess' evaluations", lichess.read, None),
}
COMPRESSED = (".zst", ".gz", ".bz2")


def of(path: Path) -> Format:
    """The format of a file, by its suffix.

    Raises
    ------
    UserError
        When there is none.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes.pop() if suffixes and suffixes[-1] in COMPRESSED else ""
    found = FORMATS.get(suffixes[-1] if suffixes else "")
    if found is None:
        known = ", ".join(f"{suffix} ({kind.whose})" for suffix, kind in FORMATS.items())
        raise UserError(
            f"{path}: the name of a position file ends in {known}; positions come from "
            "games (.pgn) with `nnuelab sample`"
        )
    if packed and not found.is_text:
        raise UserError(f"{path}: only text formats may be compressed; unpack it first")
    return found


def convert(
    source: Path, output: Path, max_unusable: int = 0
) -> tuple[int, Unusable, Counter[str]]:
    """Converts the positions of one file to another, by their suffixes.

    Parameters
    ----------
    source, output : Path
    max_unusable : int
        Lines (or chunks) that may be left out because they can't be used.

    Returns
    -------
    written : int
        Positions.
    unusable : Unusable
    left_out : Counter
        Positions that the format of ``output`` can't hold, by reason.

    Raises
    ------
    UserError
        When the source is missing or damaged, too much of it is unusable, or nothing is left; no
        output is written then.
    """
    kind, write = of(source), of(output).write
    if write is None:
        writable = ", ".join(suffix for suffix, kind in FORMATS.items() if kind.write)
        raise UserError(
            f"{output} can't be written, only {writable} (an index: `nnuelab data index`)"
        )
    files.check(source)
    artifacts.check_apart([source], [output])
    unusable, left_out = Unusable(source, max_unusable), Counter[str]()
    count = 0
    with Progress(None, "positions", "convert") as progress:

        def counted() -> Iterator[np.ndarray]:
            nonlocal count
            for batch in kind.read(source, unusable):
                count += len(batch)
                progress.advance(len(batch))
                yield batch

        with artifacts.atomic(output) as temporary:
            with _written(temporary, output.suffix.lower()) as file:
                write(file, counted(), left_out)
            left_out = +left_out
            written = count - left_out.total()
            if not written:
                reasons = [unusable.summary()] if unusable.count else []
                reasons += [f"{n:,} {what}" for what, n in left_out.items()]
                reason = "; ".join(reasons) or "it is empty"
                raise UserError(f"{source} has no position that {output} can hold: {reason}")
    artifacts.provenance(
        output,
        inputs={"positions": source},
        parameters={"max_unusable": max_unusable},
        module="data.conversion",
        counts={
            "positions": written,
            "unusable": unusable.count,
            **{f"left out: {reason}": n for reason, n in left_out.items()},
        },
    )
    return written, unusable, left_out


@contextmanager
def _written(path: Path, suffix: str) -> Iterator[BinaryIO]:
    """A file to be written, compressed by the suffix of its name to be."""
    if suffix == ".bz2":
        raise UserError(".bz2 is read only; write .zst or .gz")
    with open(path, "wb") as raw:
        if suffix == ".zst":
            with zstandard.ZstdCompressor(level=10, write_checksum=True).stream_writer(raw) as file:
                yield file
        elif suffix == ".gz":
            # Without a name and a time of its own the file depends on its contents alone.
            with gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed:
                yield packed  # type: ignore[misc]
        else:
            yield raw
