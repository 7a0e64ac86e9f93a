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
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features.block import Block, Classes, Seen
from nnuelab.features.kinds.piece_square import PieceSquare, compatible_places

if TYPE_CHECKING:
    from nnuelab.features.tables import Tables

LARGEST = 100_000_000  # features; a first layer of 32 neurons would already be 6.4 GB


@dataclass(frozen=True)
class Product:
    """One term of a sum: a block, or several that are active together."""

    factors: tuple[Block, ...]

    @property
    def name(self) -> str:
        return "*".join(block.name for block in self.factors)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(block.size for block in self.factors)

    @cached_property
    def size(self) -> int:
        return math.prod(self.shape)

    def defined(self, seen: Seen) -> np.ndarray:
        """int64: active features by the definition of the blocks, ascending; plain Python."""
        active = [np.sort(np.array(block.defined(seen), np.int64)) for block in self.factors]
        sizes = (block.size for block in self.factors[1:])
        return reduce(
            lambda index, more: (index[:, None] * more[1] + more[0]).ravel(),
            zip(active[1:], sizes, strict=True),
            active[0],
        )

    @cached_property
    def max_active(self) -> int:
        return min(math.prod(block.max_active for block in self.factors), self.size)

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
            compatible = compatible_places().astype(np.float32)
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

    @property
    def features(self) -> FeatureSet:
        """Itself, as for a block."""
        return self

    def __add__(self, other: Block | FeatureSet) -> FeatureSet:
        return FeatureSet(self.terms + other.features.terms)

    def __mul__(self, other: Block | FeatureSet) -> FeatureSet:
        return FeatureSet(
            tuple(Product(a.factors + b.factors) for a in self.terms for b in other.features.terms)
        )

    def __str__(self) -> str:
        return self.name

    @property
    def name(self) -> str:
        """Canonical text; ``parse`` of it gives the same set."""
        return "+".join(term.name for term in self.terms)

    @cached_property
    def size(self) -> int:
        """Number of features, N of the network."""
        return sum(term.size for term in self.terms)

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Index of the first feature of each term."""
        return tuple(accumulate((term.size for term in self.terms), initial=0))[:-1]

    @cached_property
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

    def defined(self, seen: Seen) -> list[int]:
        """Active features by the definition of the blocks, ascending; plain Python, slow."""
        found = [
            offset + term.defined(seen)
            for offset, term in zip(self.offsets, self.terms, strict=True)
        ]
        return np.concatenate(found).tolist()

    def alive(self) -> np.ndarray:
        """bool[size]: whether a feature can be active in a legal position, as far as is known."""
        return np.concatenate([term.alive() for term in self.terms])

    def virtual(self) -> np.ndarray | None:
        """int64[size]: number of the weights that a feature shares in training, -1 for none.

        None when no feature does. See :meth:`Block.virtual`.
        """
        found, start = np.full(self.size, -1, np.int64), 0
        for offset, term in zip(self.offsets, self.terms, strict=True):
            shared = term.factors[0].virtual() if len(term.factors) == 1 else None
            if shared is not None:
                found[offset : offset + term.size] = np.where(shared >= 0, start + shared, -1)
                start += int(shared.max()) + 1
        return found if start else None

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that define the blocks, sorted."""
        return tuple(sorted({file for block in self.blocks for file in block.files}))

    @property
    def contents(self) -> dict[str, str]:
        """Content of the data files that parameters name: what ``parse`` takes as ``files``."""
        return {name: text for b in self.blocks for name, text in b.contents.items()}

    @cached_property
    def dead(self) -> np.ndarray:
        """int64: indices of features that are active in no legal position, ascending."""
        return np.flatnonzero(~self.alive())

    def tables(self) -> Tables:
        """What jitted code needs, see :mod:`nnuelab.features.tables`; built at the first call."""
        return self._tables

    @cached_property
    def _tables(self) -> Tables:
        from nnuelab.features.tables import Tables

        return Tables(self)
