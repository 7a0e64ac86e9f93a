"""Lines of files of text: those of Python, in time and memory as their length, up to a bound."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab import files
from nnuelab.data import pgn, streams
from nnuelab.errors import UserError

PIECES = st.sampled_from([b"a", b"bc", b"\r", b"\n", b"\r\n", b"\n\n", b"x" * 40])
MEMORY = 512 << 20  # bytes: an old pattern took 1.3 GB for this tag


@given(st.lists(PIECES).map(b"".join), st.integers(1, 9))
def test_lines_are_those_of_python_wherever_blocks_end(
    tmp_path_factory: pytest.TempPathFactory, text: bytes, block: int
) -> None:
    path = tmp_path_factory.mktemp("lines") / "text"
    path.write_bytes(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "BLOCK", block)
        assert list(streams.lines(path)) == text.splitlines(keepends=True)


def test_a_line_is_not_copied_for_every_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 250,000 blocks; each copied anew would take minutes."""
    path = tmp_path / "text"
    path.write_bytes(b"x" * 4_000_000)
    monkeypatch.setattr(streams, "BLOCK", 16)
    assert [len(line) for line in streams.lines(path)] == [4_000_000]


def test_a_line_without_end_is_told_before_it_fills_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(b"first\n" + bytes(10 * files.LONGEST_LINE)))
    read = 0

    def counted(path: Path) -> Iterator[bytes]:
        nonlocal read
        for block in blocks(path):
            read += len(block)
            yield block

    blocks = streams.blocks
    monkeypatch.setattr(streams, "blocks", counted)
    found = streams.lines(path)
    assert next(found) == b"first\n"
    with pytest.raises(UserError, match=r"text.gz has a line of more than 16 MB"):
        next(found)
    assert read <= 2.1 * files.LONGEST_LINE


# The peak of ru_maxrss would be that of the tests: it outlives exec.
READ = """
import re, sys
from pathlib import Path
from nnuelab.data import pgn
(tags, _), = pgn.games(sys.argv[1])
peak = re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]
print(len(tags["Event"]), int(peak) << 10)
"""


def test_a_long_tag_takes_memory_as_its_length(tmp_path: Path) -> None:
    path = tmp_path / "long.pgn"
    path.write_text(f'[Event "{"x" * 8_000_000}"]\n\n1. e4 *\n')
    done = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, check=True)
    length, memory = map(int, done.stdout.split())
    assert length == 8_000_000
    assert memory < MEMORY


@given(st.text(st.sampled_from('a"\\ ]'), max_size=12))
def test_tags_are_read_as_by_a_plain_pattern(value: str) -> None:
    plain = re.compile(rb'\s*\[\s*(\w+)\s+"((?:[^"\\]|\\.)*)"\s*\]')
    line = f'[Event "{value}"]'.encode()
    found, wanted = pgn._TAG.match(line), plain.match(line)
    assert (found and found.groups()) == (wanted and wanted.groups())
