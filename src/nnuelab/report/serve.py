"""`nnuelab serve`: the page on loopback, the engine's analysis of positions, games with policies.

Six paths are served and no file: ``/`` is the page as it is when it is asked for, ``/explore?fen=``
the evaluation of a position, ``/moves?fen=&set=`` what its legal moves change; ``/play`` is a board
to play on, ``/choose?fen=`` what a policy plays; ``/live`` is what a run of the workflow does now.
Nothing of a request becomes part of a path.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cached_property
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.errors import UserError
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.report import document
from nnuelab.report.explorer import Explorer
from nnuelab.report.live import Live
from nnuelab.report.play import Opponents, fen_of
from nnuelab.report.results import NetFiles

HOST = "127.0.0.1"
NO_NET = "there is no net to serve; train some: snakemake nets"
NO_POLICY = "there is no policy to play; train some: snakemake policy; or name one: --policy"
NO_RUN = "there is no run to watch; start one: snakemake"
# Views that ask are there on a served page alone; its scripts see it by this.
BODY, SERVED = b'<body class="report">', b'<body class="report" data-served>'
NODES = 20_000  # of the search
TIMEOUT = 20  # seconds that a connection may be silent


class Answers:
    """The page, the nets and the policies; positions are analysed one at a time.

    Parameters
    ----------
    nets : sequence of NetFiles
    page : Path
        The report; without it the server says how to make it.
    opponents : Opponents or None
        Policies to play against.
    live : Live or None
        Runs to watch. Where there is one and no report, its view is the page.

    Raises
    ------
    UserError
        When there is nothing of all this to serve.
    """

    def __init__(
        self,
        nets: Sequence[NetFiles],
        page: Path,
        opponents: Opponents | None = None,
        live: Live | None = None,
    ) -> None:
        self.live = live
        has_run = live is not None and live.has_run
        if not nets and opponents is None and not has_run:
            raise UserError(f"{NO_NET}; {NO_POLICY}; {NO_RUN}")
        self._nets = {net.player: net for net in nets}
        self._engines: dict[str, Engine] = {}
        self._lock = threading.Lock()
        self._page = page
        self.opponents = opponents

    def page(self) -> tuple[bytes, bool]:
        """The report as it is now, and whether there is one; without it a run is the page."""
        try:
            return self._page.read_bytes().replace(BODY, SERVED, 1), True
        except OSError:
            pass
        if self.live is not None and self.live.has_run:
            return self._live_page, True
        return f"{self._page} isn't there; make it: snakemake report".encode(), False

    @cached_property
    def _live_page(self) -> bytes:
        scripts = ["page/base.js", "page/live.js"]
        return document.html("page/live.html", styles=["page/page.css"], scripts=scripts).encode()

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
        if not self._nets:
            raise UserError(NO_NET)
        fen = fen_of(fen)
        name = net or next(iter(self._nets))
        if name not in self._nets:
            raise UserError(f"there is no net {name!r}; there are {', '.join(self._nets)}")
        with self._lock:
            found = self._explorer.look({fen: fen})
            return {**found, "search": self._search(fen, name)}

    def moves(self, fen: str, feature_set: str) -> dict[str, Any]:
        """`Explorer.moves`; UserError when there is no such set, or the FEN is none."""
        if feature_set not in self._explorer.sets:
            sets = ", ".join(self._explorer.sets)
            raise UserError(
                f"there is no net of {feature_set!r}; there are nets of {sets}" if sets else NO_NET
            )
        with self._lock:
            return self._explorer.moves(feature_set, fen_of(fen))

    def choose(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """What a policy plays: `Opponents.choose`; UserError, too, when there is none."""
        if self.opponents is None:
            raise UserError(NO_POLICY)
        return self.opponents.choose(asked)

    def _search(self, fen: str, name: str) -> str:
        if name not in self._engines:
            self._engines.clear()  # a table each would add up
            self._engines[name] = Engine(NetEvaluator(self._nets[name].net))
        engine = self._engines[name]
        engine.new_game()
        position = notation.from_fen(fen)
        found = engine.search(position, nodes=NODES)
        if not found.move:
            return (
                f"{name}: {'checkmate' if position['checkers'] else 'stalemate'}, the game is over"
            )
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
            self._page(*answers.page())
        elif asked.path == "/play":
            opponents = answers.opponents
            self._page(opponents.page if opponents else NO_POLICY.encode(), bool(opponents))
        elif asked.path == "/live":
            live = answers.live
            self._say(HTTPStatus.OK, {"state": "none"} if live is None else live.state())
        elif asked.path in ("/explore", "/moves", "/choose"):
            first = {name: values[0] for name, values in query.items()}
            try:
                if asked.path == "/choose":
                    found = answers.choose(first)
                elif asked.path == "/moves":
                    found = answers.moves(first.get("fen", ""), first.get("set", ""))
                else:
                    found = answers.explore(first.get("fen", ""), first.get("net", ""))
            except UserError as error:
                self._say(HTTPStatus.BAD_REQUEST, {"error": str(error)})
            else:
                self._say(HTTPStatus.OK, found)
        else:
            paths = "/, /explore?fen=, /moves?fen=&set=, /play, /choose?fen= and /live"
            self._say(HTTPStatus.NOT_FOUND, {"error": f"there are only {paths}"})

    def _page(self, content: bytes, found: bool) -> None:
        status = HTTPStatus.OK if found else HTTPStatus.NOT_FOUND
        kind = "text/html" if found else "text/plain"
        self._send(status, f"{kind}; charset=utf-8", content)

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
