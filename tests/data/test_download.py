"""Downloads arrive whole or not at all, whatever the server does."""

from __future__ import annotations

import fcntl
import hashlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pytest
import zstandard

from nnuelab.data import download, fetch
from nnuelab.errors import UserError

BODY = zstandard.compress(bytes(range(256)) * 4000, 1) + bytes(300_000)
CHECKSUM = hashlib.sha256(BODY).hexdigest()
NAME = "lichess_db_standard_rated_2013-01.pgn.zst"


class Handler(BaseHTTPRequestHandler):
    """Serves BODY with ranges, and misbehaves as told."""

    protocol_version = "HTTP/1.1"

    cuts: ClassVar[list[int]] = []  # the next answers end after so many bytes
    ranges = True
    checksum = CHECKSUM
    statuses: ClassVar[list[int]] = []  # of the next answers, before it works
    body = BODY
    version = '"1"'
    length = "told"  # or "chunked", "hidden"
    shift = 0  # ranges begin so many bytes late
    listed: ClassVar[list[int]] = []  # statuses of the next lists of checksums
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        kind = type(self)
        if self.path.endswith("sha256sums.txt"):
            status = kind.listed.pop(0) if kind.listed else 200
            return self._send(status, f"{kind.checksum}  {NAME}\n".encode())
        if not self.path.endswith((f"/standard/{NAME}", "/lichess_db_puzzle.csv.zst", "/b.epd")):
            return self._send(404, b"")
        wanted = self.headers.get("Range")
        kind.asked.append(wanted)
        if kind.statuses:
            return self._send(kind.statuses.pop(0), b"", {"Retry-After": "0"})
        same = self.headers.get("If-Range") in (None, kind.version)
        start = 0
        if wanted and kind.ranges and same:
            start = int(wanted.removeprefix("bytes=").rstrip("-")) + kind.shift
        if start >= len(kind.body):
            return self._send(416, b"", {"Content-Range": f"bytes */{len(kind.body)}"})
        cut = kind.cuts.pop(0) if kind.cuts else None
        headers = {"ETag": kind.version}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(kind.body) - 1}/{len(kind.body)}"
        return self._send(206 if start else 200, kind.body[start:], headers, cut)

    def _send(
        self, status: int, body: bytes, headers: dict | None = None, cut: int | None = None
    ) -> None:
        kind = type(self)
        self.send_response(status)
        length = kind.length if status == 200 and len(body) > 1000 else "told"
        if length == "told":
            self.send_header("Content-Length", str(len(body)))
        elif length == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            body = f"{len(body):x}\r\n".encode() + body + b"\r\n0\r\n\r\n"
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:cut])
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def server(monkeypatch) -> Iterator[tuple[str, type[Handler]]]:
    """Address and handler class of a local mirror."""
    monkeypatch.setattr(fetch, "PAUSE", 0.001)
    kind = type("Fresh", (Handler,), {"cuts": [], "asked": [], "statuses": [], "listed": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), kind) as mirror:
        threading.Thread(target=mirror.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{mirror.server_port}", kind
        mirror.shutdown()


def test_a_cut_connection_is_continued_where_it_stopped(server, tmp_path) -> None:
    mirror, kind = server
    kind.cuts[:] = [1000, 5000]
    output = tmp_path / "2013-01.pgn.zst"
    download.lichess("2013-01", output, mirror)
    assert output.read_bytes() == BODY
    assert kind.asked == [None, "bytes=1000-", "bytes=6000-"]
    assert json.loads((tmp_path / "2013-01.pgn.zst.json").read_text())["parameters"]["checked"]


def test_a_server_without_ranges_starts_over(server, tmp_path) -> None:
    mirror, kind = server
    kind.ranges, kind.cuts[:] = False, [1000]
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY


def _leave_part(tmp_path, mirror: str, content: bytes, version: str = '"1"') -> None:
    """What a killed run leaves behind."""
    (tmp_path / "games.pgn.zst.part").write_bytes(content)
    said = {"url": f"{mirror}/standard/{NAME}", "version": version}
    (tmp_path / "games.pgn.zst.part.json").write_text(json.dumps(said))


def test_a_whole_part_of_a_killed_run_is_taken(server, tmp_path) -> None:
    mirror, kind = server
    _leave_part(tmp_path, mirror, BODY)
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY
    assert kind.asked == [f"bytes={len(BODY)}-"]
    assert names(tmp_path) == ["games.pgn.zst", "games.pgn.zst.json"]


def test_a_part_of_another_version_is_thrown_away(server, tmp_path) -> None:
    mirror, kind = server
    _leave_part(tmp_path, mirror, BODY[:5000].swapcase(), version='"0"')
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY
    assert kind.asked == ["bytes=5000-"]


def test_a_part_of_another_address_is_thrown_away(server, tmp_path) -> None:
    mirror, kind = server
    _leave_part(tmp_path, mirror + "/elsewhere", b"abc")
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY
    assert kind.asked == [None]


def test_a_range_that_begins_elsewhere_is_not_appended(server, tmp_path) -> None:
    mirror, kind = server
    kind.shift, kind.cuts[:] = 7, [1000]
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY


def test_a_chunked_answer_is_whole_or_cut(server, tmp_path) -> None:
    mirror, kind = server
    kind.length, kind.cuts[:] = "chunked", [4000]
    kind.checksum = "none"
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY


def test_without_length_and_checksum_nobody_could_tell_the_whole(server, tmp_path) -> None:
    mirror, kind = server
    kind.length, kind.checksum = "hidden", "none"
    with pytest.raises(UserError, match="the file's length"):
        download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert names(tmp_path) == []
    kind.cuts[:] = [200_000]
    with pytest.raises(UserError, match="wrong SHA-256"):
        download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror, CHECKSUM)
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror, CHECKSUM)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY


