"""A section of the page, and how it tells what is missing or damaged in its place."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeVar

from nnuelab.charts import Figure
from nnuelab.errors import UserError
from nnuelab.report.grids import Grid

T = TypeVar("T")


@dataclass
class Section:
    """A view of the page, of an experiment for example.

    Attributes
    ----------
    name : str
        Part of the ids of its figures.
    title : str
    path : tuple of str
        Of its address, see `document.link`.
    question, answer : str
        What is asked, and what is found, in a sentence each.
    said : list of str
        More of it in words.
    design : str
        How often, and at what, was measured.
    advice : list of str
        What would decide what is open.
    stale : list of str
        Its files that are out of date.
    main : list of Grid
        Tables that answer, before the figures; ``grids`` are the others.
    figures, grids : list
    puzzles : Grid or None
    problems : list of str
        What is missing, and the remedy.
    games : bool
        Whether there are games to look at.
    note : str
        What one must know to read the table.
    """

    name: str
    title: str = ""
    path: tuple[str, ...] = ()
    question: str = ""
    answer: str = ""
    said: list[str] = field(default_factory=list)
    design: str = ""
    advice: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    main: list[Grid] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    grids: list[Grid] = field(default_factory=list)
    puzzles: Grid | None = None
    problems: list[str] = field(default_factory=list)
    games: bool = False
    note: str = ""

    @property
    def tables(self) -> list[Grid]:
        """All its tables."""
        return [*self.main, *self.grids, *([self.puzzles] if self.puzzles else [])]


@contextmanager
def told(problems: list[str], what: str = "this part") -> Iterator[None]:
    """A missing or damaged file costs only its own part of the page, which names the problem.

    Files that can be read may hold anything: then ``what`` can't be shown.
    """
    try:
        yield
    except UserError as error:
        problems.append(str(error))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        problems.append(
            f"{what} can't be shown: a file holds something unexpected "
            f"({type(error).__name__}: {str(error)[:200]}); make its files again"
        )


def readable(found: Iterable[T], needed: str, problems: list[str]) -> list[T]:
    """Those whose ``needed`` file can be read; ``problems`` gets a line for each other one."""
    kept = []
    for each in found:
        with told(problems):
            getattr(each, needed)
            kept.append(each)
    return kept
