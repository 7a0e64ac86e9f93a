"""Comments of PGN, which may go on over lines."""

from __future__ import annotations

import re

_TOKENS = re.compile(rb"[{};]")


def open_comment(line: bytes, comment: bool) -> bool:
    """Whether a ``{`` comment is open at the end of a line that began inside one or not."""
    for token in _TOKENS.findall(line):
        if token == b"}":
            comment = False
        elif token == b"{":
            comment = True
        elif not comment:
            break  # the rest of the line is a ; comment
    return comment
