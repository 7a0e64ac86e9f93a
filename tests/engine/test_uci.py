"""UCI as a GUI sees it, mostly through python-chess."""

from __future__ import annotations

import io
import os
import random
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import chess
import chess.engine
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nnuelab.engine.protocol import parse_go
from nnuelab.engine.uci import Uci
from tests.engine.dialogue import COMMAND, converse


@pytest.fixture(scope="module")
def engine(net: Path) -> Iterator[chess.engine.SimpleEngine]:
    with chess.engine.SimpleEngine.popen_uci([*COMMAND, "uci", "--net", str(net)]) as engine:
        yield engine


def test_uci_is_answered_without_loading_the_engine(net: Path) -> None:
    program = (
        "import io, sys; from nnuelab.engine.uci import Uci; Uci(None, io.StringIO()).run(['uci']);"
        "assert not {'numba', 'torch', 'pandas'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
    answers = converse(net, "uci")
    assert answers[0].startswith("id name nnuelab")
    assert answers[-1] == "uciok"


def test_compilation_isannounced_once_and_only_when_there_is_some() -> None:
    program = (
        "import numba, numba.core.event as event; from nnuelab.engine.protocol import announced;"
        "kernel = numba.njit('i8(i8)')\n"
        "with announced(lambda: print('compiling')): pass\n"
        "with announced(lambda: print('compiling')):\n"
        "    kernel(lambda x: x + 1), kernel(lambda x: x + 2)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    assert done.stdout == "compiling\n"


def test_a_game_is_played_through(engine: chess.engine.SimpleEngine) -> None:
    board = chess.Board()
    while not board.is_game_over(claim_draw=True) and board.ply() < 30:
        result = engine.play(board, chess.engine.Limit(nodes=500))
        assert result.move in board.legal_moves
        board.push(result.move)
    assert board.ply() > 10


@pytest.mark.parametrize(
    "limit",
    [
        chess.engine.Limit(depth=4),
        chess.engine.Limit(nodes=2000),
        chess.engine.Limit(time=0.05),
        chess.engine.Limit(white_clock=1, black_clock=1, white_inc=0.01, black_inc=0.01),
        chess.engine.Limit(white_clock=1, black_clock=1, remaining_moves=5),
        chess.engine.Limit(mate=1),
    ],
)
def test_every_limit_ends_a_search(
    engine: chess.engine.SimpleEngine, limit: chess.engine.Limit
) -> None:
    board = chess.Board("6k1/5ppp/8/8/8/8/8/R3K3 w - - 0 1")
    assert engine.play(board, limit).move == chess.Move.from_uci("a1a8")


def test_analysis_reports_and_stops(engine: chess.engine.SimpleEngine) -> None:
    with engine.analysis(chess.Board(), game="stop") as analysis:
        for info in analysis:
            if info.get("depth", 0) >= 3 and "pv" in info:
                break
        assert info["nodes"] > 0
        assert info["pv"][0] in chess.Board().legal_moves
        assert {"seldepth", "score", "nps", "hashfull", "time"} <= set(info)
    assert engine.analyse(chess.Board(), chess.engine.Limit(depth=1))


def test_pondering_ends_with_ponderhit(engine: chess.engine.SimpleEngine) -> None:
    board = chess.Board()
    limit = chess.engine.Limit(white_clock=3, black_clock=3)
    for _ in range(3):  # python-chess plays the expected move: a ponderhit
        result = engine.play(board, limit, ponder=True, game="ponder")
        board.push(result.move)
        board.push(result.ponder if result.ponder else next(iter(board.legal_moves)))


def test_options_are_obeyed(engine: chess.engine.SimpleEngine, net: Path) -> None:
    engine.configure({"Hash": 1, "Move Overhead": 20, "EvalFile": str(net)})
    assert engine.play(chess.Board(), chess.engine.Limit(nodes=100)).move
    engine.configure({"Hash": 16, "Move Overhead": 10})


def test_several_lines_are_analysed(engine: chess.engine.SimpleEngine) -> None:
    board = chess.Board()
    lines = engine.analyse(board, chess.engine.Limit(depth=4), multipv=4)
    assert [line["multipv"] for line in lines] == [1, 2, 3, 4]
    assert len({line["pv"][0] for line in lines}) == 4
    assert "pv" in engine.analyse(board, chess.engine.Limit(depth=4))


def test_the_engine_is_ready_while_it_searches(net: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "uci", "--net", str(net)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    print("isready\ngo infinite", file=process.stdin)
    for line in process.stdout:
        if line.startswith("info depth 2"):
            break
    print("isready", file=process.stdin)
    while (line := process.stdout.readline().strip()) != "readyok":
        assert line.startswith("info")
    asked = time.monotonic()
    print("stop", file=process.stdin)
    while not process.stdout.readline().startswith("bestmove"):
        pass
    assert time.monotonic() - asked < 1
    print("quit", file=process.stdin)
    assert process.wait(10) == 0


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        "position",
        "position fen",
        "position fen 8/8/8/8/8/8/8/8 w - - 0 1",
        "position fen kk6/8/8/8/8/8/8/K7 w - - 0 1",
        "position startpos moves e2e5",
        "position startpos moves e2e4 e2e4",
        "go depth",
        "go depth many",
        "go sideways 3",
        "go perft x",
        "go searchmoves e2e5",
        "setoption",
        "setoption name Hash value 0",
        "setoption name Hash value x",
        "setoption name Unknown value 1",
        "setoption name EvalFile value /no/such/net.nnue",
        "bench fast",
    ],
)
def test_what_is_wrong_is_said_and_survived(net: Path, line: str) -> None:
    answers = converse(net, line, "go nodes 50")
    assert answers[0].startswith("info string")
    assert answers[-1].startswith("bestmove")


@pytest.mark.parametrize("limit", ["nodes", "movetime", "depth", "mate", "wtime", "winc"])
@pytest.mark.parametrize("number", ["99999999999999999999999", "-99999999999999999999999"])
def test_limits_beyond_all_bounds_are_cut(net: Path, limit: str, number: str) -> None:
    mate = "position fen 7k/8/6K1/8/8/8/8/R7 w - - 0 1"
    more = " depth 2" if limit != "depth" else " nodes 50"
    answers = converse(net, mate, f"go {limit} {number}{more}")
    assert not [line for line in answers if "error" in line]
    assert answers[-1].startswith("bestmove")
    assert not answers[-1].startswith("bestmove 0000")


def test_too_large_a_hash_leaves_an_engine_that_plays(
    net: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nnuelab.engine import search

    class Small(search.Table):
        def __init__(self, megabytes: int) -> None:
            if megabytes > 16:
                raise MemoryError("Unable to allocate")
            super().__init__(megabytes)

    monkeypatch.setattr(search, "Table", Small)
    for lines in (["isready"], []):
        answers = converse(net, "setoption name Hash value 65536", *lines, "go nodes 50")
        assert "info string Hash is 16 MB instead of 65536" in answers
        assert answers[-1].startswith("bestmove")
        assert answers[-1] != "bestmove 0000"
        assert [line for line in answers if line.startswith("info depth")]
    early, late = "setoption name Hash value 4", "setoption name Hash value 65536"
    answers = converse(net, early, "isready", late, "ucinewgame", "go nodes 50")
    assert answers[-1].startswith("bestmove")
    assert [line for line in answers if line.startswith("info depth")]


@pytest.mark.parametrize("broken", ["position fen 8/8 w - -", "position", "position here"])
def test_after_a_broken_position_no_move_is_made_up(net: Path, broken: str) -> None:
    known = "position startpos moves e2e4"
    said, why, best = converse(net, known, broken, "go nodes 50")
    assert said.startswith("info string error")
    assert "no position" in why
    assert best == "bestmove 0000"
    assert "no position" in converse(net, known, broken, "d")[1]
    *_, best = converse(net, known, broken, known, "go nodes 50")
    board = chess.Board()
    board.push_uci("e2e4")
    assert chess.Move.from_uci(best.split()[1]) in board.legal_moves


def test_moves_count_up_to_the_first_illegal_one(net: Path) -> None:
    board = chess.Board()
    board.push_uci("e2e4")
    for before in ([], ["position startpos moves e2e4"], ["position startpos moves d2d4"]):
        said, *shown = converse(net, *before, "position startpos moves e2e4 e2e4 d7d5", "d")
        assert "'e2e4' is not a legal move" in said
        assert f"Fen: {board.fen()}" in shown
    sent = ("position startpos moves e2e4 e2e4", "position startpos moves e2e4 e7e5", "d")
    assert converse(net, *sent)[1:] == converse(net, *sent[1:])


def test_a_game_that_goes_on_is_the_same_as_one_sent_whole(net: Path) -> None:
    moves = ["e2e4", "e7e5", "g1f3", "b8c6"]
    steps = [f"position startpos moves {' '.join(moves[:n])}" for n in range(1, 5)]
    assert converse(net, *steps, "d") == converse(net, steps[-1], "d")
    assert converse(net, *steps, steps[0], "d") == converse(net, steps[0], "d")


def test_positions_without_a_move_are_answered(net: Path) -> None:
    for fen, score in (("7k/5Q2/8/8/8/8/8/K7 b - - 0 1", "cp 0"),):
        answers = converse(net, f"position fen {fen}", "go depth 3")
        assert f"score {score}" in answers[0]
        assert answers[-1] == "bestmove (none)"


def test_perft_and_bench_print_their_totals(net: Path) -> None:
    assert converse(net, "go perft 3")[-1] == "Nodes searched: 8902"
    first, second = (converse(net, "bench 4")[0] for _ in range(2))
    assert first == second
    assert first.startswith("Nodes searched")


WORDS = st.sampled_from(
    [
        *("uci", "isready", "ucinewgame", "position", "startpos", "fen", "moves", "e2e4", "e7e8q"),
        *("go", "depth", "2", "nodes", "30", "perft", "1", "wtime", "-5", "winc", "movetime"),
        *("stop", "ponderhit", "ponder", "infinite", "setoption", "name", "value", "Hash"),
        *("EvalFile", "d", "eval", "0", "x", "-", "é"),
    ]
)


@given(st.lists(st.lists(WORDS, max_size=7).map(" ".join), max_size=6))
@settings(max_examples=60, deadline=None)
def test_no_conversation_breaks_the_engine(net: Path, lines: list[str]) -> None:
    answers = converse(net, *lines, "stop", "position startpos", "go nodes 10", "isready")
    assert "readyok" in answers


def broken_line(rng: random.Random) -> str:
    """A line that is wrong in one way or another, or is not."""

    def fen() -> str:
        if rng.random() < 0.3:  # any pieces anywhere: no king, nine queens, pawns on the last rank
            ranks = ["".join(rng.choices("pnbrqkPNBRQK1112345678", k=8)) for _ in range(8)]
            return f"{'/'.join(ranks)} {rng.choice('wbx')} KQkq - 0 1"
        board = chess.Board()
        for _ in range(rng.randrange(60)):
            board.push(rng.choice(list(board.legal_moves) or [chess.Move.null()]))
        for _ in range(rng.randrange(4)):
            piece = chess.Piece(rng.randint(1, 6), rng.random() < 0.5)
            board.set_piece_at(rng.randrange(64), rng.choice([piece, None]))
        text = board.fen()
        cut = rng.randrange(len(text)) if rng.random() < 0.2 else len(text)
        return text[:cut]

    def moves() -> str:
        squares = [file + rank for file in "abcdefghi" for rank in "123456789"]
        return " ".join(rng.choice(squares) + rng.choice(squares) for _ in range(rng.randrange(4)))

    spins = ("MultiPV", "Move Overhead", "nodestime", "Threads", "No")
    number = rng.choice(["0", "1", "30", "-7", "x", "1e9", "", str(1 << 70)])
    return rng.choice(
        [
            f"position fen {fen()} moves {moves()}",
            f"position fen {fen()}",
            f"position startpos moves {moves()}",
            f"go nodes {rng.randrange(60)}",
            f"go depth {rng.randrange(3)} searchmoves {moves()}",
            f"go {rng.choice(['movetime', 'mate', 'movestogo', 'wtime'])} {number} nodes 20",
            "go infinite",
            "go ponder wtime 100 btime 100",
            rng.choice(["stop", "ponderhit", "ucinewgame", "isready", "uci", "d", "eval"]),
            f"setoption name {rng.choice(spins)} value {number}",
            "setoption name "
            + rng.choice(["Hash value 1", "Clear Hash", "value", "EvalFile value x"]),
            "".join(rng.choices("abc go\t\0\x7f\ufffdé0123", k=rng.randrange(40))),
        ]
    )


@pytest.mark.slow
def test_a_hundred_thousand_broken_lines_are_survived(net: Path) -> None:
    rng, output = random.Random(1), io.StringIO()
    engine = Uci(net, output)
    for _ in range(100_000):
        words = broken_line(rng).split()
        if words:
            engine.obey(words)
        if output.tell() > 1 << 20:
            output.seek(0)
            output.truncate()
    engine.obey(["stop"])
    engine.obey(["position", "startpos"])
    engine.obey(["go", "nodes", "100"])
    engine.obey(["isready"])
    engine.run(["quit"])  # which waits for the answer
    assert "readyok" in output.getvalue()
    assert re.findall(r"bestmove (\S+)", output.getvalue())[-1] in map(
        str, chess.Board().legal_moves
    )


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("go movetime 50 rtime 5", 2),
        ("go rtime 5 depth 3", 2),
        ("go depth x", 1),
        ("go movetime", 1),
        ("go depth searchmoves a1a8", 1),
        ("go DEPTH 3", 2),
        ("go searchmoves e2e5 a1a8 nodes 50", 1),
        ("go searchmoves e2e5", 1),
        ("go btime 1000", 0),
        ("go winc 10", 0),
    ],
)
def test_a_go_that_is_partly_understood_is_a_search(net: Path, line: str, wrong: int) -> None:
    """What is left of it counts; where no limit is left it takes a moment."""
    answers = converse(net, "position fen 6k1/5ppp/8/8/8/8/5PPP/R5K1 w - - 0 1", line)
    assert len([text for text in answers if text.startswith("info string error")]) == wrong
    assert answers[-1] == "bestmove a1a8"


