"""A game against a policy: what the server says of it, beside python-chess and numpy."""

from __future__ import annotations

import http.client
import json
import random
from urllib.parse import quote, urlencode

import chess
import numpy as np
import pytest
from typer.testing import CliRunner

from nnuelab.chess import notation
from nnuelab.cli import page as _commands  # noqa: F401 (registers them)
from nnuelab.cli.app import app
from nnuelab.errors import UserError
from nnuelab.policy import maps
from nnuelab.policy.mover import Mover, Style, wdl
from nnuelab.policy.policyfile import HEADS, write_policy
from nnuelab.report import play, serve
from tests.policy.policies import random_policy
from tests.report.conftest import serving

POLICIES = {head: random_policy(head, value=head != "fromto") for head in HEADS}
POLICIES["seed"] = random_policy("fromto", loss="mse", activation="sigmoid", value=False, seed=3)
POLICIES["pairs by mse"] = random_policy("pair", loss="mse", seed=4)
CLOSE = 10.0**-play.DIGITS  # what rounding may cost
UNDERPROMOTIONS = "8/P6k/8/8/8/8/8/K7 w - - 0 1"


@pytest.fixture(scope="module")
def opponents():
    return play.Opponents(POLICIES)


@pytest.fixture(scope="module")
def connection(opponents, tmp_path_factory):
    with serving(
        serve.Answers([], tmp_path_factory.mktemp("results") / "report.html", opponents)
    ) as server:
        opened = http.client.HTTPConnection(serve.HOST, server.server_port, timeout=60)
        yield opened
        opened.close()


def ask(connection, **asked):
    asked = {"fen": chess.STARTING_FEN, **asked}
    connection.request("GET", f"/choose?{urlencode(asked)}")
    response = connection.getresponse()
    return response.status, json.loads(response.read())


def end_of(board):
    """Result and reason by python-chess, None while the game goes on."""
    if board.is_checkmate():
        return ("0-1", "Black mates") if board.turn else ("1-0", "White mates")
    for ended, reason in (
        (board.is_stalemate(), "stalemate"),
        (board.is_fifty_moves(), "fifty moves"),
        (board.is_repetition(3), "threefold repetition"),
        (board.is_insufficient_material(), "insufficient material"),
    ):
        if ended:
            return "1/2-1/2", reason
    return None


def leaves_none(board, move):
    after = board.copy()
    after.push_uci(move)
    return not any(after.legal_moves)


STARTS = [
    chess.STARTING_FEN,
    "r3k2r/8/8/8/8/8/8/R3K2R b KQkq - 0 1",
    "4k3/8/8/8/8/8/4q3/K7 b - - 90 80",
    "8/1P4k1/8/8/8/8/1p4K1/8 w - - 0 1",
    "r3k3/8/8/8/8/8/8/R3K3 b - - 98 120",
    "4k3/8/8/8/8/8/6n1/4K3 w - - 0 1",
    "7k/8/6K1/8/8/8/8/R7 w - - 0 1",
    "7k/7P/8/6K1/8/8/8/8 w - - 0 1",
]


def test_moves_sans_and_ends_are_those_of_python_chess(opponents):
    rng, ends = random.Random(7), set()
    for number in range(24):
        start = STARTS[number % len(STARTS)]
        board, sans, moves = chess.Board(start), [], []
        while len(moves) < 60:
            found = opponents.choose({"fen": start, "moves": " ".join(moves), "policy": "pair"})
            assert found["fen"] == board.fen(en_passant="legal")
            assert (found["turn"], found["check"]) == ("bw"[board.turn], board.is_check())
            assert found["sans"] == sans
            end = end_of(board)
            if end:
                assert (found["end"]["result"], found["end"]["reason"]) == end
                assert found["moves"] == []
                ends.add(end[1].replace("White", "").replace("Black", ""))
                break
            assert found["end"] is None
            assert {m["move"] for m in found["moves"]} == {m.uci() for m in board.legal_moves}
            for told in found["moves"]:
                if "san" in told:
                    assert told["san"] == board.san(chess.Move.from_uci(told["move"]))
            # One that leaves none to the other, if there is one; back and forth now and then.
            known = sorted(move.uci() for move in board.legal_moves)
            back = moves[-2][2:4] + moves[-2][:2] if len(moves) > 1 else ""
            wanted = [move for move in known if leaves_none(board, move)]
            wanted += [back] if back in known and rng.random() < 0.7 else []
            move = rng.choice(wanted or known)
            sans.append(board.san(chess.Move.from_uci(move)))
            board.push_uci(move)
            moves.append(move)
    assert ends == {
        *(" mates", "stalemate", "fifty moves", "threefold repetition"),
        "insufficient material",
    }


