"""Feature sets as an algebra of blocks: ``*`` is "and", ``+`` is concatenation.

A block is named once, by its concepts and its predicate; everything else is derived. What the
predicate is about decides how its features are found and kept up to date: that is the block's
*kind* (:mod:`nnuelab.features.kinds`), a subclass of :class:`Block`.

A feature set is a sum of products of blocks. A feature of a product is a tuple with one feature of
each factor, active when all of them are; its index is the stride index. A sum offsets each term by
the sizes of those before it, so it keeps the order in which it was written. A product distributes
over a sum, ``A * (B + C)`` is ``A*B + A*C``: that is the canonical form.
"""

from __future__ import annotations

import inspect
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, reduce
from importlib import import_module
from itertools import accumulate, combinations, pairwise
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features import sharing
from nnuelab.features.answers import Classes, Kernels, Tabulated, Tuples
from nnuelab.features.concepts import Concept
from nnuelab.features.legality import Seen, compatible_places

LARGEST = 100_000_000  # features; a first layer of 32 neurons would already be 6.4 GB
NAME = re.compile(r"[A-Z][A-Z0-9_]*")

Attributes = Callable[[str, Callable[..., Any]], Mapping[str, Any]]


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

    jitted: ClassVar[tuple[str, ...]] = ()
    """Modules in ``kernels`` that the kind needs. They are imported by name (`kernels_by`),
    since a job's code hash, which follows imports, counts those of its own blocks alone."""

    @classmethod
    def define(
        cls,
        name: str,
        concepts: tuple[Concept, ...] = (),
        aliases: tuple[str, ...] = (),
        own: Attributes = lambda what, function: {},
    ) -> Callable[[Callable[..., Any]], Self]:
        """The decorator that makes a block of a function, whose docstring is the definition.

        Parameters
        ----------
        own : function
            Takes "FILE: block NAME", for error messages, and the function; returns the attributes
            that the kind has beside those of every block.

        Raises
        ------
        UserError
            When the name is malformed, or whatever ``own`` finds.
        """

        def make(function: Callable[..., Any]) -> Any:
            file = Path(inspect.getfile(function))
            check_definition(file, name, *aliases)
            return cls(
                name=name,
                concepts=concepts,
                definition=definition_of(function),
                file=file,
                aliases=aliases,
                **own(f"{file}: block {name}", function),
            )

        return make

    def __add__(self, other: Block | FeatureSet) -> FeatureSet:
        """The features of this block, then those of the other."""
        return self.features + other

    def __mul__(self, other: Block | FeatureSet) -> FeatureSet:
        """A feature for each pair that is active together."""
        return self.features * other

    @property
    def features(self) -> FeatureSet:
        """The feature set that is this block."""
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

    def kernels(self) -> Kernels:
        """What jitted code calls, where there are no tables; asked when a set is extracted or
        played.
        """
        raise NotImplementedError(f"{self.name}: neither tables nor kernels")

    def hints(self) -> tuple[Any, ...]:
        """What spares work to find its features, for a job's code hash; it changes none of them."""
        return ()

    def alive(self) -> np.ndarray:
        """bool[size]: whether a feature can be active in a legal position, as far as is known."""
        return np.ones(self.size, dtype=bool)

    def classes(self) -> Classes:
        """Positions between which a refresh is cheaper than an update; none by default."""
        return Classes()

    def factor_classes(self) -> Classes:
        """The same for the products that the block is a factor of."""
        return self.classes()

    def shared(self, every: bool) -> np.ndarray:
        """int64[size, F]: features with one number share a row of weights in training; -1: none.

        Parameters
        ----------
        every : bool
            Features that differ in one concept alone share a row; otherwise those that the block's
            definition says.
        """
        return sharing.by_concept(self.size, self.tuples()) if every else sharing.none(self.size)

    @property
    def alive_is_exact(self) -> bool:
        """Whether ``alive`` finds every feature that no legal position has."""
        return False

    def tabulated(self) -> Tabulated | None:
        """Its tables, if it is about a piece, its square and the own king's square alone."""
        return None

    def places(self) -> np.ndarray | None:
        """bool[size, 12, 64]: which piece on which square makes a feature active, legal ones only.

        None where that depends on more than one piece.
        """
        return None

    def mirror_images(self) -> np.ndarray | None:
        """int64[size]: each feature as it is on a board with its files reversed.

        None where that isn't known, or where features have no such image.
        """
        return None

    def lines(self) -> tuple[list[list[int]], np.ndarray] | None:
        """The squares of each line in order, and int32[lines, 12, 12]: features of neighbours.

        None where the block isn't about neighbours on lines.
        """
        return None

    @property
    def parts(self) -> FeatureSet | None:
        """The feature set that the block has the features of, if it is made of one."""
        return None

    def copies(self) -> list[tuple[str, np.ndarray]]:
        """The copies of ``parts`` that the block consists of, in order.

        What tells each apart, and int64[parts.size]: which feature of the block each feature of the
        parts is, -1 for none.
        """
        return []

    @property
    def is_sum(self) -> bool:
        """Whether the block is its ``parts`` under one name, whose terms can take its place."""
        return False

    def tuples(self) -> list[Tuples]:
        """Its features by what they are about, for pictures; of a block without parts."""
        shape = tuple(concept.size for concept in self.concepts)
        features = np.arange(self.size)
        values = np.stack(np.unravel_index(features, shape), axis=1)
        return [Tuples("", self.concepts, values, features)]

    @property
    def contents(self) -> Mapping[str, str]:
        """Content of the data files that the parameters name, by the name that stands there."""
        return {}


