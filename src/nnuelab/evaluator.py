"""What a search evaluates with, and the line of positions that both share.

A search keeps the positions of its line by ply and asks for the value of one of them. The evaluator
is reached by address: the search is compiled once, and has no branch for any kind of evaluator. An
evaluator may keep memory for each ply, and update it along the line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from nnuelab.chess.position import POSITION
from nnuelab.jit import address, aligned, at, call, copy_record, inline, jit, view

MAX_PLY = 128  # a line goes no deeper
PLIES = MAX_PLY + 1  # with the root

PLY = np.dtype(
    [
        ("position", POSITION),
        ("computed", "u1", 2),  # whether an evaluator's memory of each perspective is of `position`
    ],
    align=True,
)
"""One ply of a line."""

EVALUATOR = np.dtype(
    [
        ("evaluate", "u8"),  # function(data, line, ply): centipawns for the side to move
        ("data", "u8"),  # -> its own record
    ],
    align=True,
)
"""An evaluator for jitted code."""


@inline
def ply_at(line, ply):
    """The PLY of a line (its address), counted from the root."""
    return view(line, PLIES, PLY)[at(ply)]


@inline
def invalidate(entry):
    """Tells the evaluator that the position of a PLY has changed."""
    entry.computed[0] = 0
    entry.computed[1] = 0


@inline
def evaluate(evaluator, line, ply):
    """Centipawns for the side to move at ``ply`` of a line; ``evaluator`` is an EVALUATOR."""
    return call(evaluator.evaluate, evaluator.data, line, np.int64(ply))


class Bound(Protocol):
    """An evaluator with its memory for one line, which one thread uses at a time."""

    @property
    def record(self) -> np.void:
        """EVALUATOR; valid as long as this object."""

    def check(self) -> None:
        """Raises UserError if a user's code has exceeded its bounds since the last time."""


class Evaluator(Protocol):
    """A way to evaluate positions, such as a net. It can be sent to other processes."""

    @property
    def name(self) -> str:
        """What it is, for records."""

    def files(self) -> Mapping[str, Path]:
        """What it was read from, each file with a word for what it is."""

    def code(self) -> str:
        """A hash of the code that its values depend on, for :func:`nnuelab.artifacts.code_hash`."""

    def bind(self) -> Bound:
        """Compiles it, or loads what is compiled, and gives it memory for a line."""


KINDS = {
    **dict.fromkeys((".nnue", ".nn"), ("nnue.evaluator", "NetEvaluator")),
    **dict.fromkeys((".yaml", ".yml"), ("hce.evaluator", "HceEvaluator")),
}
"""By the ending of a file: the module that reads it, and what it makes of it. Modules are imported
by name: an edit of one leaves the code hash of a job alone that evaluates with another."""


def module_of(file: Path | str | None) -> str:
    """The module that makes an evaluator of a file."""
    return _kind(file)[0]


def read(file: Path | str | None = None) -> Evaluator:
    """The evaluator of a file by its ending; None, and what has another one: a net.

    Raises
    ------
    UserError
        When there is no such file or it isn't usable.
    """
    module, name = _kind(file)
    found: Evaluator = getattr(import_module(f"nnuelab.{module}"), name)(file)
    return found


def _kind(file: Path | str | None) -> tuple[str, str]:
    return KINDS.get(Path(file or "").suffix, KINDS[".nnue"])


def values(bound: Bound, positions: Iterable[np.void]) -> Iterator[int]:
    """Centipawns for the side to move of each position, without a search."""
    line = aligned(PLIES, PLY)
    for position in positions:
        value = int(_value(bound.record, address(line), position))
        bound.check()
        yield value


@jit
def _value(evaluator, line, position):
    root = ply_at(line, np.int64(0))
    copy_record(root.position, position)
    invalidate(root)
    return evaluate(evaluator, line, np.int64(0))
