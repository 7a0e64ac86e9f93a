"""What is in the journal survives a kill; what is of another run, or half a line, doesn't."""

from __future__ import annotations

import binascii
import hashlib
import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.data import journal as journals
from nnuelab.data.journal import Journal
from nnuelab.errors import UserError

DEEP = b"[" * 100_000 + b"\n"


def line_of(entry: object, before: bytes) -> bytes:
    """The twin: the entry with a CRC-32 of the first line and all entries up to it."""
    head, *lines = before.splitlines(keepends=True)
    entries = [json.dumps(json.loads(line)[1]).encode() for line in lines]
    text = json.dumps(entry)
    check = binascii.crc32(head + b"".join(entries) + text.encode())
    return f'["{check:08x}", {text}]\n'.encode()


def test_a_line_that_a_kill_cut_off_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path, {"id": 1}) as journal:
        journal.append({"pair": 3})
        journal.append([1])
    whole = path.read_bytes()
    for half in (b'{"pair": 2, "games": ["half', b'{"pair": 2, "ga\n', b"\0\0\0\n", DEEP):
        path.write_bytes(whole + half)
        with Journal(path, {"id": 1}) as journal:
            assert list(journal) == [{"pair": 3}, [1]]
            journal.append("more")
            assert journal[0] == {"pair": 3}
            assert journal[2] == "more"
        assert path.read_bytes() == whole + line_of("more", whole)


@given(entries=st.lists(st.text(max_size=5) | st.integers(), max_size=6), data=st.data())
def test_of_a_damaged_one_the_entries_before_the_damage_are_kept(
    tmp_path_factory: pytest.TempPathFactory, entries: list[object], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "j"
    with Journal(path, {"id": 1}) as journal:
        for entry in entries:
            journal.append(entry)
    head, *lines = path.read_bytes().splitlines(keepends=True)
    moved = data.draw(st.permutations(lines))[: data.draw(st.integers(0, len(lines)))]
    body = bytearray(b"".join(moved))
    for place in data.draw(st.lists(st.integers(0, max(len(body) - 1, 0)), max_size=2)):
        body[place:place] = data.draw(st.binary(max_size=3))
    path.write_bytes(head + body)
    with Journal(path, {"id": 1}) as journal:
        kept = list(journal)
    assert kept == entries[: len(kept)]
    whole = head + b"".join(lines[: len(kept)])
    assert path.read_bytes() == whole
    # No more was dropped than had to be.
    assert not len(kept) < len(lines) or not (head + body).startswith(whole + lines[len(kept)])


def test_damage_is_told(tmp_path: Path, capsys) -> None:
    path = tmp_path / "j"
    with Journal(path, {}) as journal:
        journal.append(17)
        journal.append(18)
    damaged = path.read_bytes().replace(b"18", b"19")
    path.write_bytes(damaged)
    with Journal(path, {}) as journal:
        assert list(journal) == [17]
    assert "is damaged, or of an earlier version, behind entry 1; it" in capsys.readouterr().err
    assert path.with_name("j.old").read_bytes() == damaged


@pytest.mark.parametrize("there", [b'{"id": 1, "code": "b"}\n[1]\n', b"nonsense\n", b"[1]\n", DEEP])
def test_that_of_another_run_gives_way_and_says_so(tmp_path: Path, capsys, there: bytes) -> None:
    path = tmp_path / "j"
    path.write_bytes(there)
    with Journal(path, {"id": 1, "code": "a"}) as journal:
        assert list(journal) == []
    assert json.loads(path.read_text()) == {"id": 1, "code": "a"}
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "run with other settings" in told
    assert path.with_name("j.old").read_bytes() == there
    assert "(code" in told


def test_names_of_another_run_are_printed_as_text(tmp_path: Path, capsys) -> None:
    path = tmp_path / "j"
    path.write_text(json.dumps({"\x1b[31m": 1}) + "\n")
    with Journal(path, {}) as journal:
        assert list(journal) == []
    assert "(\\x1b[31m)" in capsys.readouterr().err


def test_a_first_line_that_a_kill_cut_off_is_nothing(tmp_path: Path, capsys) -> None:
    path = tmp_path / "j"
    path.write_bytes(b'{"id"')
    with Journal(path, {"id": 1}) as journal:
        assert len(journal) == 0
    assert not capsys.readouterr().err


def test_a_full_disk_keeps_what_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(journals, "SYNC_INTERVAL", 0)
    path = tmp_path / "j"
    with Journal(path, {}) as journal:
        journal.append(1)
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(UserError, match="No space left"):
                journal.append(2)
    with Journal(path, {}) as journal:
        assert list(journal) == [1]


def test_a_file_that_can_not_be_opened_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"can't write .*directory"), Journal(tmp_path, {}):
        pass


@pytest.mark.parametrize("entries", [[], [1], ["a", {"b": [2]}]])
def test_a_part_has_a_checksum(tmp_path: Path, entries: list[object]) -> None:
    path = tmp_path / "part"
    with Journal(tmp_path / "j", {"id": 1}) as journal:
        for entry in entries:
            journal.append(entry)
        with open(path, "wb") as file:
            journal.write(file, range(len(entries)))
        assert list(journal.entries_of(path)) == entries
        whole = path.read_bytes()
        lines = whole.splitlines(keepends=True)
        for place in range(len(lines[0]), len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            with pytest.raises(UserError, match="damaged, or of an earlier version"):
                next(journal.entries_of(path))
        for other in (b"".join(lines[:-1]), whole[:-1], whole + lines[-1], lines[0], whole + DEEP):
            path.write_bytes(other)
            with pytest.raises(UserError, match="damaged, or of an earlier version"):
                next(journal.entries_of(path))


def test_a_part_of_brackets_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "part"
    with Journal(tmp_path / "j", {"id": 1}) as journal:
        body = b'{"id": 1}\n' + DEEP
        path.write_bytes(body + f"{hashlib.sha256(body).hexdigest()}\n".encode())
        with pytest.raises(UserError, match="nested too deeply"):
            next(journal.entries_of(path))


def test_two_runs_do_not_write_one_journal(tmp_path: Path) -> None:
    path = tmp_path / "j"
    with Journal(path, {}) as journal:
        journal.append(1)
        with pytest.raises(UserError, match="j is in use"), Journal(path, {}):
            pass
        journal.append(2)
        assert list(journal) == [1, 2]
    with Journal(path, {}) as journal:
        assert list(journal) == [1, 2]
        journal.remove()
        with Journal(path, {}) as other:  # one of its own
            assert list(other) == []
