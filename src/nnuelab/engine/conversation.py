"""A UCI engine in a process of its own, to be timed."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence


class Conversation:
    """An engine as a GUI has it.

    Parameters
    ----------
    command : sequence of str
        Its program and arguments.
    environment : str
        Variables that it gets besides those of this process.
    """

    def __init__(self, command: Sequence[str], **environment: str) -> None:
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            env={**os.environ, **environment},
        )

    def ask(self, commands: str, answer: str) -> float:
        """Seconds from the commands to a line that begins with ``answer``."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        start = time.perf_counter()
        self._process.stdin.write(commands + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith(answer):
                return time.perf_counter() - start
        raise RuntimeError(f"{self._process.args!r} has ended")

    def close(self) -> None:
        """Ends the engine and waits for it."""
        self._process.communicate("quit\n")
