"""This project's dataset, as one of the formats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nnuelab.data import dataset, soundness
from nnuelab.data.unusable import Unusable

BATCH = 1 << 16  # records


def read(path: Path, unusable: Unusable) -> Iterator[np.ndarray]:
    """The positions of a dataset; UserError where one is damaged."""
    opened = dataset.open(path)
    for start in range(0, len(opened), BATCH):
        for part in opened.parts(start, start + BATCH):
            records = np.array(part)
            soundness.check(records, path)
            yield records


def write(file: BinaryIO, batches: Iterable[np.ndarray], left_out: Counter[str]) -> None:
    """Writes a dataset."""
    writer = dataset.Writer(file)
    for batch in batches:
        writer.append(batch)
    writer.close()
