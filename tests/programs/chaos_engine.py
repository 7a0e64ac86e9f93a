"""A UCI engine that misbehaves once, in the third search of its first life, as its argument says.

Arguments: a file that it makes when it misbehaves (while the file is there, it plays well), and
one of the FAULTS; ``well`` has none.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import chess

mark, fault = Path(sys.argv[1]), sys.argv[2]
board, searches = chess.Board(), 0


def say(text: str) -> None:
    print(text, flush=True)


def sleep() -> None:
    while True:  # whatever signal comes
        time.sleep(1000)


def misbehave() -> None:
    """Does not return where the search has no answer."""
    if fault == "crash":
        os._exit(3)
    elif fault == "vanish":
        os.unlink(sys.argv[0])
        os._exit(3)
    elif fault == "abort":
        os.abort()
    elif fault == "hang":
        sleep()
    elif fault == "children":  # and what it has started hangs, too
        subprocess.Popen(["sleep", "1000"])
        sleep()
    elif fault == "children of their own":  # in groups of their own
        subprocess.Popen(["sleep", "1000.25"], start_new_session=True)
        sleep()
    elif fault == "garbage":
        while True:
            sys.stdout.buffer.write(bytes(range(256)) * 200 + b"\n")
    elif fault == "endless line":
        while True:
            sys.stdout.buffer.write(b"x" * 65536)
    elif fault == "words":
        say("bestmove castles")
    elif fault == "illegal":
        say("bestmove a1h8")
    elif fault == "null move":
        say("bestmove 0000")
    elif fault == "no move":
        say("bestmove (none)")
    elif fault == "close":
        os.close(1)
        sleep()
    elif fault == "memory":
        hoard = []
        while True:
            hoard.append(bytearray(b"x" * (1 << 24)))
    elif fault == "late":
        time.sleep(0.7)
        return
    elif fault == "busy":
        end = time.process_time() + 0.7
        while time.process_time() < end:
            pass
        return
    elif fault == "deaf":  # ignores stop, as it ignores all that is said while it thinks
        sleep()
    elif fault == "leaves":  # after its answer, while the other one thinks
        say(f"bestmove {next(iter(board.legal_moves))}")
        os._exit(0)
    else:
        raise SystemExit(f"no fault {fault}")


for line in sys.stdin:
    words = line.split()
    if words[:1] == ["uci"]:
        say("id name Chaos 1.0\noption name Hash type spin default 8 min 2 max 64\nuciok")
    elif words[:1] == ["isready"]:
        say("readyok")
    elif words[:1] == ["position"]:
        moves = words[words.index("moves") + 1 :] if "moves" in words else []
        board = chess.Board(" ".join(words[2:8]) if words[1] == "fen" else chess.STARTING_FEN)
        for move in moves:
            board.push_uci(move)
    elif words[:1] == ["go"]:
        searches += 1
        answered = False
        if searches == 3 and fault != "well" and not mark.exists():
            mark.touch()
            misbehave()
            answered = fault in ("words", "illegal", "null move", "no move")
        if not answered:
            legal = sorted(move.uci() for move in board.legal_moves)
            say("info depth 1 score cp 12 nodes 7 time 1")
            say(f"bestmove {legal[len(board.move_stack) % len(legal)]}")
    elif words[:1] == ["quit"]:
        break
