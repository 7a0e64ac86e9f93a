"""Feature sets as an algebra: ``*`` is "and", ``+`` is concatenation.

A feature set is a sum of products of blocks. A feature of a product is a tuple with one feature of
each factor, active when all of them are; its index is the stride index. A sum offsets each term by
the sizes of those before it, so it keeps the order in which it was written. A product distributes
over a sum, ``A * (B + C)`` is ``A*B + A*C``: that is the canonical form.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import accumulate, combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.block import PIECES, SQUARES_ON_BOARD, Block, Classes
from nnuelab.features.concepts import KING, file_of, rank_of
from nnuelab.features.kinds.piece_square import LEGAL_PLACES, PieceSquare

if TYPE_CHECKING:
    from nnuelab.features.tables import Tables

LARGEST = 100_000_000  # features; a first layer of 32 neurons would already be 6.4 GB


def _compatible_places() -> np.ndarray:
    """bool[768, 768]: which piece-squares (piece * 64 + square) a legal position can have."""
    pieces, squares = np.divmod(np.arange(PIECES * SQUARES_ON_BOARD), SQUARES_ON_BOARD)
    same_piece = pieces[:, None] == pieces
    same_square = squares[:, None] == squares
    kings = pieces // 2 == KING
    both_kings = kings[:, None] & kings
    near = np.array(
        [
            [
                max(abs(file_of(a) - file_of(b)), abs(rank_of(a) - rank_of(b))) <= 1
                for b in range(64)
            ]
            for a in range(64)
        ]
    )[squares[:, None], squares]
    possible = (same_square <= same_piece) & ~(both_kings & same_piece & ~same_square)
    possible &= ~(both_kings & ~same_piece & near)
    return possible & LEGAL_PLACES.ravel()[:, None] & LEGAL_PLACES.ravel()


@dataclass(frozen=True)
class Product:
    """One term of a sum: a block, or several that are active together."""

    factors: tuple[Block, ...]

    @property
    def name(self) -> str:
        return "*".join(block.name for block in self.factors)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(block.size for block in self.factors)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def max_active(self) -> int:
        return math.prod(block.max_active for block in self.factors)

    def feature_name(self, index: int) -> str:
        values = np.unravel_index(index, self.shape)
        names = [b.feature_name(int(i)) for b, i in zip(self.factors, values, strict=True)]
        return " and ".join(names)

    def alive(self) -> np.ndarray:
        """bool[size]: whether a feature can be active in a legal position.

        A feature of a product is dead when a factor's is, or when two factors about a piece and its
        square contradict each other: two pieces on one square, one king on two, kings side by side.
        """
        alive = np.ones(self.shape, dtype=bool)
        places = {}
        for f, block in enumerate(self.factors):
            alive &= np.expand_dims(block.alive(), tuple(set(range(alive.ndim)) - {f}))
            if isinstance(block, PieceSquare):
                places[f] = block.legal_members.reshape(block.size, -1).astype(np.float32)
        if len(places) > 1:
            compatible = _compatible_places().astype(np.float32)
        for a, b in combinations(places, 2):
            pair = places[a] @ compatible @ places[b].T > 0
            alive &= np.expand_dims(pair, tuple(set(range(alive.ndim)) - {a, b}))
        return alive.ravel()

    def classes(self) -> Classes:
        """Positions between which all tuples change, so that a refresh is due."""
        if len(self.factors) == 1:
            return self.factors[0].classes()
        return reduce(Classes.__and__, (block.factor_classes() for block in self.factors))


@dataclass(frozen=True)
class FeatureSet:
    """A sum of products of blocks: what the first layer of a network is indexed by.

    Raises
    ------
    UserError
        When a term occurs twice, or there would be more than 100 million features.
    """

    terms: tuple[Product, ...]

    def __post_init__(self) -> None:
        names = [term.name for term in self.terms]
        for name in names:
            if names.count(name) > 1:
                raise UserError(f"{self.name}: the term {name} occurs twice; write it once")
        if self.size > LARGEST:
            raise UserError(
                f"{self.name} has {self.size:,} features, more than {LARGEST:,}: "
                "leave out a factor or use smaller blocks"
            )

    @classmethod
    def of(cls, block: Block) -> FeatureSet:
        """The feature set that is one block."""
        return cls((Product((block,)),))

    def __add__(self, other: FeatureSet) -> FeatureSet:
        return FeatureSet(self.terms + other.terms)

    def __mul__(self, other: FeatureSet) -> FeatureSet:
        return FeatureSet(
            tuple(Product(a.factors + b.factors) for a in self.terms for b in other.terms)
        )

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Canonical text; ``parse`` of it gives the same set."""
        return "+".join(term.name for term in self.terms)

    @property
    def size(self) -> int:
        """Number of features, N of the network."""
        return sum(term.size for term in self.terms)

    @property
    def offsets(self) -> tuple[int, ...]:
        """Index of the first feature of each term."""
        return tuple(accumulate((term.size for term in self.terms), initial=0))[:-1]

    @property
    def max_active(self) -> int:
        """Bound of the features that are active at once for one perspective, in legal positions."""
        return sum(term.max_active for term in self.terms)

    def classes(self) -> Classes:
        """Positions between which a refresh is due for one of the terms."""
        return reduce(Classes.__and__, (term.classes() for term in self.terms))

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks that occur, each once."""
        return tuple(dict.fromkeys(block for term in self.terms for block in term.factors))

    def term_of(self, index: int) -> tuple[Product, int]:
        """The term of a feature and the feature's index within it."""
        if not 0 <= index < self.size:
            raise IndexError(f"feature {index} of {self.name}, which has {self.size}")
        ends = (*self.offsets, self.size)
        for term, (start, end) in zip(self.terms, pairwise(ends), strict=True):
            if index < end:
                return term, index - start
        raise AssertionError("offsets cover every index")

    def feature_name(self, index: int) -> str:
        """What the feature says: ``own king on e1 and enemy rook on file a``."""
        term, local = self.term_of(index)
        return term.feature_name(local)

    @cached_property
    def dead(self) -> np.ndarray:
        """int64: indices of features that are active in no legal position, ascending."""
        return np.flatnonzero(~np.concatenate([term.alive() for term in self.terms]))

    def tables(self) -> Tables:
        """What jitted code needs, see :mod:`nnuelab.features.tables`; built at the first call."""
        return self._tables

    @cached_property
    def _tables(self) -> Tables:
        from nnuelab.features.tables import Tables

        return Tables(self)
