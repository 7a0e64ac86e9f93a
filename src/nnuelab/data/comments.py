"""Comments of PGN, which may go on over lines."""

from __future__ import annotations

import re

_TOKENS = re.compile(rb"[{};]")


def open_comment(line: bytes, comment: bool) -> bool:
    """Whether a ``{`` comment is open at the end of a line that began inside one or not."""
    if b";" not in line:  # most lines: the last brace says it, in half the time
        opens, closes = line.rfind(b"{"), line.rfind(b"}")
        return comment if opens == closes else opens > closes
    for token in _TOKENS.findall(line):
        if token == b"}":
            comment = False
        elif token == b"{":
            comment = True
        elif not comment:
            break  # the rest of the line is a ; comment
    return comment
