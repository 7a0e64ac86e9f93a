"""The one kind of error that a user sees as a single line instead of a traceback."""

from __future__ import annotations

import difflib
import traceback
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

LONGEST = 2000  # characters of a line of a message
LONGEST_QUOTE = 100  # of what it quotes


class UserError(Exception):
    """Bad input or a missing piece: the message says what is wrong, where, and what to do.

    The command line prints it as ``nnuelab: error: MESSAGE`` on stderr and exits with status 1.
    What it quotes may come from anywhere, so each of its lines is `clipped`.
    """

    def __init__(self, message: str) -> None:
        super().__init__("\n".join(map(clipped, message.split("\n"))))


def one_line(error: object) -> str:
    """The message of a foreign error, in one line."""
    return " ".join(str(error).split())


def line_in(file: Path | str, error: BaseException) -> int | None:
    """The line of a file that led to an error, the last one, where one did."""
    frames = traceback.extract_tb(error.__traceback__)
    return next((f.lineno for f in reversed(frames) if f.filename == str(file)), None)


def raised(error: Exception, function: Callable[..., Any]) -> str:
    """The error that a function of somebody's file has raised: class, message, line.

    Of one that came after the function, of what it returned, the message.
    """
    code = getattr(function.func if isinstance(function, partial) else function, "__code__", None)
    line = line_in(code.co_filename, error) if code else None
    said = one_line(error)
    return f"{type(error).__name__}: {said} (line {line})" if line else said


def escaped(text: str) -> str:
    r"""A line from anywhere for a terminal, with what isn't printable as Python writes it.

    >>> print(escaped("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def clipped(text: str, longest: int = LONGEST) -> str:
    """A line from anywhere for a message: printable, and not too long."""
    if len(text) > longest:
        text = f"{text[: longest // 2]} [...] {text[-longest // 2 :]}"
    return escaped(text)


def quoted(value: object) -> str:
    """A value from anywhere within a line of a message, as Python writes it, and short.

    >>> quoted("a" * 4)
    "'aaaa'"
    """
    return clipped(repr(value), LONGEST_QUOTE)


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the closest known one, if there is one."""
    near = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""