def softmax(values):
    weights = np.exp(values - values.max())
    return weights / weights.sum()


@pytest.mark.parametrize("name", list(POLICIES))
def test_maps_are_marginals_of_the_policys_probabilities(opponents, name):
    """Square by square, as slowly as it can be said."""
    policy, rng = POLICIES[name], random.Random(5)
    mover, board = Mover(policy), chess.Board()
    for _ in range(24):
        if board.is_game_over():
            board = chess.Board()
        position = notation.from_fen(board.fen())
        turned = 56 * (board.turn == chess.BLACK)
        found = opponents.choose({"fen": board.fen(), "policy": name})
        legal, raw = found["maps"]["legal"], found["maps"]["raw"]
        probabilities = {
            chess.Move.from_uci(told["move"]): told["probability"]
            for told in found["moves"]
            if "san" in told
        }
        values = mover.activations(position).astype(float)
        logits = {}
        for move in probabilities:
            a, b = move.from_square ^ turned, move.to_square ^ turned
            pair = values[64 * a + b] if len(values) == 4096 else values[a] + values[64 + b]
            logits[move] = pair
        expected = dict(zip(logits, softmax(np.array(list(logits.values()))), strict=True))
        assert probabilities == pytest.approx(expected, abs=1e-5)
        for a in chess.SQUARES:
            of_square = {m.to_square: p for m, p in expected.items() if m.from_square == a}
            assert legal["from"][a] == pytest.approx(sum(of_square.values()), abs=1e-5)
            if of_square:
                for b in chess.SQUARES:
                    share = of_square.get(b, 0) / sum(of_square.values())
                    assert legal["to"][a][b] == pytest.approx(share, abs=1e-4)
            else:
                assert legal["to"][a] is None
        seen = [a ^ turned for a in chess.SQUARES]
        if policy.loss == "mse":
            sigmoid = 1 / (1 + np.exp(-values))
            if name == "seed":
                first, second = sigmoid[:64][seen], sigmoid[64:][seen][None]
            else:
                second = sigmoid.reshape(64, 64)[seen][:, seen]
                first = second.max(axis=1)
        else:
            if len(values) == 4096:
                pairs = softmax(values).reshape(64, 64)[seen][:, seen]
            else:
                pairs = np.outer(softmax(values[:64]), softmax(values[64:]))[seen][:, seen]
            first, second = pairs.sum(axis=1), pairs / pairs.sum(axis=1, keepdims=True)
            assert sum(raw["from"]) == pytest.approx(1, abs=64 * CLOSE)
            for row in raw["to"]:
                assert sum(row) == pytest.approx(1, abs=64 * CLOSE)
            if len(values) == 128:
                second = second[:1]
        assert np.allclose(raw["from"], first, rtol=0, atol=CLOSE)
        assert np.allclose(raw["to"], second, rtol=0, atol=CLOSE)
        assert sum(legal["from"]) == pytest.approx(1, abs=64 * CLOSE)
        board.push(rng.choice(list(board.legal_moves)))


def test_raw_maps_of_the_seed_are_those_that_watch_prints(opponents):
    position = notation.from_fen(chess.STARTING_FEN)
    found = opponents.choose({"fen": chess.STARTING_FEN, "policy": "seed"})["maps"]["raw"]
    start, goal = maps.halves(Mover(POLICIES["seed"]).activations(position), "mse")
    assert np.allclose(found["from"], start, rtol=0, atol=CLOSE)
    assert np.allclose(found["to"][0], goal, rtol=0, atol=CLOSE)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"temperature": 0.7, "seed": 3},
        {"temperature": 1.5, "top_p": 0.4},
        {"walk": True},
        {"plies": 1},
        {"plies": 1, "temperature": 0.2, "underpromotions": True},
    ],
    ids=str,
)
def test_it_chooses_as_the_mover_with_that_style(opponents, settings):
    mover = Mover(POLICIES["pair"], Style(**settings))
    asked = {name: str(value).lower() for name, value in settings.items()}
    board, keys, moves = chess.Board(), [], []
    for _ in range(12):
        position = notation.from_fen(board.fen())
        found = opponents.choose(
            {"fen": chess.STARTING_FEN, "moves": " ".join(moves), "policy": "pair", **asked}
        )
        expected = mover.ranked(position, keys, 300)
        listed = found["moves"]
        assert [m["move"] for m in listed] == [notation.move_to_uci(c.move) for c in expected]
        assert [m["value"] for m in listed] == pytest.approx([c.value for c in expected], abs=CLOSE)
        assert found["wdl"] == wdl(expected[0].value)
        walk = mover.walked(position)
        assert found["walk"] == {
            "san": board.san(chess.Move.from_uci(notation.move_to_uci(int(walk["move"])))),
            **{name: int(walk[name]) for name in ("from_rank", "to_rank", "tries", "checks")},
        }
        keys.append(int(position["key"]))
        moves.append(listed[0]["move"])
        board.push_uci(moves[-1])