def test_nothing_is_downloaded_twice(server, tmp_path) -> None:
    mirror, kind = server
    output = tmp_path / "games.pgn.zst"
    assert download.lichess("2013-01", output, mirror)
    assert not download.lichess("2013-01", output, mirror)
    assert len(kind.asked) == 1
    output.write_bytes(BODY[:-1])
    assert download.lichess("2013-01", output, mirror)
    assert output.read_bytes() == BODY


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(server, tmp_path, status: int) -> None:
    mirror, kind = server
    kind.statuses[:] = [status] * (fetch.ATTEMPTS - 1)
    kind.listed[:] = [status] * (fetch.ATTEMPTS - 1)
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    record = json.loads((tmp_path / "games.pgn.zst.json").read_text())
    assert record["parameters"]["checked"]


def test_a_server_may_say_when_to_come_back(server, tmp_path, monkeypatch) -> None:
    mirror, kind = server
    pauses: list[float] = []
    monkeypatch.setattr(fetch.time, "sleep", pauses.append)
    monkeypatch.setattr(fetch, "_asked_pause", lambda headers: 7.5)
    kind.statuses[:] = [429]
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert pauses == [7.5]


def test_a_list_of_checksums_that_can_not_be_read_is_no_missing_one(server, tmp_path) -> None:
    mirror, kind = server
    kind.listed[:] = [503] * fetch.ATTEMPTS
    with pytest.raises(UserError, match=r"sha256sums\.txt: 503"):
        download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    kind.listed[:] = [404]
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    record = json.loads((tmp_path / "games.pgn.zst.json").read_text())
    assert not record["parameters"]["checked"]


def test_the_bandwidth_is_limited(server, tmp_path) -> None:
    mirror, _ = server
    start = time.monotonic()
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror, max_rate=len(BODY) / 0.5e6)
    assert time.monotonic() - start > 0.4


def test_two_that_fetch_the_same_do_not_mix(server, tmp_path) -> None:
    mirror, _ = server
    part = tmp_path / "games.pgn.zst.part"
    with part.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(UserError, match="is in use"):
            download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert part.exists()


def test_puzzles_and_books_come_the_same_way(server, tmp_path) -> None:
    mirror, _ = server
    download.puzzles(tmp_path / "p.csv.zst", mirror)
    download.book("b.epd", tmp_path / "b.epd", mirror + "/some/books", CHECKSUM)
    assert (tmp_path / "p.csv.zst").read_bytes() == (tmp_path / "b.epd").read_bytes() == BODY
    with pytest.raises(UserError, match="doesn't name an opening book"):
        download.book("../b.epd", tmp_path / "b.epd", mirror)


