"""What the study left open, as `docs/answers.md` of a clone answers it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from nnuelab.sources import PROJECT

FILE = PROJECT / "docs" / "answers.md"
PUBLISHED = PROJECT / "results" / "published"  # the experiments that it is of
LINK = r"\[([^\]]*)\]\([^)]*\)"
REFERENCE = re.compile(rf" \({LINK}\)")  # to another page, which isn't there
MARKS = re.compile(rf"{LINK}|`")  # links and code, of which the text stays
TARGET = re.compile(r"\]\(#([\w-]+)\)|published/(\w+)_table\.csv")  # a section, an experiment


class Answer(NamedTuple):
    """A row of the table: plain text, and the experiments that it refers to."""

    question: str
    answer: str
    change: str
    experiments: list[str]


def answers(file: Path = FILE) -> list[Answer]:
    """The rows of the first table; none where there is no such file, as in an installed package."""
    if not file.is_file():
        return []
    head, *rest = file.read_text().split("\n## ")
    sections = {}
    for section in rest:
        title, _, text = section.partition("\n")
        anchor = re.sub(r"[^\w -]", "", title).lower().replace(" ", "-")
        sections[anchor] = [experiment for _, experiment in TARGET.findall(text) if experiment]
    rows = head.partition("\n|--")[2].partition("\n\n")[0].splitlines()[1:]
    found = []
    for row in rows:
        question, answer, change = map(_plain, row.split("|")[1:4])
        found.append(Answer(question, answer, change, _experiments(row, sections)))
    return found


def _experiments(row: str, sections: Mapping[str, list[str]]) -> list[str]:
    """What a row refers to, be it by a section that has tables of experiments."""
    found = [[name] if name else sections.get(anchor, []) for anchor, name in TARGET.findall(row)]
    return list(dict.fromkeys(name for names in found for name in names))


def _plain(cell: str) -> str:
    text = MARKS.sub(r"\1", REFERENCE.sub("", cell)).strip()
    return text.replace(" \u00b1 ", "\u00a0\u00b1\u00a0")  # a number and its error on one line
