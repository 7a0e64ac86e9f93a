"""The UCI protocol: the reader in the main thread, the search in another.

Nothing heavy is imported before the engine is needed, so that ``uci`` is answered at once. Whatever
comes in, the answer to what can't be done is an ``info string``, never an end of the process.
"""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from nnuelab.errors import UserError

if TYPE_CHECKING:
    from nnuelab.engine.clock import Budget
    from nnuelab.engine.search import Engine, Result
    from nnuelab.evaluator import Evaluator

STARTPOS = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
HASH_DEFAULT, HASH_MAX = 16, 1 << 16  # MB
OVERHEAD_DEFAULT, OVERHEAD_MAX = 10, 5000  # ms
MULTIPV_MAX = 256
NUMBERS = (
    *("wtime", "btime", "winc", "binc", "movestogo"),
    *("movetime", "depth", "nodes", "mate"),
)
KEYWORDS = {*NUMBERS, "infinite", "ponder", "searchmoves"}
LARGEST = 1 << 42  # nodes or ms (139 years), of which a search still reckons in 64 bits
COMPILING = "compiling the engine, once on this machine: about half a minute"
UNCLEAR_MS = 100  # a search takes where it isn't clear how much it may
LONGEST = 300  # letters of what is said of an error
FAILURES = (UserError, ValueError, OverflowError, MemoryError)
_OPTIONS = (
    f"option name Hash type spin default {HASH_DEFAULT} min 1 max {HASH_MAX}",
    "option name Clear Hash type button",
    "option name EvalFile type string default <empty>",
    f"option name MultiPV type spin default 1 min 1 max {MULTIPV_MAX}",
    "option name Ponder type check default false",
    f"option name Move Overhead type spin default {OVERHEAD_DEFAULT} min 0 max {OVERHEAD_MAX}",
)


@dataclass
class Go:
    """The words of a ``go`` command, and what was wrong with others."""

    numbers: dict[str, int] = field(default_factory=dict)
    infinite: bool = False
    ponder: bool = False
    moves: list[str] = field(default_factory=list)
    faults: list[ValueError] = field(default_factory=list)


def parse_go(words: list[str]) -> Go:
    """The limits of a ``go``; a word that is unknown or has no number counts as not there."""
    go, i = Go(), 0
    while i < len(words):
        word = words[i]
        i += 1
        if word in NUMBERS:
            text = words[i] if i < len(words) and words[i] not in KEYWORDS else ""
            i += bool(text)
            try:
                number = _integer(text, f"go {word}")
            except ValueError as error:
                go.faults.append(error)
                continue
            go.numbers[word] = min(max(number, -LARGEST), LARGEST)
        elif word == "infinite":
            go.infinite = True
        elif word == "ponder":
            go.ponder = True
        elif word == "searchmoves":
            while i < len(words) and words[i] not in KEYWORDS:
                go.moves.append(words[i])
                i += 1
        else:
            go.faults.append(ValueError(f"go knows no {word!r}"))
    return go


def _integer(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} needs a number, not {text!r}") from None


def read_evaluator(file: Path | None) -> Evaluator:
    """The evaluator of a file; None: the net that ships with the package."""
    from nnuelab import evaluator

    return evaluator.read(file)


def _announced(announce: Callable[[], None]) -> AbstractContextManager[Any]:
    """Calls ``announce`` when kernels have to be compiled: few GUIs wait so long in silence."""
    from numba.core import event

    class Once(event.Listener):
        announced = False

        def on_start(self, event: event.Event) -> None:
            if not self.announced:
                self.announced = True
                announce()

        def on_end(self, event: event.Event) -> None:
            pass

    return event.install_listener("numba:compile", Once())


