"""What a block answers when it is asked what it is like, instead of being asked for its kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nnuelab.features.concepts import Concept
from nnuelab.features.records import MOST_PIECES, SQUARES_ON_BOARD


@dataclass(frozen=True)
class Kernels:
    """What jitted code needs to know of a block; see :mod:`nnuelab.features.records`.

    Attributes
    ----------
    active, changes : function
        Plain Python functions with the signatures that stand there, compiled when a feature set
        uses the block. Without ``changes`` an update is the difference of the active features
        before and after.
    data : structured array [1]
        What both get as their first argument.
    turned : int32[size], optional
        Where Black always has the features of White, but with other numbers: those. Both functions
        are called for White only then, and once for both players where both are needed.
    state : bool
        Whether they read more of a position than where its pieces stand (``turn``, ``castling``,
        ``ep``, ``checkers``, ``pinned``).
    owned : tuple
        What the addresses in ``data`` point to.
    check : function, optional
        Raises UserError when a function of a user's has broken the bounds of its block since the
        last time.
    """

    active: Callable[..., Any]
    changes: Callable[..., Any] | None
    data: np.ndarray
    turned: np.ndarray | None = None
    state: bool = False
    owned: tuple[Any, ...] = ()
    check: Callable[[], None] | None = None


def _one_class(n: int) -> Callable[[], np.ndarray]:
    return lambda: np.zeros(n, np.int64)


@dataclass(frozen=True, eq=False)
class Classes:
    """Classes of positions: where one changes, a refresh is cheaper than an update.

    Attributes
    ----------
    own, enemy : int64[64]
        Class by the square of the player's own king and of the enemy's, as the player sees them.
    count : int64[33]
        Class by the number of pieces on the board.
    """

    own: np.ndarray = field(default_factory=_one_class(SQUARES_ON_BOARD))
    enemy: np.ndarray = field(default_factory=_one_class(SQUARES_ON_BOARD))
    count: np.ndarray = field(default_factory=_one_class(MOST_PIECES + 1))

    def __and__(self, other: Classes) -> Classes:
        """The coarsest classes that tell apart all that either does."""

        def together(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            pairs = np.stack([a, b], axis=1)
            return np.unique(pairs, axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)

        return Classes(
            together(self.own, other.own),
            together(self.enemy, other.enemy),
            together(self.count, other.count),
        )


@dataclass(frozen=True)
class Tabulated:
    """A block whose features depend on a piece, its square and the own king's square at most.

    Attributes
    ----------
    tables : list of int32[12, 64]
        Feature of each piece on each square, -1 for none, by class of the own king's square.
    class_of : int64[64]
        That class by square.
    """

    tables: list[np.ndarray]
    class_of: np.ndarray


def renumbered(
    tables: Sequence[np.ndarray], class_of: np.ndarray, rows: np.ndarray, sides: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Tables of features, -1 for none, by class of the own king's square, numbered anew.

    Parameters
    ----------
    tables, class_of
        As in `Tabulated`; the tables in any shape.
    rows : int[n, size]
        New numbers of the features, -1 for none.
    sides : int64[64]
        Which of the n holds, by the square of the own king.
    """
    both = np.stack([class_of, sides], axis=1)
    kinds, classes = np.unique(both, axis=0, return_inverse=True)
    found = [np.where(tables[k] >= 0, rows[side][tables[k]], -1) for k, side in kinds]
    return found, classes.reshape(-1).astype(np.int64)


@dataclass(frozen=True)
class Tuples:
    """Features as tuples of concept values, to be drawn; a pair stands there in both orders.

    Attributes
    ----------
    label : str
        What they have in common, "" where nothing is to be said.
    concepts : tuple of Concept
    values : int64[n, concepts]
    features : int64[n]
    """

    label: str
    concepts: tuple[Concept, ...]
    values: np.ndarray
    features: np.ndarray
