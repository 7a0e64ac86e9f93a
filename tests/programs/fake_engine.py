"""A UCI engine for tests: scores and moves depend on the position alone, by a hash.

Arguments: seconds to sleep before each answer; then words that make it misbehave: ``dies`` (ends at
the first search), ``silent`` (gives no score), ``sticky`` (scores tell how many searches were made
since ``ucinewgame``), ``hangs`` (never answers ``go`` in an endgame with a piece on h1),
``hangs-once=FILE`` (the same while FILE doesn't exist; makes it), ``stays`` (ignores ``quit``).
``log=FILE`` keeps the options and searches that it was asked for.
"""

import sys
import time
import zlib
from pathlib import Path

import chess

pause, faults = float(sys.argv[1]), sys.argv[2:]
board, searches = chess.Board(), 0
log = next((fault.partition("=")[2] for fault in faults if fault.startswith("log=")), None)
for line in sys.stdin:
    words = line.split()
    if log and words[:1] in (["setoption"], ["go"]):
        with open(log, "a") as kept:
            kept.write(line)
    if words[:1] == ["uci"]:
        print("id name Fake 1.0\noption name Hash type spin default 1 min 1 max 64")
        print("option name EvalFile type string default <empty>\nuciok")
    elif words[:1] == ["isready"]:
        print("readyok")
    elif words[:1] == ["ucinewgame"]:
        searches = 0
    elif words[:1] == ["position"]:
        moves = words[words.index("moves") + 1 :] if "moves" in words else []
        start = " ".join(words[2:8]) if words[1] == "fen" else chess.STARTING_FEN
        board = chess.Board(start)
        for move in moves:
            board.push_uci(move)
    elif words[:1] == ["go"]:
        if "dies" in faults:
            break
        time.sleep(pause)
        for fault in faults:
            if fault.startswith("hangs") and board.piece_map().get(chess.H1) and not board.queens:
                name = Path(fault.partition("=")[2] or "never")
                if not name.exists():
                    if name.is_absolute():
                        name.touch()
                    time.sleep(1000)
        number = zlib.crc32(board.fen().encode())
        legal = sorted(move.uci() for move in board.legal_moves)
        score = 100 * searches if "sticky" in faults else number % 121 - 60
        searches += 1
        if "silent" not in faults:
            print(f"info depth 1 score cp {score + 500} lowerbound nodes 3")
            print(f"info depth 1 score cp {score} nodes 5 pv {legal[:1]}")
        print(f"bestmove {legal[number % len(legal)] if legal else '(none)'}")
    elif words[:1] == ["quit"] and "stays" not in faults:
        break
    sys.stdout.flush()