def test_what_is_said_of_an_error_is_short(net: Path) -> None:
    for line in ("x" * 100_000, "go " + "x" * 100_000, "position startpos moves " + "x" * 100_000):
        assert len(converse(net, line)[0]) < 400


def test_a_search_without_a_limit_ends_with_the_input(net: Path) -> None:
    for line in ("go", "go infinite", "go ponder"):
        assert converse(net, line)[-1].startswith("bestmove")


def test_a_stray_ponderhit_does_not_end_an_analysis(net: Path) -> None:
    output = io.StringIO()
    gui = Uci(net, output)
    for line in ("go infinite depth 1", "ponderhit", "isready"):
        gui.obey(line.split())
    time.sleep(0.2)
    assert "bestmove" not in output.getvalue()
    gui.run(["quit"])
    assert "bestmove" in output.getvalue()


def test_letters_that_the_output_cannot_show_are_survived(net: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "uci", "--net", str(net)],
        input="é€\nisready\n".encode(),
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
    )
    assert done.returncode == 0
    assert done.stdout.endswith(b"readyok\n")


def test_a_broken_net_ends_the_program_before_any_game(tmp_path: Path) -> None:
    (tmp_path / "broken.nnue").write_bytes(b"no net at all")
    done = subprocess.run(
        [*COMMAND, "uci", "--net", str(tmp_path / "broken.nnue")],
        input="uci\nisready\n",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert not done.stdout
    assert "nnuelab: error" in done.stderr


def test_go_takes_its_numbers_in_any_order() -> None:
    go = parse_go(["ponder", "binc", "3", "searchmoves", "e2e4", "d2d4", "wtime", "1000"])
    assert go.ponder
    assert go.numbers == {"binc": 3, "wtime": 1000}
    assert go.moves == ["e2e4", "d2d4"]


def test_eval_prints_one_integer_a_line(net: Path) -> None:
    fens = [chess.STARTING_FEN, "4k3/8/8/8/8/8/8/Q3K3 w - - 0 1"]
    command = [*COMMAND, "eval", "--net", str(net)]
    many = subprocess.run(command, input="\n".join(fens), capture_output=True, text=True)
    values = [int(line) for line in many.stdout.splitlines()]
    assert len(values) == 2
    assert values[1] > 700
    command += [word for fen in fens for word in ("--fen", fen)]
    given = subprocess.run(command, capture_output=True, text=True)
    assert given.stdout == many.stdout


def test_eval_names_the_line_of_a_broken_fen(net: Path) -> None:
    command = [*COMMAND, "eval", "--net", str(net)]
    lines = f"{chess.STARTING_FEN}\n\n8/8 w\n{chess.STARTING_FEN}\n"
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    assert done.returncode == 1
    assert "line 3: broken FEN '8/8 w'" in done.stderr
    assert len(done.stdout.splitlines()) == 1
    command += ["--max-unusable", "1"]
    done = subprocess.run(command, input=lines, capture_output=True, text=True)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
    assert "1 unusable (line 3: broken FEN '8/8 w'" in done.stderr


def test_eval_refuses_a_broken_fen(net: Path) -> None:
    command = [*COMMAND, "eval", "--net", str(net), "--fen", "8/8 w"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert "error: broken FEN" in done.stderr
    assert not done.stdout
