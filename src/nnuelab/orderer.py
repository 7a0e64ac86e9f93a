"""What a search may order its quiet moves by besides its histories: a policy, say.

It is reached by address, as an evaluator is: the search is compiled once, and knows no policies.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol

import numpy as np

from nnuelab.jit import call, inline

ORDERER = np.dtype(
    [
        ("order", "u8"),  # function(data, line, ply, moves, n, scores), 0: there is none
        ("data", "u8"),  # -> its own record
    ],
    align=True,
)
"""An orderer for jitted code."""
SCORE_LIMIT = 1 << 24  # scores stay within +-


@inline
def order(orderer, line, ply, moves, n, scores):
    """Scores legal moves of the position at ``ply`` of a line; ``orderer`` is an ORDERER.

    Parameters
    ----------
    line, ply : uint64, int64
        As in :mod:`nnuelab.evaluator`.
    moves : uint64
        -> int64[n]
    scores : uint64
        -> int64[n], written: by how much each move's history is raised, within +-SCORE_LIMIT.
        Only differences count.
    """
    call(orderer.order, orderer.data, line, np.int64(ply), moves, np.int64(n), scores)


class Bound(Protocol):
    """An orderer with its memory, which one thread uses at a time."""

    @property
    def record(self) -> np.void:
        """ORDERER; valid as long as this object."""

    def check(self) -> None:
        """Raises UserError if a user's code has exceeded its bounds since the last time."""


class Orderer(Protocol):
    """A way to order moves. It can be sent to other processes."""

    def files(self) -> Mapping[str, Path]:
        """What it was read from, each file with a word for what it is."""

    def code(self) -> str:
        """A hash of the code that its scores depend on, for :func:`nnuelab.artifacts.code_hash`."""

    def bind(self) -> Bound:
        """Compiles it, or loads what is compiled, and gives it memory."""


MODULE = "policy.orderer"
"""Imported by name: an edit of it leaves the code hash of games alone that are played without."""


def read(file: Path | str) -> Orderer:
    """The orderer of a policy file.

    Raises
    ------
    UserError
        When there is no such file or it isn't usable.
    """
    found: Orderer = import_module(f"nnuelab.{MODULE}").PolicyOrderer(file)
    return found
