"""The server answers on loopback, says what is wrong with a FEN, and gives out no file."""

from __future__ import annotations

import http.client
import json
import random
import socket
from urllib.parse import quote

import chess
import pytest

from nnuelab import features, runs
from nnuelab.chess.notation import from_fen
from nnuelab.errors import UserError
from nnuelab.features import check
from nnuelab.nnue.inference import Inference
from nnuelab.report import explorer, live, results, serve
from tests import report_results
from tests.report.conftest import serving

PAGE = b"<!doctype html><title>page</title>"


@pytest.fixture(scope="module")
def nets(tmp_path_factory):
    folder = report_results.make(tmp_path_factory.mktemp("project"))
    (folder / "report.html").write_bytes(PAGE)
    return results.gather(folder, ["axis"]).experiments[0].nets


@pytest.fixture(scope="module")
def server(nets):
    page = nets[0].path.parents[3] / "report.html"
    with serving(serve.Answers(nets, page)) as running:
        yield running


@pytest.fixture
def connection(server):
    opened = http.client.HTTPConnection(serve.HOST, server.server_port, timeout=60)
    yield opened
    opened.close()


def ask(connection, path, **headers):
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    return response.status, response.read()


def explore(connection, fen, net=""):
    status, body = ask(connection, f"/explore?fen={quote(fen)}&net={quote(net)}")
    return status, json.loads(body)


def test_it_listens_on_loopback_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.socket.family == socket.AF_INET


def test_the_page_is_served(connection):
    assert ask(connection, "/") == (200, PAGE)


def test_without_a_page_it_says_how_to_make_it(nets, tmp_path):
    page, found = serve.Answers(nets, tmp_path / "report.html").page()
    assert not found
    assert b"snakemake report" in page


def test_a_page_that_is_made_meanwhile_is_served(nets, tmp_path):
    """And so is the next one; a page that is gone is told."""
    path = tmp_path / "report.html"
    with serving(serve.Answers(nets, path)) as running:
        opened = http.client.HTTPConnection(serve.HOST, running.server_port, timeout=60)
        assert ask(opened, "/")[0] == 404
        for text in ("first", "second"):
            path.write_text(f'<body class="report">{text}')
            expected = f'<body class="report" data-served>{text}'.encode()
            assert ask(opened, "/") == (200, expected)
        path.unlink()
        assert ask(opened, "/")[0] == 404
        opened.close()


def test_without_nets_there_is_nothing_to_serve(tmp_path):
    with pytest.raises(UserError, match="no net to serve"):
        serve.Answers([], tmp_path / "report.html")


def test_without_nets_a_run_is_served(tmp_path):
    logs = tmp_path / "logs"
    begun = {"event": "run", "at": 1000.0, "jobs": {"a": 1, "total": 1}, "cores": 1, "usual": {}}
    runs.Journal(logs / "workflow.jsonl", begun).close()
    watched = live.Live(tmp_path / "results")
    answers = serve.Answers([], tmp_path / "results" / "report.html", live=watched)
    with serving(answers) as running:
        opened = http.client.HTTPConnection(serve.HOST, running.server_port, timeout=60)
        status, page = ask(opened, "/")
        assert (status, b"<body data-served>" in page) == (200, True)
        status, body = ask(opened, "/live")
        assert (status, json.loads(body)["state"]) == (200, "stopped")
        opened.close()


def test_where_no_run_is_watched_there_is_none(connection):
    assert ask(connection, "/live") == (200, b'{"state": "none"}')


def test_a_port_in_use_is_said(server, nets, tmp_path):
    with pytest.raises(UserError, match="choose another --port"):
        serve.Server(serve.Answers(nets, tmp_path / "none"), server.server_port)


def test_evaluations_are_the_engines_and_moves_legal(connection, nets):
    board = chess.Board()
    rng = random.Random(3)
    for _ in range(12):
        status, found = explore(connection, board.fen(), "H+PH+MC#2")
        assert status == 200
        for net in nets:
            expected = Inference(net.net).evaluate_fens([board.fen()])
            assert found["evaluations"][net.player] == expected
        assert found["search"].startswith("H+PH+MC#2 after")
        line = found["search"].rpartition(", ")[2].split()
        played = board.copy()
        for move in line:
            played.push_uci(move)
        assert len(found["terms"]["ALL"][0][0]) == len(board.piece_map())
        board.push(rng.choice(list(board.legal_moves)))


def moves(connection, fen, name):
    status, body = ask(connection, f"/moves?fen={quote(fen)}&set={quote(name)}")
    return status, json.loads(body)


@pytest.mark.parametrize("fen", check.STARTS[1:])
def test_moves_change_what_the_definition_says(connection, nets, fen):
    feature_set = features.parse("H+PH+MC")
    status, found = moves(connection, fen, feature_set.name)
    assert status == 200
    board = chess.Board(fen)
    assert sorted(found["moves"]) == sorted(move.uci() for move in board.legal_moves)
    before = [set(check.defined(feature_set, from_fen(fen), side)) for side in range(2)]
    for uci, told in found["moves"].items():
        move = chess.Move.from_uci(uci)
        assert told["san"] == board.san(move)
        board.push(move)
        assert told["fen"] == board.fen(en_passant="legal")
        for side, changed in enumerate(told["sides"]):
            after = set(check.defined(feature_set, from_fen(told["fen"]), side))
            assert changed["on"] == sorted(after - before[side])
            assert changed["off"] == sorted(before[side] - after)
            assert changed["active"] == len(after)
            for index in changed["on"] + changed["off"]:
                assert found["names"][str(index)] == feature_set.feature_name(index)
        board.pop()
    for net in nets:
        values = {uci: told["centipawns"].get(net.player) for uci, told in found["moves"].items()}
        if net.net.feature_set != feature_set.name:
            assert set(values.values()) == {None}
            continue
        sign = 1 if board.turn else -1
        expected = Inference(net.net).evaluate_fens(
            [fen, *(m["fen"] for m in found["moves"].values())]
        )
        assert found["centipawns"][net.player] == sign * expected[0]
        assert list(values.values()) == [-sign * value for value in expected[1:]]


