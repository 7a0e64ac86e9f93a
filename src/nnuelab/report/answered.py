"""What the study left open, as `docs/answers.md` of a clone answers it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from nnuelab.sources import PROJECT

FILE = PROJECT / "docs" / "answers.md"
LINK = r"\[([^\]]*)\]\([^)]*\)"
REFERENCE = re.compile(rf" \({LINK}\)")  # to another page, which isn't there
MARKS = re.compile(rf"{LINK}|`")  # links and code, of which the text stays


class Answer(NamedTuple):
    """A row of the table: plain text."""

    question: str
    answer: str
    change: str


def answers(file: Path = FILE) -> list[Answer]:
    """The rows of the first table; none where there is no such file, as in an installed package."""
    if not file.is_file():
        return []
    _, _, rest = file.read_text().partition("\n|--")
    rows = rest.partition("\n\n")[0].splitlines()[1:]
    return [Answer(*map(_plain, row.split("|")[1:4])) for row in rows]


def _plain(cell: str) -> str:
    text = MARKS.sub(r"\1", REFERENCE.sub("", cell)).strip()
    return text.replace(" \u00b1 ", "\u00a0\u00b1\u00a0")  # a number and its error on one line
