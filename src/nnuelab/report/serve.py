"""`nnuelab serve`: the page on loopback, and the engine's analysis of given positions.

Two paths are served and no file: ``/`` is the page as it was read at the start, ``/explore?fen=``
the evaluation of a position. Nothing of a request becomes part of a path.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Sequence
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.report.explorer import Explorer
from nnuelab.report.results import NetFiles

HOST = "127.0.0.1"
NODES = 20_000  # of the search
LONGEST = 120  # characters of a FEN
TIMEOUT = 20  # seconds that a connection may be silent


class Answers:
    """The page and the nets; positions are analysed one at a time.

    Parameters
    ----------
    nets : sequence of NetFiles
    page : Path
        The report; without it the server says how to make it.
    """

    def __init__(self, nets: Sequence[NetFiles], page: Path) -> None:
        if not nets:
            raise UserError("there is no net to serve; train some: snakemake nets")
        self._nets = {net.player: net for net in nets}
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()
        made = page.read_bytes() if page.is_file() else None
        self.page = made or f"{page} isn't there; make it: snakemake report".encode()
        self.has_page = made is not None

    @cached_property
    def _explorer(self) -> Explorer:
        return Explorer(list(self._nets.values()))

    def explore(self, fen: str, net: str) -> dict[str, Any]:
        """All nets' evaluations of a position, and the engine's line with one of them.

        Raises
        ------
        UserError
            When the FEN is no legal position or there is no such net.
        """
        fen = " ".join(fen.split())
        if not fen or len(fen) > LONGEST:
            raise UserError(f"give a FEN of at most {LONGEST} characters, as explore?fen=")
        name = net or next(iter(self._nets))
        if name not in self._nets:
            raise UserError(f"there is no net {name!r}; there are {', '.join(self._nets)}")
        with self._lock:
            found = self._explorer.look({fen: fen})
            return {**found, "search": self._search(fen, name)}

    def _search(self, fen: str, name: str) -> str:
        if name not in self._engines:
            self._engines.clear()  # a table each would add up
            self._engines[name] = Engine(self._nets[name].net)
        engine = self._engines[name]
        engine.new_game()
        position = notation.from_fen(fen)
        found = engine.search(position, nodes=NODES)
        if not found.move:
            return f"{name}: the game is over"
        score = f"mate in {found.mate}" if found.mate is not None else f"{found.score_cp} cp"
        line = " ".join(notation.move_to_uci(move) for move in found.pv)
        return f"{name} after {found.nodes:,} nodes, depth {found.depth}: {score}, {line}"


class Server(ThreadingHTTPServer):
    """Listens on loopback only; port 0 takes a free one."""

    daemon_threads = True

    def __init__(self, answers: Answers, port: int) -> None:
        self.answers = answers
        try:
            super().__init__((HOST, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UserError(
                f"can't listen on port {port} ({error}); choose another --port"
            ) from None

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores readers that disconnect."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of this server for a browser; others could be a foreign page's way in."""
        return tuple(f"{name}:{self.server_port}" for name in (HOST, "localhost"))


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "nnuelab", ""
    timeout = TIMEOUT
    # Head and content as one packet: in two, the second waits 40 ms for the first to be confirmed.
    wbufsize = 1 << 16

    def do_GET(self) -> None:
        if self.headers.get("Host") not in self.server.names:
            self._say(HTTPStatus.FORBIDDEN, {"error": "ask by the name 127.0.0.1 or localhost"})
            return
        try:
            asked = urlsplit(self.path)
            query = parse_qs(asked.query, keep_blank_values=True, max_num_fields=10)
        except ValueError as error:
            self._say(HTTPStatus.BAD_REQUEST, {"error": f"no address: {error}"})
            return
        answers = self.server.answers
        if asked.path == "/":
            status = HTTPStatus.OK if answers.has_page else HTTPStatus.NOT_FOUND
            kind = "text/html" if answers.has_page else "text/plain"
            self._send(status, f"{kind}; charset=utf-8", answers.page)
        elif asked.path == "/explore":
            try:
                fen, net = (query.get(name, [""])[0] for name in ("fen", "net"))
                self._say(HTTPStatus.OK, answers.explore(fen, net))
            except UserError as error:
                self._say(HTTPStatus.BAD_REQUEST, {"error": str(error)})
        else:
            self._say(HTTPStatus.NOT_FOUND, {"error": "there are only / and /explore?fen="})

    def _say(self, status: HTTPStatus, value: dict[str, Any]) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is logged."""
