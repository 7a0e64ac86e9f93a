"""Files with the samples of some of the games, by one of several jobs.

A zip, so its bytes have checksums: the records as they are, and behind them a head, JSON.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from nnuelab import artifacts, json_text
from nnuelab.data import validation
from nnuelab.data.records import RECORD
from nnuelab.data.sample_counts import Sample
from nnuelab.parts import whole

ENDING = ".sample"
BLOCK = 1 << 16  # records at once
LARGEST_HEAD = 1 << 24  # bytes
HEAD, RECORDS = "head.json", "records"
WHAT = "part of samples"


class Writer:
    """Appends records to a part; its head comes last."""

    def __init__(self, archive: zipfile.ZipFile, records: IO[bytes]) -> None:
        self.count = 0
        self._archive, self._records = archive, records

    def append(self, records: np.ndarray) -> None:
        """Writes records (RECORD [n]) behind those already there."""
        self._records.write(np.ascontiguousarray(records, RECORD).view(np.uint8).data)
        self.count += len(records)

    def close(
        self, options: Mapping[str, Any], inputs: Sequence[Mapping[str, str]], sample: Sample
    ) -> None:
        """Completes the file with the attributes of a `Part`."""
        self._records.close()
        head = {"options": options, "inputs": inputs, **sample.to_json()}
        self._archive.writestr(_member(HEAD), json.dumps(head, sort_keys=True))


def _member(name: str) -> zipfile.ZipInfo:
    """One that doesn't know when it was made."""
    return zipfile.ZipInfo(name)


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """A `Writer`, to be closed, whose file appears at ``path`` only when the block succeeds."""
    artifacts.check_ending(path, "a part of the samples", ENDING)
    with (
        artifacts.atomic(path) as temporary,
        zipfile.ZipFile(temporary, "w") as archive,
        archive.open(_member(RECORDS), "w", force_zip64=True) as records,
    ):
        yield Writer(archive, records)


@dataclass(frozen=True)
class Part:
    """An open part.

    Attributes
    ----------
    path : Path
    options : dict
        Of the sampling.
    inputs : list of dict
        The files of its games, as provenance tells them.
    sample : Sample
    """

    path: Path
    options: dict[str, Any]
    inputs: list[dict[str, str]]
    sample: Sample
    _archive: zipfile.ZipFile

    def records(self) -> Iterator[np.ndarray]:
        """All samples in their order, as RECORD [up to BLOCK], with games numbered from 0.

        Raises
        ------
        UserError
            For damage, which may be found at the end only.
        """
        with whole(self.path, WHAT):
            member = self._archive.open(RECORDS)
        with member:
            while True:
                with whole(self.path, WHAT):
                    data = bytearray(member.read(BLOCK * RECORD.itemsize))
                    records = np.frombuffer(data, RECORD)
                if not len(records):
                    return
                validation.check(records, self.path)
                yield records


@contextmanager
def reading(path: Path) -> Iterator[Part]:
    """The part at ``path``; UserError where it is none, or damaged."""
    with ExitStack() as stack:
        with whole(path, WHAT):
            archive = stack.enter_context(zipfile.ZipFile(path))
            if archive.getinfo(HEAD).file_size > LARGEST_HEAD:
                raise ValueError("no head")
            head = json_text.load(archive.read(HEAD))
            inputs = [
                {key: str(file[key]) for key in ("path", "sha256")} for file in head["inputs"]
            ]
            part = Part(path, dict(head["options"]), inputs, Sample.of_json(head), archive)
        yield part
