"""Downloads arrive whole or not at all, whatever the server does."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

import pytest
import zstandard

from nnuelab.data import download
from nnuelab.errors import UserError

BODY = zstandard.compress(bytes(range(256)) * 4000, 1) + bytes(300_000)
NAME = "lichess_db_standard_rated_2013-01.pgn.zst"


class Handler(BaseHTTPRequestHandler):
    """Serves BODY with ranges, and misbehaves as told."""

    cuts: ClassVar[list[int]] = []  # the next answers end after so many bytes
    ranges = True
    checksum = hashlib.sha256(BODY).hexdigest()
    status = 200
    asked: ClassVar[list[str | None]] = []

    def do_GET(self) -> None:
        kind = type(self)
        if self.path.endswith("sha256sums.txt"):
            return self._send(200, f"{kind.checksum}  {NAME}\n".encode())
        if kind.status != 200 or not self.path.endswith(f"/standard/{NAME}"):
            return self._send(kind.status if kind.status != 200 else 404, b"")
        wanted = self.headers.get("Range")
        kind.asked.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and kind.ranges else 0
        if start >= len(BODY):
            return self._send(416, b"", {"Content-Range": f"bytes */{len(BODY)}"})
        cut = kind.cuts.pop(0) if kind.cuts else None
        return self._send(206 if start else 200, BODY[start:], cut=cut)

    def _send(
        self, status: int, body: bytes, headers: dict | None = None, cut: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[:cut])

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch) -> Iterator[tuple[str, type[Handler]]]:
    """Address and handler class of a local mirror."""
    monkeypatch.setattr(download, "PAUSE", 0.01)
    kind = type("Fresh", (Handler,), {"cuts": [], "asked": []})
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


def test_a_whole_part_of_a_killed_run_is_taken(server, tmp_path) -> None:
    mirror, kind = server
    (tmp_path / "games.pgn.zst.part").write_bytes(BODY)
    download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert (tmp_path / "games.pgn.zst").read_bytes() == BODY
    assert kind.asked == [f"bytes={len(BODY)}-"]


def test_a_wrong_checksum_leaves_nothing(server, tmp_path) -> None:
    mirror, kind = server
    kind.checksum = "0" * 64
    with pytest.raises(UserError, match="wrong SHA-256"):
        download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert not list(tmp_path.iterdir())


def test_a_connection_that_is_always_cut_is_no_file(server, tmp_path) -> None:
    mirror, kind = server
    kind.cuts[:] = [100] * download.ATTEMPTS
    with pytest.raises(UserError, match="run again to continue"):
        download.lichess("2013-01", tmp_path / "games.pgn.zst", mirror)
    assert [path.name for path in tmp_path.iterdir()] == ["games.pgn.zst.part"]


@pytest.mark.parametrize(
    ("month", "status", "words"),
    [("2013-13", 200, "no month"), ("2013-02", 200, "404"), ("2013-01", 503, "503")],
)
def test_what_can_not_be_had_is_one_line(server, tmp_path, month, status, words) -> None:
    mirror, kind = server
    kind.status = status
    with pytest.raises(UserError, match=words):
        download.lichess(month, tmp_path / "games.pgn.zst", mirror)
    assert not (tmp_path / "games.pgn.zst").exists()


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