def test_a_king_that_leaves_its_bucket_is_a_refresh_of_its_own_side():
    found = explorer.changes(features.parse("KING*ALL"), "4k3/8/8/8/8/8/8/R3K3 w Q - 0 1")
    refreshed = {uci: [s["refresh"] for s in m["sides"]] for uci, m in found["moves"].items()}
    assert refreshed["a1a2"] == [False, False]
    assert refreshed["e1e2"] == refreshed["e1c1"] == [True, False]


@pytest.mark.parametrize(
    ("fen", "name", "words"),
    [
        (chess.STARTING_FEN, "KING*ALL", "there is no net of 'KING*ALL'; there are nets of ALL, H"),
        (chess.STARTING_FEN, "", "there is no net of ''"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "ALL", "king"),
        ("", "ALL", "give a FEN"),
    ],
)
def test_moves_that_cannot_be_told_are_one_line(connection, fen, name, words):
    status, found = moves(connection, fen, name)
    assert status == 400
    assert words in found["error"]
    assert "\n" not in found["error"]


def test_a_game_that_is_over_has_no_moves_to_tell(connection):
    assert moves(connection, "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "ALL")[1]["moves"] == {}


@pytest.mark.parametrize(
    ("fen", "words"),
    [
        ("", "give a FEN"),
        ("x" * 121, "at most 120 characters"),
        ("8/8/8/8/8/8/8/8 w - - 0 1", "king"),
        ("rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR x KQkq - 0 1", "x"),
        ("\0\n<script>", "FEN"),
    ],
)
def test_a_broken_fen_is_one_line(connection, fen, words):
    status, found = explore(connection, fen)
    assert status == 400
    assert words in found["error"]
    assert "\n" not in found["error"]


def test_an_unknown_net_is_named(connection):
    status, found = explore(connection, chess.STARTING_FEN, "nobody#1")
    assert status == 400
    assert "there is no net 'nobody#1'" in found["error"]


@pytest.mark.parametrize(
    ("fen", "ending"),
    [
        ("7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "stalemate"),
        ("7k/6Q1/6K1/8/8/8/8/8 b - - 0 1", "checkmate"),
    ],
)
def test_a_game_that_is_over_has_no_move(connection, fen, ending):
    status, found = explore(connection, fen)
    assert status == 200
    assert found["search"].endswith(f": {ending}, the game is over")


@pytest.mark.parametrize(
    "path",
    [
        "/axis_table.csv",
        "/report.html",
        "/../results/report.html",
        "/..%2f..%2fetc/passwd",
        "//etc/passwd",
        "/./",
        "/%00",
        "/explore/../axis_table.csv",
        "/?file=axis_table.csv",
        "/explore?fen=../../etc/passwd",
        "file:///etc/passwd",
    ],
)
def test_no_path_gives_a_file(connection, path):
    status, body = ask(connection, path)
    assert (status, body) == (200, PAGE) if path.startswith("/?") else status in (400, 404)
    assert b"root:" not in body


def test_an_address_that_is_none_is_said(server):
    with socket.create_connection((serve.HOST, server.server_port), timeout=60) as raw:
        raw.sendall(f"GET http://[/ HTTP/1.1\r\nHost: {server.names[0]}\r\n\r\n".encode())
        assert b" 400 " in raw.recv(100)


def test_another_host_name_is_refused(connection):
    assert ask(connection, "/", Host="evil.example")[0] == 403


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_nothing_can_be_written(connection, method):
    connection.request(method, "/", body=b"x")
    assert connection.getresponse().status == 501


def test_ten_thousand_random_requests_are_survived(server, monkeypatch):
    """Any bytes as path, any mutation of a FEN, connections that break off."""
    monkeypatch.setattr(serve, "NODES", 100)
    rng = random.Random(10)
    letters = '/8pPnNbBrRqQkKwW-abcdefgh0123456789 %?&=.\\~#"<>{}'
    counts: dict[int, int] = {}
    connection = http.client.HTTPConnection(serve.HOST, server.server_port, timeout=60)
    fens = [chess.STARTING_FEN, "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1"]
    for number in range(10_000):
        kind = rng.randrange(10)
        if kind == 0 and number % 5 == 0:
            with socket.create_connection((serve.HOST, server.server_port)) as raw:
                raw.sendall(rng.randbytes(rng.randrange(1, 300)))
            continue
        fen = list(rng.choice(fens))
        for _ in range(rng.randrange(1, 4)):
            fen[rng.randrange(len(fen))] = rng.choice(letters)
        text = "".join(fen) if kind < 6 else "".join(rng.choices(letters, k=rng.randrange(60)))
        asked = rng.choice(["explore?fen=", "moves?set=ALL&fen="])
        path = f"/{asked}{quote(text)}" if kind < 8 else "/" + quote(text, safe="/?=&%.~")
        status, _ = ask(connection, path)
        counts[status] = counts.get(status, 0) + 1
    assert set(counts) <= {200, 400, 404}
    assert min(counts.values()) > 100
    assert ask(connection, "/") == (200, PAGE)
    connection.close()
