"""A client of UCI engines: it starts a process, sends commands and parses answers.

What python-chess does for a search (an asyncio loop, a board, the parsing of every line) takes as
long as Stockfish needs for some hundred nodes; it waits for ever under a limit of nodes or depth,
and asks an engine that is late to stop, which some ignore. Here commands are written in one go, of
the answer only the last lines are parsed, and every answer has its time: an engine that fails is
killed with its whole process group.
"""

from __future__ import annotations

import os
import re
import resource
import select
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from math import inf
from pathlib import Path
from typing import Any, NamedTuple, Self

from nnuelab.data.parallel import die_with_parent, end_group
from nnuelab.errors import UserError

HASH_MB = 4  # cleared before each game or position: more would only cost time
DEFAULTS: dict[str, Any] = {"Threads": 1, "Hash": HASH_MB, "OwnBook": False}
"""Options of an engine that is told no others, where it has them."""
STARTING = 120.0  # seconds for `uci` and `isready`: nets are loaded, and ours compiles
PATIENCE = 120.0  # seconds for any other answer
STARTS = 3  # attempts to start an engine again
LONGEST_LINE = 1 << 16  # bytes; an engine that never ends its line would fill the memory
LAST_LINES = 1024  # of an answer, in which its scores are looked for
_OPTION = re.compile(r"option name (.+?) type (\w+)(.*)")


def find_engine(engine: str | Path) -> str:
    """The absolute path of an engine's program, given by path or by name.

    Raises
    ------
    UserError
        When there is no such program, or it can't be executed.
    """
    # Debian installs games outside of root's and of many services' PATH.
    places = os.pathsep.join([os.environ.get("PATH", os.defpath), "/usr/games"])
    found = shutil.which(str(engine), path=places)
    if found is None:
        raise UserError(
            f"no engine {engine!s}: it is neither a program on PATH nor an executable file; "
            "install it (Debian: apt install stockfish) or name another one"
        )
    return os.path.abspath(found)  # links stay: a program may go by the name it is called by


class UciError(Exception):
    """An engine's failure, worded as the end of a sentence: "it died"."""


class NoAnswer(UciError):
    """Its answer takes too long."""


