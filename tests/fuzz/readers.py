"""Readers on damaged files: ``python -m tests.fuzz.readers FOLDER SEED COUNT``.

Prints a line of JSON for each file of the folder: how many of COUNT damaged ones were refused in
one line and read, the growth of memory in MB, and the findings, each with its traceback; these
files stay. A crash leaves the last file, too: ``now.SUFFIX``.
"""

from __future__ import annotations

import json
import resource
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from nnuelab import params
from nnuelab.data import formats, validation
from nnuelab.errors import UserError, clipped
from nnuelab.hce import evaluation
from nnuelab.nnue import bullet
from nnuelab.nnue.netfile import STUDY_SHIFTS, read_net
from nnuelab.policy.policyfile import read_policy
from nnuelab.report.inspect import inspect
from nnuelab.settings.games import Games
from nnuelab.tournament.headers import read_results
from nnuelab.tournament.openings import Book
from nnuelab.tournament.players import PATIENCE, Defaults, read_players
from nnuelab.tournament.puzzles import read as read_puzzles

FINDINGS = 5  # after which it ends
LONGEST_MESSAGE = 20_000
TOKENS = (
    *(b"\0", b"\xff" * 8, b"\n", b"\r\n", b"\x1b[31m", b'"', b"'", b",", b"[" * 200, b"{" * 200),
    *(b"-1", b"0", b"nan", b"inf", b"1e400", b"9" * 40, b"\xef\xbb\xbf", b"&a [*a]", b"x" * 5000),
    *(b"8/8/8/8/8/8/8/8 w - - 0 1", b"[Event", b"1-0", b"0000", b"e7e8q", b"--", b" { ( "),
)


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """A file with one or more damages."""
    data = bytearray(content)
    for _ in range(rng.geometric(0.6)):
        at = int(rng.integers(len(data) + 1))
        length = int(2 ** rng.uniform(0, 10))
        some = slice(at, at + length)
        match rng.integers(7):
            case 0:
                for place in rng.integers(max(len(data), 1), size=rng.integers(1, 9)):
                    if data:
                        data[place] ^= 1 << rng.integers(8)
            case 1:
                data[some] = bytes(len(data[some]))
            case 2:
                data[some] = rng.bytes(len(data[some]))
            case 3:
                del data[at:]
            case 4:
                del data[some]
            case 5:
                data[at:at] = data[some] * int(rng.integers(1, 4))
            case _:
                data[at:at] = TOKENS[rng.integers(len(TOKENS))]
    return bytes(data)


def _convert(path: Path) -> None:
    for most in (0, 10**9):
        try:
            formats.convert(path, path.with_name("converted.npy"), most)
        except UserError:
            if most:
                raise


def _dataset(path: Path) -> None:
    for chunk in validation.chunks(path):
        assert len(chunk) > 0


def _players(path: Path) -> None:
    read_players(path, [], Defaults({"nodes": 10}, Games().hash, PATIENCE, None))


def _settings(path: Path) -> None:
    params.read("params.yaml", [path])


# By suffixes of files: what reads them, beside `inspect`.
READERS: dict[str, list[Callable[[Path], object]]] = {
    ".npy": [_dataset, _convert],
    ".binpack": [_convert],
    ".bf": [_convert],
    ".plain": [_convert],
    ".epd": [_convert, Book],
    ".fen": [_convert],
    ".positions.csv": [_convert],
    ".puzzles.csv": [read_puzzles],
    ".pgn": [lambda path: read_results([path]), Book],
    ".nnue": [read_net],
    ".nn": [read_net],
    ".bin": [lambda path: bullet.read(path, 8, STUDY_SHIFTS)],
    ".policy": [read_policy],
    ".settings.yaml": [_settings],
    ".players.yaml": [_players],
    ".evaluation.yaml": [evaluation.read],
    ".table.csv": [],
    ".history.csv": [],
    ".json": [],
}


def suffix_of(path: Path) -> str:
    """The kind of a file."""
    return "".join(path.suffixes)


def tried(path: Path, seed: int, count: int) -> dict[str, object]:
    """Damages a file ``count`` times and reads what comes of it."""
    content = path.read_bytes()
    # The sound file first: it warms up what is compiled, and has to be read.
    readers = [*READERS[suffix_of(path)], inspect]
    findings: list[str] = []
    sound: Counter[str] = Counter()
    for read in readers:
        _attempt(read, path, sound, findings)
    assert not findings, findings
    assert sound["read"], f"{path} is sound, and nothing reads it"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rng = np.random.default_rng(seed)
    now = path.with_name(f"now{suffix_of(path)}")
    ends = Counter(read=0, refused=0)
    for number in range(count):
        now.write_bytes(mutated(rng, content))
        for read in readers:
            if not _attempt(read, now, ends, findings):
                now.replace(path.with_name(f"found-{number}{suffix_of(path)}"))
                break
        if len(findings) >= FINDINGS:
            break
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024
    return {"kind": suffix_of(path), **ends, "grown_mb": grown, "findings": findings}


def _attempt(
    read: Callable[[Path], object], path: Path, ends: Counter[str], findings: list[str]
) -> bool:
    try:
        read(path)
        ends["read"] += 1
        return True
    except UserError as error:
        said = str(error)
        ends["refused"] += 1
        if len(clipped(said.split("\n")[0])) and len(said) < LONGEST_MESSAGE:
            return True
        findings.append(f"a message of {len(said)} characters: {said[:300]}")
    except Exception:
        findings.append(traceback.format_exc(limit=-4))
    return False


if __name__ == "__main__":
    for kind in READERS:
        file = Path(sys.argv[1], f"a{kind}")
        print(json.dumps(tried(file, int(sys.argv[2]), int(sys.argv[3]))), flush=True)
