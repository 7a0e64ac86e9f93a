"""A lean UCI client: a process, commands, and the lines that answer them.

What python-chess does for a search (an asyncio loop, a board, the parsing of every line) takes as
long as Stockfish needs for some hundred nodes. This one writes commands in one go, and looks at
the last score and the move alone. Players on a clock use python-chess (`tournament.external`).
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

from nnuelab.data.parallel import die_with_parent

LONGEST_ANSWER = 1 << 22  # bytes; an engine that never ends would fill the memory


class UciError(Exception):
    """What an engine does wrong, as the end of a sentence: "it died"."""


class UciProcess:
    """An engine in a process of its own, which ends with the thread that has started it.

    Parameters
    ----------
    path : str
        Its program.
    options : mapping
        UCI options; those that it hasn't are left out.
    patience : float
        Seconds for an answer.

    Attributes
    ----------
    name : str
        What it calls itself, version included.
    options : set of str
        Names of its options, in lower case.

    Raises
    ------
    UciError
        When it doesn't start.
    """

    def __init__(self, path: str, options: Mapping[str, str], patience: float) -> None:
        self._patience = patience
        self.name, self.options = Path(path).name, set[str]()
        try:
            self._process = subprocess.Popen(
                [path],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
                preexec_fn=partial(die_with_parent, signal.SIGKILL),
            )
        except OSError as error:
            raise UciError(error.strerror or str(error)) from error
        try:
            self._introduce(options)
        except UciError:
            self.close()
            raise

    def _introduce(self, options: Mapping[str, str]) -> None:
        for line in self.ask("uci\n", "uciok"):
            if line.startswith("id name "):
                self.name = line.removeprefix("id name ").strip()
            elif line.startswith("option name "):
                self.options.add(line.removeprefix("option name ").split(" type ")[0].lower())
        said = "".join(
            f"setoption name {name} value {value}\n"
            for name, value in options.items()
            if name.lower() in self.options
        )
        self.ask(f"{said}isready\n", "readyok")

    def ask(self, commands: str, end: str) -> list[str]:
        """The lines that answer commands, up to the one that begins with ``end``.

        Raises
        ------
        UciError
            When the engine dies, or isn't done in time.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        handle, deadline = self._process.stdout.fileno(), time.monotonic() + self._patience
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        sought, answer, seen = b"\n" + end.encode(), b"\n", 0
        try:
            self._process.stdin.write(commands.encode())
            self._process.stdin.flush()
            while len(answer) < LONGEST_ANSWER:
                left = deadline - time.monotonic()
                if left <= 0 or not poll.poll(left * 1e3):
                    raise UciError(f"no answer for {self._patience:g} s")
                read = os.read(handle, 1 << 16)
                if not read:
                    break
                answer += read
                if read.endswith(b"\n"):
                    if answer.find(sought, max(seen - len(sought), 0)) >= 0:
                        return answer.decode(errors="replace").splitlines()[1:]
                    seen = len(answer)
        except OSError:
            pass
        raise UciError("it died" if len(answer) < LONGEST_ANSWER else "it talks without end")

    def close(self) -> None:
        """Ends the engine and what it has started; another thread may wait for its answer."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            with suppress(OSError):
                pipe.close()


def move_of(lines: list[str]) -> str:
    """The move of ``bestmove``, empty when there is none."""
    text = [*lines[-1].split(), ""][1]
    return "" if text in ("(none)", "0000", "NULL") else text


def score_of(lines: list[str]) -> tuple[str, int] | None:
    """``cp`` or ``mate``, and the number behind it, of the last exact score; None without one."""
    for line in reversed(lines):
        # Bounds come from unfinished aspiration windows.
        if " score " in line and "bound" not in line:
            kind, value, *_ = [*line.split(" score ", 1)[1].split(), "", ""]
            with suppress(ValueError):
                if kind in ("cp", "mate"):
                    return kind, int(value)
    return None