class Died(UciError):
    """It has ended, or closed its output."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"it died with exit status {status}")
        self.status = status


class Variation(NamedTuple):
    """A line of play with its score for the side to move: centipawns, or moves to mate."""

    cp: int | None
    mate: int | None
    moves: list[str]  # UCI


@dataclass(frozen=True)
class Reply:
    """The answer to ``go``.

    Attributes
    ----------
    move : str
        UCI; empty when the engine has none.
    depth, nodes : int or None
        As it said last.
    variations : list of Variation
        The last one with an exact score, of each line that it was asked for (``MultiPV``).
    """

    move: str
    depth: int | None
    nodes: int | None
    variations: list[Variation]


class UciEngine:
    """An engine in a process, which ends with the thread that has started it; a context manager.

    Parameters
    ----------
    command : sequence of str
        Its program and arguments.
    options : mapping
        UCI options, by name in any case.
    hash_mb : int
        Of its transposition table, where ``options`` don't say; moved into the range that it has.
        It gets one thread and no book of its own in the same way.
    memory_mb : int or None
        Of data that it may have in memory; Linux stops it from taking more.

    Attributes
    ----------
    name : str
        What it calls itself, version included.
    configured : dict
        The options that it was given.

    Raises
    ------
    UserError
        When it doesn't start, or doesn't take its options.
    """

    def __init__(
        self,
        command: Sequence[str],
        options: Mapping[str, Any] | None = None,
        hash_mb: int = HASH_MB,
        memory_mb: int | None = None,
    ) -> None:
        self.command, self.name = list(command), Path(command[0]).name
        self.configured: dict[str, Any] = {}
        self._wanted, self._hash_mb, self._memory_mb = dict(options or {}), hash_mb, memory_mb
        self._options: dict[str, re.Match[str]] = {}
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        try:
            self._start()
        except UciError as error:
            raise UserError(
                f"{' '.join(self.command)} doesn't start as a UCI engine ({error}); start it by "
                "hand and type `uci`"
            ) from error
        except UserError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """Of its process; None when it has gone."""
        return None if self._process is None else self._process.pid

    def _start(self) -> None:
        try:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
                preexec_fn=partial(die_with_parent, signal.SIGKILL),
            )
        except OSError as error:
            raise UciError(error.strerror or str(error)) from error
        self._rest = b""  # of a line that isn't complete
        self._asked = 1  # for so many variations
        if self._memory_mb is not None and hasattr(resource, "prlimit"):
            most = self._memory_mb << 20
            resource.prlimit(self._process.pid, resource.RLIMIT_DATA, (most, most))
        self._options = {}
        for line in self._answer("uci\n", b"uciok", STARTING):
            text = line.decode(errors="replace").strip()
            if text.startswith("id name "):
                self.name = text.removeprefix("id name ").strip()
            elif option := _OPTION.match(text):
                self._options[option[1].lower()] = option
        self.configured = dict(self._wanted)
        asked = {name.lower() for name in self._wanted}
        for name, value in {**DEFAULTS, "Hash": self._hash_mb}.items():
            option = self._options.get(name.lower())
            if option is not None and name.lower() not in asked:
                if option[2] == "spin":
                    low, high = _range(option)
                    value = int(max(low, min(value, high)))
                self.configured[name] = value
        self.configure(self.configured)

    def configure(self, options: Mapping[str, Any]) -> None:
        """Sets options.

        Raises
        ------
        UserError
            When it hasn't such an option, or not such a value.
        UciError
            When it fails.
        """
        said = []
        for name, value in options.items():
            option = self._options.get(name.lower())
            if option is None:
                raise UserError(f"{self.name} has no option {name!r}; ask it: type `uci`")
            text = str(value).lower() if isinstance(value, bool) else str(value)
            if (wrong := _mistake(option, text)) is not None:
                raise UserError(f"{self.name}: option {name}: {text!r} {wrong}")
            is_button = option[2] == "button"
            said.append(f"setoption name {option[1]}{'' if is_button else f' value {text}'}\n")
            if option[1] == "MultiPV":
                self._asked = int(text)
        self._wait("".join(said))

    def new_game(self) -> None:
        """Clears its memory; an engine that has gone is started again.

        Raises
        ------
        UserError
            When it doesn't start any more.
        """
        reason: UciError | None = None
        for attempt in range(STARTS + 1):
            if self._closed:
                break
            try:
                if self._process is None:
                    time.sleep(attempt)  # what made it fail may pass
                    self._start()
                self._wait("ucinewgame\n")
                return
            except UciError as error:
                reason = error
        raise UserError(
            f"{' '.join(self.command)} no longer starts ({reason}); run the same command "
            "again to resume once it does"
        )

    def search(
        self, position: str, limit: str, patience: float = PATIENCE, *, clear: bool = False
    ) -> Reply:
        """Its answer to a position.

        Parameters
        ----------
        position, limit : str
            What follows ``position`` and ``go``: ``fen FEN moves e2e4``, ``nodes 5000``.
        patience : float
            Seconds for the answer.
        clear : bool
            Clear its memory first, as `new_game` does.

        Raises
        ------
        UciError
            When it fails; it has gone then.
        """
        first = "ucinewgame\nisready\n" if clear else ""
        commands = f"{first}position {position}\ngo {limit}\n"
        lines = deque(self._answer(commands, b"bestmove", patience), LAST_LINES)
        move = [*lines.pop().decode(errors="replace").split(), ""][1]
        depth = nodes = None
        found: dict[int, Variation] = {}
        for line in reversed(lines):
            if not line.startswith(b"info ") or line.startswith(b"info string"):
                continue
            depth = _number(line, b"depth") if depth is None else depth
            nodes = _number(line, b"nodes") if nodes is None else nodes
            number = _number(line, b"multipv") or 1
            # Bounds come from unfinished aspiration windows.
            if b" score " in line and b"bound" not in line and number <= self._asked:
                found.setdefault(number, _variation(line))
            if len(found) == self._asked and None not in (depth, nodes):
                break
        move = "" if move in ("(none)", "0000", "NULL") else move
        return Reply(move, depth, nodes, [found[i] for i in sorted(found)])

    def ask(self, commands: str, patience: float = PATIENCE) -> list[str]:
        """The lines that it prints for commands which don't search; the last `LAST_LINES`.

        Raises
        ------
        UciError
            When it fails; it has gone then.
        """
        lines = deque(self._answer(f"{commands}isready\n", b"readyok", patience), LAST_LINES)
        return [line.decode(errors="replace").strip() for line in lines]

    def _wait(self, commands: str) -> None:
        self.ask(commands, STARTING)

    def _answer(self, commands: str, end: bytes, patience: float) -> Iterator[bytes]:
        """The lines that answer commands, up to the one that begins with ``end``."""
        process = self._process
        if process is None:
            raise Died(None)
        assert process.stdin is not None
        assert process.stdout is not None
        poll, deadline = select.poll(), time.monotonic() + patience
        try:
            handle = process.stdout.fileno()
            poll.register(handle, select.POLLIN)
            process.stdin.write(commands.encode())
            process.stdin.flush()
            while len(self._rest) < LONGEST_LINE:
                left = deadline - time.monotonic()
                if left <= 0 or not poll.poll(left * 1e3):
                    self.kill()
                    raise NoAnswer(f"no answer within {patience:g} s")
                read = os.read(handle, 1 << 16)
                if not read:
                    break
                *lines, self._rest = (self._rest + read).split(b"\n")
                for line in lines:
                    yield line
                    if line.startswith(end):
                        return
        except (OSError, ValueError):  # a pipe that is closed
            pass
        raise Died(self.kill())

    def kill(self) -> int | None:
        """Kills the engine with its children; returns its exit status."""
        process, self._process = self._process, None
        if process is None:
            return None
        status = end_group(process)
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()
        return status

    def close(self) -> None:
        """Ends the engine for good; another thread may wait for its answer."""
        self._closed = True
        self.kill()


def _range(option: re.Match[str]) -> tuple[float, float]:
    """The least and the largest number of an option."""
    low, high = (re.search(rf" {end} (-?\d+)", option[3]) for end in ("min", "max"))
    return float(low[1]) if low else -inf, float(high[1]) if high else inf


def _mistake(option: re.Match[str], value: str) -> str | None:
    """The mistake in a value of an option, None when it is valid."""
    if "\n" in value:
        return "is no single line"
    if option[2] == "check" and value not in ("true", "false"):
        return "is neither true nor false"
    if option[2] == "spin":
        low, high = _range(option)
        if re.fullmatch(r"-?\d+", value) is None:
            return "is no whole number"
        if not low <= int(value) <= high:
            return f"is not from {low:g} to {high:g}"
    if option[2] == "combo":
        known = re.findall(r" var (.+?)(?= var |$)", option[3])
        if value not in known:
            return f"is none of {', '.join(known)}"
    return None


def _number(line: bytes, name: bytes) -> int | None:
    """The number behind a word of a line."""
    words = line.partition(b" " + name + b" ")[2].split(None, 1)
    try:
        return int(words[0]) if words else None
    except ValueError:
        return None


def _variation(line: bytes) -> Variation:
    moves = line.partition(b" pv ")[2].decode(errors="replace").split()
    return Variation(_number(line, b"score cp"), _number(line, b"score mate"), moves)
