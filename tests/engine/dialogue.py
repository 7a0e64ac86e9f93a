"""The engine to talk to, as a program and in this process."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from nnuelab.engine.uci import Uci

COMMAND = [sys.executable, "-m", "nnuelab.cli"]


def converse(net: Path | None, *lines: str) -> list[str]:
    """The answers to a conversation held in this process."""
    output = io.StringIO()
    Uci(net, output).run(lines)
    return output.getvalue().splitlines()