def test_only_a_style_that_may_promotes_to_a_knight(opponents):
    for chosen, told in (("false", 1), ("true", 4)):
        found = opponents.choose({"fen": UNDERPROMOTIONS, "underpromotions": chosen})
        promotions = [m for m in found["moves"] if m["move"].startswith("a7a8")]
        assert len(promotions) == 4  # a person may always
        assert sum("san" in move for move in promotions) == told


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"fen": ""}, "give a FEN"),
        ({"fen": "8/8/8/8/8/8/8/8 w - - 0 1"}, "king"),
        ({"fen": "x" * 121}, "at most 120 characters"),
        ({"moves": "e2e5"}, "'e2e5' is not a legal move in rnbqkbnr"),
        ({"moves": "\0 <script>"}, "is not a legal move"),
        ({"moves": "g1f3 g8f6 f3g1 f6g8 " * 2 + "e2e4"}, "'e2e4': threefold repetition"),
        ({"fen": "7k/5Q2/6K1/8/8/8/8/8 b - - 0 1", "moves": "h8g8"}, "over before 'h8g8': stale"),
        ({"moves": "e2e4 " * 601}, "601 half-moves are more than 600"),
        ({"policy": "nobody"}, "there is no policy 'nobody'; there are fromto, product, pair"),
        ({"temperature": "hot"}, "temperature needs a number, not 'hot'"),
        ({"temperature": "nan"}, "temperature"),
        ({"top_p": "0"}, "top_p"),
        ({"plies": "7"}, "plies"),
        ({"plies": "1", "policy": "fromto"}, "no value head"),
        ({"walk": "maybe"}, "true or false"),
        ({"walk": "true", "temperature": "1"}, "a walk has neither"),
        ({"seed": "-1"}, "seed"),
        ({"temprature": "1"}, "'temprature' is none of policy, fen, moves, temperature"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_bad_input_is_one_line(connection, asked, words):
    status, found = ask(connection, **asked)
    assert status == 400
    assert words in found["error"]
    assert "\n" not in found["error"]
    assert ask(connection)[0] == 200


def test_another_host_name_is_refused(connection):
    for path in ("/play", f"/choose?fen={quote(chess.STARTING_FEN)}"):
        connection.request("GET", path, headers={"Host": "evil.example"})
        response = connection.getresponse()
        response.read()
        assert response.status == 403


def test_without_policies_it_says_how_to_make_them(tmp_path):
    with pytest.raises(UserError, match="no policy to play"):
        serve.Answers([], tmp_path / "report.html")


def test_policies_are_found_where_the_workflow_puts_them(tmp_path):
    places = [tmp_path / f"policy/nets/pair/{seed}/net.policy" for seed in (1, 2)]
    for place in places:
        place.parent.mkdir(parents=True)
        write_policy(place, POLICIES["pair"])
    places[1].write_bytes(b"broken")
    named = tmp_path / "mine.policy"
    write_policy(named, POLICIES["fromto"])
    found, problems = play.gather(tmp_path, [named])
    assert list(found) == [str(named), "pair#1"]
    assert [str(places[1]) in problem for problem in problems] == [True]
    with pytest.raises(UserError, match="nothing"):
        play.gather(tmp_path, [tmp_path / "nothing.policy"])


def test_a_policy_that_is_not_there_is_said_by_the_command(tmp_path):
    command = ["serve", "--results", str(tmp_path), "--policy", str(tmp_path / "no.policy")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code != 0
    assert "no.policy" in str(done.exception) + done.output
