"""The one kind of error that a user sees as a single line instead of a traceback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

LONGEST = 2000  # characters of a line of a message


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


def escaped(text: str) -> str:
    r"""A line from anywhere for a terminal, with what isn't printable as Python writes it.

    >>> print(escaped("a\x1b[31mb"))
    a\x1b[31mb
    """
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def clipped(text: str) -> str:
    """A line from anywhere for a message: printable, and not too long."""
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} [...] {text[-LONGEST // 2 :]}"
    return escaped(text)


def nearest(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: the closest known one, if there is one."""
    near = difflib.get_close_matches(name, list(names), 1)
    return f"; did you mean {near[0]}?" if near else ""
