"""A tournament manager for tests.

It takes a command line as fastchess' or cutechess-cli's manual has it, refuses any other, and plays
short games between the real processes by python-chess.

Its program's name says which of both it is. Environment: MANAGER_GAMES ends it after so many games,
MANAGER_FAULT is the Termination of a first game that is lost at once by who has White.
"""

import os
import sys
from itertools import count
from pathlib import Path

import chess
import chess.engine
import chess.pgn

FAST = Path(sys.argv[0]).name == "fastchess"
ENGINE_KEYS = {"name", "cmd", "proto", "dir", "nodes", "tc", "st", "timemargin"}
ENGINE_KEYS |= {"plies", "args"} if FAST else {"depth", "arg"}
KEYS = {
    "-draw": {"movenumber", "movecount", "score"},
    "-resign": {"movecount", "score", "twosided"},
    "-openings": {"file", "format", "order"},
    **({"-pgnout": {"file", "nodes"}} if FAST else {}),
}
PLAIN = {"-rounds", "-games", "-concurrency", "-maxmoves", *([] if FAST else ["-pgnout"])}
ALONE = {"-repeat", "-recover"}


def parsed(words):
    """Options, each with its values; the engines apart."""
    engines, options = [], {}
    current = None
    for word in words:
        key, mark, value = word.partition("=")
        if word == "-engine":
            current = {"arg": [], "options": {}}
            engines.append(current)
            allowed = ENGINE_KEYS
        elif word in KEYS:
            current, allowed = options.setdefault(word, {}), KEYS[word]
        elif word in PLAIN:
            current = word
        elif word in ALONE:
            options[word], current = True, None
        elif isinstance(current, str):
            options[current], current = word, None
        elif current is not None and mark and key.startswith("option."):
            current["options"][key.removeprefix("option.")] = value
        elif current is not None and mark and key in allowed:
            if key == "arg":
                current["arg"].append(value)
            else:
                current[key] = value
        else:
            sys.exit(f"I don't know {word}")
    return engines, options


def limit_of(engine):
    if "nodes" in engine:
        return chess.engine.Limit(nodes=int(engine["nodes"]))
    if depth := engine.get("plies") or engine.get("depth"):
        return chess.engine.Limit(depth=int(depth))
    if "st" in engine:
        return chess.engine.Limit(time=float(engine["st"]))
    start, increment = map(float, engine["tc"].split("+"))
    return chess.engine.Limit(
        white_clock=start, black_clock=start, white_inc=increment, black_inc=increment
    )


def started(engine):
    arguments = engine["args"].split() if "args" in engine else engine["arg"]
    process = chess.engine.SimpleEngine.popen_uci([engine["cmd"], *arguments], cwd=engine["dir"])
    process.configure(engine["options"])
    return process


def position(line):
    board = chess.Board()
    counters = board.set_epd(line)
    board.halfmove_clock, board.fullmove_number = counters["hmvc"], counters["fmvn"]
    return board


engines, options = parsed(sys.argv[1:])
assert len(engines) == 2
assert options["-games"] == "2"
assert options["-repeat"]
book = Path(options["-openings"]["file"]).read_text().splitlines()
assert len(book) == int(options["-rounds"])
output = options["-pgnout"]["file"] if FAST else options["-pgnout"]
most = int(os.environ.get("MANAGER_GAMES", "9999"))
fault = os.environ.get("MANAGER_FAULT")
processes = [started(engine) for engine in engines]
played = count()
Path("config.json").write_text("{}")  # as fastchess does, wherever it is started
with open(output, "w") as file:
    for round_, line in enumerate(book, 1):
        for sides in ((0, 1), (1, 0)):
            if next(played) == most:
                print("something happened", flush=True)
                os._exit(3)  # python-chess' threads would go on
            board = position(line)
            game = chess.pgn.Game()
            game.setup(board)
            node, ended = game, "normal"
            while not board.is_game_over() and board.ply() < 2 * int(options["-maxmoves"]):
                if fault:
                    break
                side = sides[board.turn == chess.BLACK]
                move = processes[side].play(board, limit_of(engines[side])).move
                node = node.add_variation(move, comment="+0.31/12 0.101s")
                board.push(move)
            result = board.result() if board.is_game_over() else "1/2-1/2"
            if fault:
                result, ended, fault = "0-1", fault, None
            game.headers.update(
                White=engines[sides[0]]["name"],
                Black=engines[sides[1]]["name"],
                Result=result,
                Termination=ended,
                Round=str(round_),
            )
            print(game, file=file, end="\n\n", flush=True)
for process in processes:
    process.quit()
