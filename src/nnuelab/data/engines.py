"""UCI engines of the user's: how one is found, and how it is asked for scores of positions.

A lean client: what python-chess does for a search (an asyncio loop, a board, the parsing of every
line) takes as long as Stockfish needs for some hundred nodes. This one writes a position in one go
and reads the last score and the move.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.data.formats import rows, rows_kernels
from nnuelab.data.parallel import die_with_parent
from nnuelab.data.records import MATE, NO_SCORE, RECORD, mate_score
from nnuelab.data.searching import Unlabelled
from nnuelab.errors import UserError

HASH_MB = 4  # cleared before each position: more would only cost time
PATIENCE = 120.0  # seconds that an engine may take for one answer before it counts as hanging
STARTS = 3  # attempts to start it again
LONGEST_ANSWER = 1 << 22  # bytes; an engine that never ends would fill the memory


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


def engine_name(path: str) -> str:
    """What the engine calls itself, version included."""
    engine = UciEngine(path, "depth 1")
    engine.close()
    return engine.name


class UciEngine:
    """A UCI engine in a process of its own, that gives positions scores and best moves.

    Parameters
    ----------
    path : str
        Its program.
    limit : str
        What follows ``go``: ``depth 10``, ``nodes 5000``, ``movetime 100``.
    options : mapping
        UCI options; Threads is 1 and Hash HASH_MB where they don't say otherwise.
    patience : float
        Seconds for an answer.

    Raises
    ------
    UserError
        When it doesn't start, or hasn't such an option.
    """

    def __init__(
        self,
        path: str,
        limit: str,
        options: Mapping[str, str] | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self._path, self._limit, self._patience = path, limit, patience
        self._options = {"Threads": "1", "Hash": str(HASH_MB), **(options or {})}
        self._asked = set(options or {})
        self._scratch = np.empty(MAX_MOVES, np.int64)
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False
        self.name = Path(path).name
        try:
            self._start()
        except (Unlabelled, OSError) as error:
            self.close()
            raise UserError(
                f"{path} doesn't start as a UCI engine ({error}); start it by hand and type `uci`"
            ) from error

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [self._path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            process_group=0,
            preexec_fn=partial(die_with_parent, signal.SIGKILL),
        )
        there = set()
        for line in self._ask("uci\n", b"uciok"):
            if line.startswith(b"id name "):
                self.name = line.removeprefix(b"id name ").decode(errors="replace").strip()
            elif line.startswith(b"option name "):
                name = line.removeprefix(b"option name ").split(b" type ")[0]
                there.add(name.decode(errors="replace").lower())
        if missing := [name for name in self._asked if name.lower() not in there]:
            self.close()
            raise UserError(f"{self.name} has no option {missing[0]!r}; ask it: type `uci`")
        said = "".join(
            f"setoption name {name} value {value}\n"
            for name, value in self._options.items()
            if name.lower() in there
        )
        self._ask(f"{said}isready\n", b"readyok")

    def __call__(self, record: np.void) -> tuple[int, int]:
        """Score and best move of a position; an engine that dies or hangs gets a second chance.

        Parameters
        ----------
        record : RECORD record

        Returns
        -------
        score : int
            Centipawns for the side to move, mates by `mate_score`; NO_SCORE when the game is over.
        move : int
            In the layout of ``chess.moves``.

        Raises
        ------
        Unlabelled
            When it fails twice.
        """
        fen = rows.texts(np.array([record], RECORD))[0][0].decode()
        # The number of the move is no part of a position: labels are kept by position.
        board = fen.rsplit(" ", 1)[0] + " 1"
        # With a warm hash table a label would depend on the positions before it.
        command = f"ucinewgame\nisready\nposition fen {board}\ngo {self._limit}\n"
        for _ in range(2):
            try:
                if self._process is None:
                    self._start_again()
                return self._understood(self._ask(command, b"bestmove"), record)
            except Unlabelled as error:
                reason = str(error)
                self._end()
        raise Unlabelled(f"{self.name} failed twice on {fen!r}: {reason}")

    def _start_again(self) -> None:
        reason: Exception = Unlabelled("it was ended")
        for attempt in range(STARTS):
            if self._closed:
                break
            time.sleep(attempt)  # what made it fail may pass
            try:
                return self._start()
            except (Unlabelled, OSError) as error:
                self._end()
                reason = error
        raise UserError(
            f"{self._path} doesn't start any more ({reason}); run the same command again to "
            "continue when it does"
        )

    def _understood(self, lines: list[bytes], record: np.void) -> tuple[int, int]:
        text = [*lines[-1].split(), b"", b""][1]
        if text in (b"(none)", b"0000", b"NULL"):
            return NO_SCORE, 0
        move = int(rows_kernels.read_move(record, np.frombuffer(text, np.uint8), self._scratch))
        if not move:
            raise Unlabelled(f"it answers {lines[-1][:60].decode(errors='replace')!r}")
        for line in reversed(lines):
            # Bounds come from unfinished aspiration windows; the last exact score is meant.
            if b" score " in line and b"bound" not in line:
                kind, value, *_ = [*line.split(b" score ", 1)[1].split(), b"", b""]
                with suppress(ValueError):
                    return _score(kind, int(value)), move
        raise Unlabelled("it gives a move without a score")

    def _ask(self, command: str, end: bytes) -> list[bytes]:
        """The lines of an answer up to the one that begins with ``end``.

        Raises
        ------
        Unlabelled
            When the engine dies, or isn't done in time.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        handle, deadline = process.stdout.fileno(), time.monotonic() + self._patience
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        answer, seen = b"", 0
        try:
            process.stdin.write(command.encode())
            process.stdin.flush()
            while True:
                left = deadline - time.monotonic()
                if left <= 0 or not poll.poll(left * 1e3):
                    raise Unlabelled(f"no answer for {self._patience:g} s")
                read = os.read(handle, 1 << 16)
                if not read or len(answer) > LONGEST_ANSWER:
                    break
                answer += read
                if answer.endswith(b"\n"):
                    last = answer.rfind(b"\n" + end, max(seen - len(end), 0))
                    if last >= 0 or answer.startswith(end):
                        return [line.rstrip(b"\r") for line in answer.splitlines()]
                    seen = len(answer)
        except OSError:
            pass
        raise Unlabelled("it died" if len(answer) <= LONGEST_ANSWER else "it talks without end")

    def close(self) -> None:
        """Ends the engine for good; another thread may wait for its answer."""
        self._closed = True
        self._end()

    def _end(self) -> None:
        """Ends the process and what it has started."""
        process, self._process = self._process, None
        if process is None:
            return
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()


def _score(kind: bytes, value: int) -> int:
    """Centipawns of UCI's ``score cp 35`` or ``score mate -2``."""
    if kind == b"mate":
        return mate_score(value)
    if kind != b"cp":
        raise ValueError
    return max(-MATE, min(MATE, value))