class Uci:
    """One conversation with a GUI.

    Parameters
    ----------
    file : path or None
        What EvalFile is until it is set.
    read : callable
        Makes the evaluator of a file, or of None.
    """

    def __init__(
        self,
        file: Path | None = None,
        output: TextIO = sys.stdout,
        read: Callable[[Path | None], Evaluator] = read_evaluator,
    ) -> None:
        self._file, self._read = file, read
        self._evaluator: Evaluator | None = None  # of that file, once it is read
        self._output = output
        self._output_lock = threading.Lock()
        self._engine: Engine | None = None
        self._hash_mb = HASH_DEFAULT
        self._overhead = OVERHEAD_DEFAULT
        self._multipv = 1
        self._game: tuple[str, list[str]] | None = (STARTPOS, [])  # None after a broken command
        self._positions: list = []  # records of the game, the last one is to be searched
        self._thread: threading.Thread | None = None
        self._may_answer = threading.Event()
        self._is_limited = False  # a search that will end by itself
        self._is_pondering = False
        self._budget: Budget | None = None  # of a search that ponders
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "uci": self._uci,
            "isready": self._isready,
            "ucinewgame": self._ucinewgame,
            "position": self._position,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._ponderhit,
            "setoption": self._setoption,
            "bench": self._bench,
            "d": self._display,
            "eval": self._eval,
            "debug": lambda words: None,
            "register": lambda words: None,
        }

    def run(self, lines: Iterable[str]) -> None:
        """Obeys until ``quit`` or the end of the input, which lets a limited search finish."""
        for line in lines:
            words = line.split()
            if not words:
                continue
            if words[0] == "quit":
                self._halt()
                return
            self.obey(words)
        if self._thread is not None and self._may_answer.is_set() and self._is_limited:
            self._thread.join()
        self._halt()

    def obey(self, words: list[str]) -> None:
        """Does one command; whatever fails is said in an ``info string``."""
        try:
            command = self._commands.get(words[0])
            if command is None:
                raise ValueError(f"unknown command {words[0]!r}")
            command(words[1:])
        except FAILURES as error:
            self._complain(error)

    def _complain(self, error: Exception) -> None:
        reason = " ".join(str(error).split()) or type(error).__name__
        self._say(f"info string error: {reason[:LONGEST]}")

    def _say(self, text: str) -> None:
        with self._output_lock:
            self._output.write(text + "\n")
            self._output.flush()

    # The engine and its options

    def _loaded(self) -> Engine:
        """The engine, made when it is first needed."""
        if self._engine is None:
            with _announced(lambda: self._say(f"info string {COMPILING}")):
                engine = self._made()
            # The collector would look through all of it again, some 60 ms, in a search.
            gc.collect()
            gc.freeze()
            self._engine = engine
        return self._engine

    def _made(self) -> Engine:
        from nnuelab.engine.search import Engine

        evaluator = self._evaluator or self._read(self._file)
        try:
            return Engine(evaluator, self._hash_mb)
        except MemoryError as error:
            self._complain(error)
            self._say(f"info string Hash is {HASH_DEFAULT} MB instead of {self._hash_mb}")
            self._hash_mb = HASH_DEFAULT
            return Engine(evaluator, self._hash_mb)

    def _uci(self, words: list[str]) -> None:
        from nnuelab import __version__

        self._say(f"id name nnuelab {__version__}")
        self._say("id author the nnuelab authors")
        for option in _OPTIONS:
            self._say(option)
        self._say("uciok")

    def _isready(self, words: list[str]) -> None:
        try:
            self._loaded()
        finally:
            self._say("readyok")

    def _ucinewgame(self, words: list[str]) -> None:
        self._halt()
        if self._engine is not None:
            self._engine.new_game()

    def _setoption(self, words: list[str]) -> None:
        if not words or words[0] != "name":
            raise ValueError("setoption name NAME [value VALUE]")
        place = words.index("value") if "value" in words else len(words)
        name, value = " ".join(words[1:place]).lower(), " ".join(words[place + 1 :])
        self._halt()
        if name == "hash":
            megabytes = _within(value, "Hash", 1, HASH_MAX)
            if self._engine is not None:
                self._engine.resize(megabytes)  # raises before anything is changed
            self._hash_mb = megabytes
        elif name == "move overhead":
            self._overhead = _within(value, "Move Overhead", 0, OVERHEAD_MAX)
        elif name == "multipv":
            self._multipv = _within(value, "MultiPV", 1, MULTIPV_MAX)
        elif name == "evalfile":
            self._set_file(None if value in ("", "<empty>") else Path(value))
        elif name == "clear hash":
            if self._engine is not None:
                self._engine.clear_hash()
        elif name != "ponder":  # pondering is switched by `go ponder` alone
            raise ValueError(f"no option {name!r}")

    def _set_file(self, file: Path | None) -> None:
        evaluator = self._read(file)  # raises before anything is changed
        if self._engine is not None:
            self._engine.set_evaluator(evaluator)
        self._evaluator = evaluator

    # The game

    def _position(self, words: list[str]) -> None:
        if not words or words[0] not in ("startpos", "fen"):
            self._forget()
            raise ValueError("position startpos|fen FEN [moves MOVE...]")
        place = words.index("moves") if "moves" in words else len(words)
        fen = STARTPOS if words[0] == "startpos" else " ".join(words[1:place])
        self._set_game(fen, words[place + 1 :])

    def _forget(self) -> None:
        """What the GUI has on its board is unknown: no search must pass for one of it."""
        self._game, self._positions = None, []

    def _set_game(self, fen: str, moves: list[str]) -> None:
        """Up to the first illegal move, as Stockfish does; a broken FEN leaves no position."""
        from nnuelab.chess import notation

        known_fen, known = self._game or ("", [])
        if self._positions and fen == known_fen and moves[: len(known)] == known:
            positions = list(self._positions)  # the game goes on: only the new moves are read
        else:
            self._forget()
            positions, known = [notation.from_fen(fen)], []
        try:
            for text in moves[len(known) :]:
                move = notation.parse_uci(positions[-1], text)
                positions.append(notation.after(positions[-1], move))
        finally:
            self._game, self._positions = (fen, moves[: len(positions) - 1]), positions

    def _current(self) -> list:
        if self._game is None:
            raise ValueError("there is no position: the last position command was broken")
        if not self._positions:
            self._set_game(*self._game)
        return self._positions

    def _display(self, words: list[str]) -> None:
        from nnuelab.chess import notation

        fen = notation.to_fen(self._current()[-1])
        for row in fen.split()[0].split("/"):
            squares = "".join("." * int(c) if c.isdigit() else c for c in row)
            self._say(" ".join(squares))
        self._say(f"Fen: {fen}")
        self._say(f"Key: {int(self._current()[-1]['key']):016x}")

    def _eval(self, words: list[str]) -> None:
        self._halt()
        value = self._loaded().evaluate(self._current()[-1])
        self._say(f"info string evaluation {value} centipawns for the side to move")

    # The search

    def _go(self, words: list[str]) -> None:
        self._halt()
        if words and words[0] == "perft":
            self._perft(words[1:])
            return
        try:
            self._begin(words)
        except FAILURES as error:  # the GUI waits for a move, whatever has happened
            self._complain(error)
            self._say(f"bestmove {_any_move(self._current()[-1]) if self._game else '0000'}")

    def _begin(self, words: list[str]) -> None:
        """Starts the search of a ``go``."""
        from nnuelab.chess import notation

        go = parse_go(words)
        engine, positions = self._loaded(), self._current()
        position, moves = positions[-1], []
        for text in go.moves:
            try:
                moves.append(notation.parse_uci(position, text))
            except ValueError as error:
                go.faults.append(error)
        for fault in go.faults:
            self._complain(fault)
        numbers: dict[str, Any] = {
            name: max(go.numbers[name], 1) for name in NUMBERS[-3:] if name in go.numbers
        }
        budget = self._budget_of(go, int(position["turn"]))
        engine.ready()
        self._is_limited, self._is_pondering = bool(numbers) or budget is not None, go.ponder
        self._budget = budget if go.ponder else None
        self._may_answer.clear()
        if not go.infinite and not go.ponder:
            self._may_answer.set()
            if budget is not None:
                engine.set_budget(budget)

        def think() -> None:
            keys = [int(p["key"]) for p in positions[:-1]]
            told: list[Result] = []

            def tell(result: Result) -> None:
                if result.number == 0:
                    told[:] = [result]
                self._say_info(result)

            try:
                best = engine.search(
                    position,
                    keys,
                    **numbers,
                    moves=moves or None,
                    multipv=self._multipv,
                    on_info=tell,
                )
            except Exception as error:
                self._say(f"info string error: the search failed: {error!r}")
                self._say(f"bestmove {_any_move(position)}")
                return
            self._may_answer.wait()
            if told != [best]:  # the last iteration was cut
                self._say_info(best)
            self._say(_bestmove(best))

        self._thread = threading.Thread(target=think, name="search", daemon=True)
        self._thread.start()

    def _budget_of(self, go: Go, turn: int) -> Budget | None:
        from nnuelab.engine import clock

        n = go.numbers
        if "movetime" in n:
            return clock.fixed(n["movetime"], self._overhead)
        remaining = n.get("btime" if turn else "wtime")
        if go.infinite:
            return None
        if remaining is None:
            unclear = (n or go.faults) and not any(name in n for name in NUMBERS[-3:])
            return clock.fixed(UNCLEAR_MS, 0) if unclear else None
        increment = max(n.get("binc" if turn else "winc", 0), 0)
        to_go = n.get("movestogo")
        return clock.budget(
            remaining, increment, to_go if to_go and to_go > 0 else None, self._overhead
        )

    def _say_info(self, result: Result) -> None:
        from nnuelab.chess import notation

        score = f"cp {result.score_cp}" if result.mate is None else f"mate {result.mate}"
        pv = " ".join(notation.move_to_uci(move) for move in result.pv)
        self._say(
            f"info depth {result.depth} seldepth {result.seldepth} "
            f"multipv {result.number + 1} score {score} "
            f"nodes {result.nodes} nps {int(result.nodes / max(result.seconds, 1e-6))} "
            f"hashfull {self._loaded().hashfull()} time {int(result.seconds * 1000)}"
            + (f" pv {pv}" if pv else "")
        )

    def _stop(self, words: list[str]) -> None:
        if self._thread is not None and self._engine is not None:
            self._engine.stop()
            self._may_answer.set()

    def _ponderhit(self, words: list[str]) -> None:
        if not self._is_pondering:
            return
        self._is_pondering = False
        if self._engine is not None and self._budget is not None:
            self._engine.set_budget(self._budget)
        self._may_answer.set()

    def _halt(self) -> None:
        """Stops a search and waits for its answer."""
        self._stop([])
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    # Tools

    def _perft(self, words: list[str]) -> None:
        from nnuelab.chess import notation
        from nnuelab.chess.perft import MAX_DEPTH, divide

        depth = _within(words[0] if words else "", "go perft", 1, MAX_DEPTH)
        counts = divide(self._current()[-1], depth)
        for move, count in counts.items():
            self._say(f"{notation.move_to_uci(move)}: {count}")
        self._say(f"\nNodes searched: {sum(counts.values())}")

    def _bench(self, words: list[str]) -> None:
        from nnuelab.engine import bench

        self._halt()
        depth = _within(words[0], "bench", 1, 64) if words else bench.DEPTH
        measured = bench.run(self._loaded(), depth)
        self._say(f"Nodes searched  : {measured.nodes}")
        self._say(f"Nodes/second    : {measured.nps}")


def _any_move(position: Any) -> str:
    """A legal move for when no search could be made; ``0000`` when there is none."""
    from nnuelab.chess import notation

    return notation.move_to_uci([*notation.moves_of(position), 0][0])


def _bestmove(best: Result) -> str:
    from nnuelab.chess import notation

    if not best.pv:
        return "bestmove (none)"
    ponder = f" ponder {notation.move_to_uci(best.pv[1])}" if len(best.pv) > 1 else ""
    return f"bestmove {notation.move_to_uci(best.move)}{ponder}"


def _within(text: str, name: str, low: int, high: int) -> int:
    value = _integer(text, name)
    if not low <= value <= high:
        raise ValueError(f"{name} {value} is outside {low}..{high}")
    return value
