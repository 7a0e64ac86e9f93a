"""The UCI protocol without an engine: the reader in the main thread, who answers in another.

Nothing heavy is imported before it is needed, so that ``uci`` is answered at once. Whatever comes
in, the answer to what can't be done is an ``info string``, never an end of the process.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TextIO

from nnuelab.errors import UserError

STARTPOS = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
MULTIPV_MAX = 256
NUMBERS = (
    *("wtime", "btime", "winc", "binc", "movestogo"),
    *("movetime", "depth", "nodes", "mate"),
)
KEYWORDS = {*NUMBERS, "infinite", "ponder", "searchmoves"}
THREADS = "option name Threads type spin default 1 min 1 max 1"  # set by every tournament manager
LARGEST = 1 << 42  # nodes or ms (139 years), of which a search still reckons in 64 bits
COMPILING = "compiling the engine, once on this machine: about half a minute"
LONGEST = 300  # letters of what is said of an error
FAILURES = (UserError, ValueError, OverflowError, MemoryError)


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
                number = integer(text, f"go {word}")
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


def integer(text: str, name: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name} needs a number, not {text!r}") from None


def announced(announce: Callable[[], None]) -> AbstractContextManager[Any]:
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


class Conversation:
    """One conversation with a GUI; who plays is a class of its own.

    Parameters
    ----------
    output : text stream
    """

    options: tuple[str, ...] = ()  # lines that tell them

    def __init__(self, output: TextIO = sys.stdout) -> None:
        self._output = output
        self._output_lock = threading.Lock()
        self._game: tuple[str, list[str]] | None = (STARTPOS, [])  # None after a broken command
        self._positions: list = []  # records of the game, the last one is to be searched
        self._thread: threading.Thread | None = None
        self._may_answer = threading.Event()
        self._is_limited = False  # a search that will end by itself
        self._is_pondering = False
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "uci": self._uci,
            "isready": self._isready,
            "ucinewgame": self._ucinewgame,
            "position": self._position,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._ponderhit,
            "setoption": self._setoption,
            "d": self._display,
            "debug": lambda words: None,
            "register": lambda words: None,
        }

    # What a player adds

    def _load(self) -> None:
        """Makes what plays, if it isn't there yet."""
        raise NotImplementedError

    def _set_option(self, name: str, value: str) -> None:
        """Sets an option; ``name`` is in small letters."""
        raise NotImplementedError

    def _begin(self, words: list[str]) -> None:
        """Starts the search of a ``go``."""
        raise NotImplementedError

    def _new_game(self) -> None:
        """Forgets what is known of the game before."""

    def _stop_search(self) -> None:
        """Ends a search soon."""

    def _start_clock(self) -> None:
        """The time of a search that pondered begins."""

    # The conversation

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

    def _uci(self, words: list[str]) -> None:
        from nnuelab import __version__

        self._say(f"id name nnuelab {__version__}")
        self._say("id author the nnuelab authors")
        for option in self.options:
            self._say(option)
        self._say("uciok")

    def _isready(self, words: list[str]) -> None:
        try:
            self._load()
        finally:
            self._say("readyok")

    def _ucinewgame(self, words: list[str]) -> None:
        self._halt()
        self._new_game()

    def _setoption(self, words: list[str]) -> None:
        if not words or words[0] != "name":
            raise ValueError("setoption name NAME [value VALUE]")
        place = words.index("value") if "value" in words else len(words)
        name, value = " ".join(words[1:place]).lower(), " ".join(words[place + 1 :])
        self._halt()
        if name == "threads":
            within(value, "Threads", 1, 1)
        else:
            self._set_option(name, value)

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
            self._say(f"bestmove {any_move(self._current()[-1]) if self._game else '0000'}")

    def _read_go(self, words: list[str]) -> tuple[Go, list[int]]:
        """The words of a ``go``, and the moves that it restricts a search to; tells its faults."""
        from nnuelab.chess import notation

        go, position, moves = parse_go(words), self._current()[-1], []
        for text in go.moves:
            try:
                moves.append(notation.parse_uci(position, text))
            except ValueError as error:
                go.faults.append(error)
        for fault in go.faults:
            self._complain(fault)
        return go, moves

    def _think(self, think: Callable[[], None]) -> None:
        """Runs it in a thread of its own."""
        self._thread = threading.Thread(target=think, name="search", daemon=True)
        self._thread.start()

    def _stop(self, words: list[str]) -> None:
        if self._thread is not None:
            self._stop_search()
            self._may_answer.set()

    def _ponderhit(self, words: list[str]) -> None:
        if not self._is_pondering:
            return
        self._is_pondering = False
        self._start_clock()
        self._may_answer.set()

    def _halt(self) -> None:
        """Stops a search and waits for its answer."""
        self._stop([])
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _perft(self, words: list[str]) -> None:
        from nnuelab.chess import notation
        from nnuelab.chess.perft import MAX_DEPTH, divide

        depth = within(words[0] if words else "", "go perft", 1, MAX_DEPTH)
        counts = divide(self._current()[-1], depth)
        for move, count in counts.items():
            self._say(f"{notation.move_to_uci(move)}: {count}")
        self._say(f"\nNodes searched: {sum(counts.values())}")


def any_move(position: Any) -> str:
    """A legal move for when no search could be made; ``0000`` when there is none."""
    from nnuelab.chess import notation

    return notation.move_to_uci([*notation.moves_of(position), 0][0])


def within(text: str, name: str, low: int, high: int) -> int:
    value = integer(text, name)
    if not low <= value <= high:
        raise ValueError(f"{name} {value} is outside {low}..{high}")
    return value
