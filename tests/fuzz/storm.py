"""Damaged files of every kind, for as long as there is: ``python -m tests.fuzz.storm MINUTES``.

Readers run in children, which a crash, a loop or a lack of memory ends: the file that did it is
kept in the folder of findings, and a new child goes on with the next. Rounds of the kinds take
turns until the time is over; a line of each kind at the end. ``NNUELAB_FUZZ_SEED`` asks for other
damages.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

from tests.fuzz import corpus
from tests.fuzz.readers import KINDS, MOST_MB, ROOT, damaged, read_all

SEED = int(os.environ.get("NNUELAB_FUZZ_SEED", 1))
PATIENCE = 90.0  # seconds for one file; the first may have to compile
ROUND = 100  # files of a kind
ENOUGH = 5  # findings of a kind, after which it is left out
# Forks of a process that has imported the readers, which takes longer than reading a few files.
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["tests.fuzz.readers"])


@dataclass
class Told:
    """What came of the damaged files of a kind."""

    read: int = 0
    refused: int = 0
    grown_mb: int = 0
    findings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def files(self) -> int:
        return self.read + self.refused + len(self.findings)

    def add(self, said: dict) -> None:
        self.read += said["read"]
        self.refused += said["refused"]
        self.grown_mb = max(self.grown_mb, said["grown_mb"])
        self.findings += [tuple(found) for found in said["findings"]]


def tried(folder: Path, kind: str, seed: int, first: int, last: int) -> Told:
    """Reads damaged files of the corpus in ``folder``, in a child as long as it lives."""
    told = Told()
    while first < last:
        with tempfile.TemporaryDirectory() as scratch:
            number, end = _followed(told, folder, Path(scratch), kind, seed, first, last)
            errors = Path(scratch, "errors").read_text(errors="replace")[-1000:]
        if end is None:
            break
        if number < first:
            raise AssertionError(f"the sound {kind}: {end} {errors}")
        # Files before it were read or refused; what was found among them is found again.
        if number > first:
            before = tried(folder, kind, seed, first, number)
            told.add(vars(before))
        told.findings.append((number, f"{end} {errors}".strip()))
        first = number + 1
    return told


def _followed(told: Told, folder: Path, scratch: Path, *words: object) -> tuple[int, str | None]:
    """The last file that a child has begun, and how it ended before its end."""
    here, there = CHILDREN.Pipe(duplex=False)
    child = CHILDREN.Process(target=read_all, args=(there, folder, scratch, *words))
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
    with patch.dict(os.environ, PYTHONPATH=paths, MALLOC_ARENA_MAX="2"):
        child.start()
    there.close()
    number = -(10**9)
    try:
        while here.poll(PATIENCE):
            said = here.recv()
            if isinstance(said, dict):
                told.add(said)
                return number, None
            number = said
        return number, f"no end within {PATIENCE:g} s"
    except EOFError:
        child.join()
        return number, f"exit status {child.exitcode}"
    finally:
        child.kill()
        child.join()


def storm(folder: Path, seconds: float, seed: int, kinds: list[str]) -> dict[str, Told]:
    """Rounds of all kinds until the time is over; files that are findings are kept."""
    place, kept = folder / "corpus", folder / "findings"
    if not place.is_dir():
        with tempfile.TemporaryDirectory() as scratch:
            corpus.make(place, Path(scratch))
    kept.mkdir(exist_ok=True)
    told = {kind: Told() for kind in kinds}
    end, first = time.monotonic() + seconds, 1
    while time.monotonic() < end:
        for kind in kinds:
            if time.monotonic() >= end or len(told[kind].findings) >= ENOUGH:
                continue
            found = tried(place, kind, seed, first, first + ROUND)
            told[kind].add(vars(found))
            for number, why in found.findings:
                file = kept / f"{seed}-{number}.{kind}"
                file.write_bytes(damaged(place, kind, seed, number))
                print(f"{file}: {why}", file=sys.stderr, flush=True)
        first += ROUND
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("minutes", type=float)
    parser.add_argument(
        "--folder", type=Path, help="of corpus, which stays, and findings; default: a new one"
    )
    parser.add_argument("--kinds", nargs="*", default=list(KINDS), choices=KINDS)
    chosen = parser.parse_args()
    folder = chosen.folder or Path(tempfile.mkdtemp(prefix="nnuelab-storm-"))
    told = storm(folder, 60 * chosen.minutes, SEED, chosen.kinds)
    print(f"{'kind':18}{'files':>8}{'refused':>9}{'read':>8}{'MB':>6}{'findings':>10}")
    for kind, row in told.items():
        numbers = (row.files, row.refused, row.read, row.grown_mb, len(row.findings))
        print(f"{kind:18}{'{:8}{:9}{:8}{:6}{:10}'.format(*numbers)}")
    bad = [kind for kind, row in told.items() if row.findings or row.grown_mb >= MOST_MB]
    if bad:
        sys.exit(f"findings among {', '.join(bad)}: see {folder / 'findings'}")


if __name__ == "__main__":
    main()
