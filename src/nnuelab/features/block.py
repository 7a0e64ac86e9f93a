"""A feature block: named once, by its concepts and its predicate; everything else is derived.

What the predicate is about decides how its features are found and kept up to date: that is the
block's *kind* (:mod:`nnuelab.features.kinds`), a subclass of :class:`Block`. A kind brings the
decorator by which its blocks are defined, the kernels that all of them share, and the same once
more in plain Python, for the checks.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.concepts import Concept

if TYPE_CHECKING:
    from nnuelab.features.algebra import FeatureSet

PIECES, SQUARES_ON_BOARD = 12, 64
MOST_PIECES = 32  # on a board, one king each; a FEN may hold any others
NAME = re.compile(r"[A-Z][A-Z0-9_]*")


@dataclass(frozen=True)
class Seen:
    """A position as one player sees it: rank 0 is the player's own first, colour 0 the player's.

    Attributes
    ----------
    pieces : dict
        (role 0..5, colour 0 own / 1 enemy) by square 0..63, ascending.
    position : np.record of POSITION
        The same as a record, seen likewise: White is the player, whose turn it is if ``turn`` is 0.
    """

    pieces: Mapping[int, tuple[int, int]]
    position: np.record

    def king(self, color: int) -> int:
        """Square of a king."""
        return next(s for s, (role, c) in self.pieces.items() if role == 5 and c == color)


@dataclass(frozen=True)
class Kernels:
    """What jitted code needs to know of a block; see docs of :mod:`nnuelab.features.tables`.

    Attributes
    ----------
    active, changes : function
        Plain Python functions with the signatures that :mod:`nnuelab.features.tables` names, which
        compiles them when a feature set uses the block. Without ``changes`` an update is the
        difference of the active features before and after.
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


@dataclass(frozen=True, eq=False, kw_only=True)
class Block(ABC):
    """A block of features, seen from one player's perspective.

    Attributes
    ----------
    name : str
        Upper case, with its parameters in canonical form: what stands for the block in an
        expression.
    concepts : tuple of Concept
        The features are the tuples of their product; the index is the stride index, the last
        concept running fastest.
    definition : str
        One sentence: when a feature is active.
    file : Path
        Where the block is defined.
    aliases : tuple of str
        Other names that an expression may use.
    """

    name: str
    concepts: tuple[Concept, ...]
    definition: str
    file: Path
    aliases: tuple[str, ...] = ()

    def __add__(self, other: Block | FeatureSet) -> FeatureSet:
        """The features of this block, then those of the other."""
        return self.features + other

    def __mul__(self, other: Block | FeatureSet) -> FeatureSet:
        """A feature for each pair that is active together."""
        return self.features * other

    @property
    def features(self) -> FeatureSet:
        """The feature set that is this block."""
        from nnuelab.features.algebra import FeatureSet

        return FeatureSet.of(self)

    @property
    def size(self) -> int:
        """Number of features."""
        return math.prod(concept.size for concept in self.concepts)

    @property
    def formula(self) -> str:
        """The product of concepts as text: ``FILES x ROLES x COLORS``."""
        return " x ".join(concept.name for concept in self.concepts)

    def values(self, index: int) -> tuple[int, ...]:
        """The tuple of concept values of a feature."""
        shape = tuple(concept.size for concept in self.concepts)
        return tuple(int(value) for value in np.unravel_index(index, shape))

    @property
    @abstractmethod
    def max_active(self) -> int:
        """Bound of the features that are active at once, over all positions that a FEN can hold."""

    @abstractmethod
    def feature_name(self, index: int) -> str:
        """What a feature says: ``own pawn on file e``."""

    @abstractmethod
    def defined(self, seen: Seen) -> list[int]:
        """Active features by the definition, each once, in any order; plain Python, slow."""

    @abstractmethod
    def meaning(self) -> tuple[Any, ...]:
        """What tells its features from others, for its fingerprint: tables, numbers, functions."""

    @abstractmethod
    def kernels(self) -> Kernels:
        """The same for jitted code; called when a feature set is to be extracted or played."""

    def alive(self) -> np.ndarray:
        """bool[size]: whether a feature can be active in a legal position, as far as is known."""
        return np.ones(self.size, dtype=bool)

    def classes(self) -> Classes:
        """Positions between which a refresh is cheaper than an update; none by default."""
        return Classes()

    def factor_classes(self) -> Classes:
        """The same for the products that the block is a factor of."""
        return self.classes()

    def virtual(self) -> np.ndarray | None:
        """int64[size]: features of one number share weights in training, besides their own.

        Numbers begin at 0, -1 is for features that share none. Rare features learn from their like
        that way; None when there are none. The sums of both are the weights of the net.
        """
        return None

    @property
    def parts(self) -> FeatureSet | None:
        """The feature set that the block has the features of, if it is made of one."""
        return None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that the block is made of."""
        return (self.file,)

    @property
    def contents(self) -> Mapping[str, str]:
        """Content of the data files that the parameters name, by the name that stands there."""
        return {}


def check_definition(file: Path, *names: str) -> None:
    """Raises UserError when a block can't be called by one of these names."""
    for word in names:
        if not NAME.fullmatch(word):
            raise UserError(
                f"{file}: {word!r} can't name a block: use capital letters, digits and _, "
                "a letter first"
            )


def check_rows(what: str, rows: np.ndarray, function: Callable[..., Any]) -> None:
    """Raises UserError when a table of features, -1 for none, has none at all."""
    if (rows < 0).all():
        raise UserError(
            f"{what}: no feature is ever active; let {function.__name__} return values that are "
            "not None"
        )


def definition_of(function: Callable[..., Any]) -> str:
    """The docstring as one line."""
    return " ".join((function.__doc__ or "").split())


def stride_index(concepts: tuple[Concept, ...], values: Any) -> int:
    """The index of a tuple of concept values.

    Raises
    ------
    ValueError
        When there is not one value for each concept, within its range.
    """
    if not isinstance(values, tuple):
        values = (values,)
    if len(values) != len(concepts):
        wanted = ", ".join(concept.name for concept in concepts)
        raise ValueError(f"returned {values}, not one value for each of {wanted}")
    index = 0
    for concept, value in zip(concepts, values, strict=True):
        if not isinstance(value, int | np.integer) or not 0 <= value < concept.size:
            raise ValueError(f"{value!r} is not a value of {concept.name} (0..{concept.size - 1})")
        index = index * concept.size + int(value)
    return index