def test_a_wrong_checksum_leaves_nothing(server, tmp_path) -> None:
    mirror, kind = server
    kind.checksum = "0" * 64
    with pytest.raises(UserError, match="wrong SHA-256"):
        download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "said",
    [
        '{"url": URL}',
        '{"url": URL, "version": 5}',
        '{"url": URL, "version": "a\\nb"}',
        '{"url": URL, "version": "\\u2190"}',
        '["url"]',
        "[" * 20_000,
    ],
)
def test_what_is_beside_a_part_may_be_damaged(server, tmp_path, said: str) -> None:
    mirror, kind = server
    (tmp_path / "games.pgn.zst.part").write_bytes(b"of something else")
    url = f'"{mirror}/standard/lichess_db_standard_rated_2013-01.pgn.zst"'
    (tmp_path / "games.pgn.zst.part.json").write_text(said.replace("URL", url))
    (tmp_path / "games.pgn.zst.json").write_text("[" * 20_000)
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY
    assert kind.asked == [None]


def test_a_connection_that_is_always_cut_is_no_file(server, tmp_path) -> None:
    mirror, kind = server
    kind.cuts[:] = [100, *[0] * fetch.ATTEMPTS]
    with pytest.raises(UserError, match="run again to resume"):
        download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert names(tmp_path) == ["games.pgn.zst.part", "games.pgn.zst.part.json"]
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert kind.asked[-1] == "bytes=100-"


@pytest.mark.parametrize(
    ("month", "status", "words"),
    [("2013-13", 200, "not a month"), ("2013-02", 200, "404"), ("2013-01", 503, "503")],
)
def test_what_can_not_be_had_is_one_line(server, tmp_path, month, status, words) -> None:
    mirror, kind = server
    kind.statuses[:] = [status] * (status != 200) * fetch.ATTEMPTS
    with pytest.raises(UserError, match=words):
        download.lichess(month, tmp_path / "games.pgn.zst", mirror)
    assert names(tmp_path) == []


def test_embedded_games_are_copied_only_when_their_checksum_is_right(tmp_path) -> None:
    source = tmp_path / "games.pgn.zst"
    source.write_bytes(BODY)
    record = tmp_path / "games.pgn.zst.json"
    record.write_text(json.dumps({"sha256": hashlib.sha256(BODY).hexdigest()}))
    download.embedded(tmp_path / "copy.pgn.zst", source)
    assert (tmp_path / "copy.pgn.zst").read_bytes() == BODY
    source.write_bytes(BODY[:-1])
    with pytest.raises(UserError, match="damaged"):
        download.embedded(tmp_path / "other.pgn.zst", source)
    assert not (tmp_path / "other.pgn.zst").exists()


def test_the_games_of_the_project_are_what_their_record_says(tmp_path) -> None:
    download.embedded(tmp_path / "games.pgn.zst")
    assert download.EMBEDDED.stat().st_size < 6_000_000
    assert json.loads((tmp_path / "games.pgn.zst.json").read_text())["inputs"]["embedded"]


@pytest.mark.parametrize(
    "mirror",
    ["nonsense", "file:///etc", "ftp://localhost", "http://[::1", "http://a b/", "http://"],
)
def test_a_mirror_that_is_no_address_is_told_at_once(mirror: str, tmp_path) -> None:
    told = refused(tmp_path, "--mirror", mirror)
    assert "write an address, as https://HOST/FOLDER" in told


def test_a_checksum_that_is_none_is_told_at_once(server, tmp_path) -> None:
    mirror, kind = server
    told = refused(tmp_path, "--mirror", mirror, "--sha256", CHECKSUM[1:])
    assert "write 64 hexadecimal digits" in told
    assert kind.asked == []


def refused(folder: Path, *arguments: str) -> str:
    """What `nnuelab download` says of a wrong call, which writes nothing."""
    command = ["download", "--source", "lichess", "--part", "2013-01", "--output", "m.pgn.zst"]
    done = subprocess.run(
        [sys.executable, "-m", "nnuelab.cli", *command, *arguments],
        **{"cwd": folder, "capture_output": True, "text": True},
    )
    assert done.returncode == 2
    assert list(folder.iterdir()) == []
    return " ".join(done.stderr.replace("│", " ").split())