def kernels_by(name: str) -> Any:
    """A module of ``kernels``, by name."""
    return import_module(f"nnuelab.features.kernels.{name}")


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
            if (found := block.places()) is not None:
                places[f] = found.reshape(block.size, -1).astype(np.float32)
        if len(places) > 1:
            compatible = compatible_places().astype(np.float32)
        for a, b in combinations(places, 2):
            pair = places[a] @ compatible @ places[b].T > 0
            alive &= np.expand_dims(pair, tuple(set(range(alive.ndim)) - {a, b}))
        return alive.ravel()

    def shared(self, every: bool) -> np.ndarray:
        """int64[size, F], as of a block; features that differ in one factor alone share a row."""
        if len(self.factors) == 1:
            return self.factors[0].shared(every)
        if not every:
            return sharing.none(self.size)
        values = np.unravel_index(np.arange(self.size), self.shape)
        return sharing.but_one(np.stack(values, axis=1), self.shape)

    @property
    def alive_is_exact(self) -> bool:
        """Whether that finds all: of one block that knows, of two factors about places.

        Of more factors each pair may be possible and all of them together not.
        """
        if len(self.factors) == 1:
            return self.factors[0].alive_is_exact
        return len(self.factors) == 2 and all(f.places() is not None for f in self.factors)

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
        return reduce(Classes.__and__, (term.classes() for term in self.terms), Classes())

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

    def shared(self, every: bool) -> np.ndarray:
        """int64[size, F]: what each feature shares with others of its term. See `Block.shared`."""
        return sharing.below([term.shared(every) for term in self.terms])

    def shared_rows(self, factorize: str) -> np.ndarray:
        """int32[size, F]: the shared rows of each feature, numbered without gaps, -1 for none.

        Rare features learn from their like that way: what a feature weighs is the sum of its own
        row and those that it shares ("factorization").

        Parameters
        ----------
        factorize : {"none", "kings", "all"}
            What is shared: nothing, what definitions of blocks say (king buckets), or whatever
            features have in common but for one concept or one factor.
        """
        shared = sharing.none(self.size) if factorize == "none" else self.shared(factorize == "all")
        return sharing.compact(shared)

    @property
    def alive_is_exact(self) -> bool:
        """Whether that finds every feature that no legal position has."""
        return all(term.alive_is_exact for term in self.terms)

    @property
    def contents(self) -> dict[str, str]:
        """Content of the data files that parameters name: what ``parse`` takes as ``files``."""
        return {name: text for b in self.blocks for name, text in b.contents.items()}

    @cached_property
    def dead(self) -> np.ndarray:
        """int64: indices of features that are active in no legal position, ascending."""
        return np.flatnonzero(~self.alive())
