"""The client of UCI engines against python-chess; `tournament.test_chaos` has the faults."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import chess
import chess.engine
import pytest

from nnuelab.data.uci import UciEngine
from nnuelab.errors import UserError

ENGINE = r"""#!{python}
import sys
HEAD = '''id name A  name of words
option name Hash type spin default 16 min 8 max 64
option name Threads type spin default 2
option name Clear Hash type button
option name Style of play type combo default Solid var Solid var Risky var Very risky
option name OwnBook type check default true
option name Log File type string default <empty>
option name MultiPV type spin default 1 min 1 max 9
uciok'''
SAID = '''\xff garbage
info string depth 99 nodes 99 score cp 99
info depth 3 multipv 1 score cp 31 nodes 50 pv e2e4
info depth 4 seldepth 9 multipv 1 score cp -20 nodes 80 time 1 pv d2d4 d7d5
info depth 4 multipv 2 score mate -3 nodes 90 pv e2e3
info depth 5 currmove a2a3 currmovenumber 1
info nodes 99 time 2
bestmove d2d4 ponder d7d5'''
for line in sys.stdin:
    with open(__file__ + ".log", "a") as log:
        log.write(line)
    said = {{"uci": HEAD, "isready": "readyok", "go": SAID}}.get(line.split()[0])
    if said:
        sys.stdout.buffer.write(said.encode("latin-1") + b"\r\n")
        sys.stdout.flush()
    if line == "quit\n":
        break
"""


@pytest.fixture
def program(tmp_path: Path) -> str:
    path = tmp_path / "engine"
    path.write_text(ENGINE.format(python=sys.executable), "utf-8")
    path.chmod(0o755)
    return str(path)


def test_an_answer_is_what_python_chess_reads(program: str) -> None:
    with UciEngine([program], {"MultiPV": 2}) as engine:
        reply = engine.search("startpos", "nodes 1", clear=True)
        assert engine.search("startpos", "nodes 1") == reply
        assert engine.name == "A  name of words"
        engine.configure({"multipv": 1})
        best = engine.search("startpos", "nodes 1")
        assert (best.nodes, best.depth, *best.variations) == (99, 5, reply.variations[0])
    with chess.engine.SimpleEngine.popen_uci(program) as other:
        lines = other.analyse(chess.Board(), chess.engine.Limit(nodes=1), multipv=2)
    assert reply.move == "d2d4"
    assert (reply.depth, reply.nodes) == (5, 99)
    assert [line.moves for line in reply.variations] == [
        [move.uci() for move in line["pv"]] for line in lines
    ]
    scores = [line["score"].relative for line in lines]
    assert [(line.cp, line.mate) for line in reply.variations] == [
        (score.score(), score.mate()) for score in scores
    ]


OPTIONS: list[tuple[str, Any, bool]] = [
    ("hash", 8, True),
    ("Hash", 7, False),
    ("Hash", 65, False),
    ("Hash", "many", False),
    ("Threads", -5, True),
    ("Clear Hash", None, True),
    ("Style of play", "Very risky", True),
    ("Style of play", "risky", False),
    ("OwnBook", False, True),
    ("Log File", "a b", True),
    ("Log File", "a\nquit", False),
    ("Skill", 1, False),
]


@pytest.mark.parametrize(("name", "value", "fits"), OPTIONS)
def test_options_are_taken_as_python_chess_takes_them(
    program: str, name: str, value: Any, fits: bool
) -> None:
    log = Path(program + ".log")

    def said() -> str:
        """The first line about the option."""
        lines = log.read_text().lower().splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return next((line for line in lines if name.lower() in line), "")

    with chess.engine.SimpleEngine.popen_uci(program) as other:
        try:
            other.configure({name: value})
            other.ping()
        except chess.engine.EngineError:
            assert not fits
    expected = said()
    if fits:
        with UciEngine([program], {name: value}) as engine:
            assert engine.configured[name] == value
            assert said() == expected
    else:
        with pytest.raises(UserError, match=r"\A.*\Z"):  # one line
            UciEngine([program], {name: value})


def test_the_defaults_are_moved_into_the_engine_s_range(program: str) -> None:
    with UciEngine([program]) as engine:
        assert engine.configured == {"Threads": 1, "Hash": 8, "OwnBook": False}
    with UciEngine([program], {"threads": 4, "ownbook": True}, hash_mb=100) as engine:
        assert engine.configured == {"threads": 4, "ownbook": True, "Hash": 64}
