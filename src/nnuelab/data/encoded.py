"""Files of other formats as shards of a dataset: found by blocks, decoded when they are read.

A block is some thousand neighbours, of a .binpack whole chains. One pass over a file (`scan`) lays
out its blocks; from then on they are read from any place, by several threads at once, and a file
that has changed is noticed at the first block that has.
"""

from __future__ import annotations

import base64
import os
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import numpy as np

from nnuelab.data.formats import binpack, bulletformat, plain
from nnuelab.data.records import RECORD
from nnuelab.data.unusable import Unusable
from nnuelab.errors import UserError

FORMATS: dict[str, ModuleType] = {".binpack": binpack, ".bf": bulletformat, ".plain": plain}
POSITIONS = 1 << 12  # of a block, or a few more
MOST = 1 << 17  # positions of a block: the longest chain of a .binpack has half as many
LARGEST = 1 << 26  # bytes of a block
BLOCK = np.dtype(
    [
        ("place", "<u8"),  # in the file
        ("bytes", "<u4"),
        ("positions", "<u4"),
        ("game", "<u4"),  # number of its first one
        ("crc", "<u4"),  # CRC-32 of its bytes
    ]
)
"""24 bytes: where a block is, and what is in it."""
CHANGED = "the file isn't what it was when it was indexed; run `nnuelab data index` again"


@dataclass(frozen=True)
class Encoded:
    """Positions of a file, by place: a slice is an array of RECORD, decoded anew each time.

    Attributes
    ----------
    path : Path
    blocks : ndarray of BLOCK [n]
    """

    path: Path
    blocks: np.ndarray

    @cached_property
    def starts(self) -> np.ndarray:
        """int64 [n + 1]: the first position of each block, and their number."""
        return np.concatenate([[0], np.cumsum(self.blocks["positions"], dtype=np.int64)])

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, chosen: slice) -> np.ndarray:
        start, stop, _ = chosen.indices(len(self))
        first = max(int(np.searchsorted(self.starts, start, "right")) - 1, 0)
        last = int(np.searchsorted(self.starts, stop))
        found = [self._decoded(number) for number in range(first, last)]
        whole = found[0] if len(found) == 1 else np.concatenate([np.empty(0, RECORD), *found])
        skipped = start - int(self.starts[first])
        return whole[skipped : skipped + max(stop - start, 0)]

    def at(self, places: np.ndarray) -> np.ndarray:
        """RECORD [n]: the positions of some places (int64 [n], ascending), each block read once."""
        found = np.empty(len(places), RECORD)
        of = np.searchsorted(self.starts, places, "right") - 1
        for number in np.unique(of):
            here = of == number
            found[here] = self._decoded(number)[places[here] - self.starts[number]]
        return found

    def _decoded(self, number: int) -> np.ndarray:
        block = self.blocks[number]
        place, size = int(block["place"]), int(block["bytes"])
        content = os.pread(self._file.fileno(), size, place)
        if len(content) < size or zlib.crc32(content) != block["crc"]:
            raise UserError(f"{self.path}: from byte {place} on {CHANGED}")
        kind = FORMATS[self.path.suffix.lower()]
        records: np.ndarray = kind.decode(np.frombuffer(content, np.uint8), int(block["positions"]))
        if len(records) != block["positions"]:
            raise UserError(f"{self.path}: from byte {place} on {CHANGED}")
        records["game"] += block["game"]
        return records

    @cached_property
    def _file(self) -> BinaryIO:
        """Read by all threads, each from its own place."""
        try:
            return open(self.path, "rb", buffering=0)
        except OSError as error:
            raise UserError(f"can't read {self.path}: {error.strerror or error}") from error


def is_encoded(path: Path) -> bool:
    """Whether a file is of a format that is read by blocks."""
    return path.suffix.lower() in FORMATS


def scan(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Reads a file once, block by block.

    Yields
    ------
    block : ndarray of BLOCK [1]
    records : ndarray of RECORD [n]

    Raises
    ------
    UserError
        When the file is missing, empty, damaged, or has anything that can't be used.
    """
    unusable = Unusable(path, 1 << 62)
    found = False
    try:
        for place, content, records in FORMATS[path.suffix.lower()].blocks(
            path, POSITIONS, unusable
        ):
            if unusable.count:
                break
            if not len(records):
                continue
            if len(content) > LARGEST:
                raise UserError(f"{path}: {len(records):,} positions have {len(content):,} bytes")
            found = True
            yield _block(place, content, records), records
    except OSError as error:
        raise UserError(f"can't read {path}: {error.strerror or error}; check its name") from error
    if unusable.count:
        raise UserError(
            f"{path} has something else than positions: {unusable.summary()}; "
            "`nnuelab data convert --max-unusable` leaves it out"
        )
    if not found:
        raise UserError(f"{path} has no positions; leave it out")


def _block(place: int, content: np.ndarray, records: np.ndarray) -> np.ndarray:
    size, game = len(content), int(records["game"][0])
    return np.array([(place, size, len(records), game, zlib.crc32(content.data))], BLOCK)


def to_text(blocks: np.ndarray) -> str:
    """A table of blocks for JSON: its bytes in base64."""
    return base64.b64encode(blocks.tobytes()).decode()


def from_text(text: str, size: int) -> np.ndarray:
    """BLOCK [n]: the table that `to_text` wrote, of a file with ``size`` bytes.

    Raises
    ------
    ValueError
        When it is none.
    """
    blocks = np.frombuffer(base64.b64decode(text, validate=True), BLOCK)
    inside = (blocks["place"] <= size) & (blocks["place"] + blocks["bytes"] <= size)
    if not (inside & (blocks["positions"] <= MOST) & (blocks["bytes"] <= LARGEST)).all():
        raise ValueError("its blocks are beyond the file")
    return blocks
