"""Brackets without end are a damaged file to all that read JSON, and no traceback."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from nnuelab import json_text
from nnuelab.data import dataset
from nnuelab.discovery import prices
from nnuelab.errors import UserError
from nnuelab.hce import trace
from nnuelab.report import crate, reading

DEEP = b"[" * 20_000 + b"]" * 20_000


def test_brackets_without_end_are_no_value() -> None:
    assert json_text.load("[1]") == json_text.load(b"[1]") == [1]
    for text in (DEEP, DEEP.decode(), b'{"":' * 20_000, "[", b"\xff"):
        with pytest.raises(ValueError):  # noqa: PT011 (whatever it says)
            json_text.load(text)


@pytest.mark.parametrize(
    ("name", "before", "read"),
    [
        ("a.shards", b"", dataset.open),
        ("a.trace", trace.MAGIC, trace.open),
        ("a.json", b"", reading.read_json),
    ],
)
def test_a_reader_tells_of_them_in_one_line(
    tmp_path: Path, name: str, before: bytes, read: Callable[[Path], object]
) -> None:
    path = tmp_path / name
    path.write_bytes(before + DEEP)
    with pytest.raises(UserError, match=name):
        read(path)


@pytest.mark.parametrize("depth", range(880, 1000))
def test_brackets_that_are_just_read_are_no_traceback_later(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"a":' + "[" * depth + "]" * depth + "}")
    with suppress(UserError):
        reading.read_json(path)


def test_a_record_of_brackets_is_none(tmp_path: Path) -> None:
    path = tmp_path / "costs.csv"
    path.write_text("a")
    path.with_name("costs.csv.json").write_bytes(DEEP)
    assert not prices._is_of(path, {}, 32)
    assert list(crate.recorded(tmp_path)) == []
