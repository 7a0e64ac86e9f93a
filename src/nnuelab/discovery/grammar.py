"""Feature sets that a search may write: sums of blocks, and of blocks times a factor.

A set is a tuple of terms in the order of the blocks, a term a block with its factor or "". What is
the same set under two names, such as a block H+V beside H and V, has one `key_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache

import numpy as np

from nnuelab import features
from nnuelab.errors import UserError
from nnuelab.settings.search import Searching

Term = tuple[str, str]
Terms = tuple[Term, ...]
Key = frozenset[str]
SECONDS = 6e-6  # of CPU time for a position of a training with 256 neurons, at least
TRIES = 200  # draws for one new set, before the grammar is thought to have no other


class Grammar:
    """Writes sets from blocks and factors within the limits of ``settings``.

    Raises
    ------
    UserError
        For an expression that is none, two blocks that are the same, none at all, and a block or
        factor that makes no set which is small enough.
    """

    def __init__(self, settings: Searching) -> None:
        self.settings = settings
        self.blocks = _once([features.parse(text).name for text in settings.terms], "terms")
        factors = _once([features.parse(text).name for text in settings.factors], "factors")
        self.factors = ("", *factors)
        self._moves: dict[str, Callable[[np.random.Generator, Terms, Terms], Terms]] = {
            "add": lambda rng, terms, _: (*terms, self._term(rng)),
            "drop": lambda rng, terms, _: _without(rng, terms),
            "swap": lambda rng, terms, _: (*_without(rng, terms), self._term(rng)),
            "unite": lambda rng, terms, other: (*terms, *other),
        }
        if len(self.factors) > 1:
            self._moves["multiply"] = self._multiplied
        if not self.blocks:
            raise UserError("terms: there are none; give blocks that sums are made of")
        alone = [terms[0] for terms in self.alone(self.factors)]
        for what, names, used in (
            ("terms", self.blocks, {block for block, _ in alone}),
            ("factors", factors, {factor for _, factor in alone}),
        ):
            if useless := [name for name in names if name not in used]:
                raise UserError(
                    f"{what}: {useless[0]} makes no set of at most {settings.max_features:,} "
                    "features; leave it out, or raise max_features"
                )

    def first(self) -> list[Terms]:
        """The sets of one block, those that are within the limits."""
        return self.alone([""])

    def alone(self, factors: Sequence[str]) -> list[Terms]:
        """The sets of one block times one of these factors, likewise."""
        every = [((block, factor),) for block in self.blocks for factor in factors]
        return [terms for terms in every if self.fits(terms)]

    def knows(self, terms: Terms) -> bool:
        """Whether all terms are of these blocks."""
        return {block for block, _ in terms} <= set(self.blocks)

    def fits(self, terms: Terms) -> bool:
        """Whether a set is within the limits of its form, and can be written at all."""
        if not 1 <= len(terms) <= self.settings.max_terms:
            return False
        try:
            return features.parse(text_of(terms)).size <= self.settings.max_features
        except UserError:  # a product that is none, or with more features than any set may have
            return False

    def child(
        self, rng: np.random.Generator, parents: Sequence[Terms], known: Collection[Key]
    ) -> tuple[Terms, str, list[Terms]] | None:
        """A new set with the move that made it and its parents; None when none is found."""
        for _ in range(TRIES):
            one, other = (parents[i] for i in rng.integers(len(parents), size=2))
            move = str(rng.choice(list(self._moves)))
            terms = self.sorted(self._moves[move](rng, one, other))
            if key_of(terms) not in known and self.fits(terms):
                return terms, move, [one, other] if move == "unite" else [one]
        return None

    def sorted(self, terms: Terms) -> Terms:
        """Each term once, in the order of blocks and factors."""
        place = {name: i for i, name in enumerate(self.blocks)}
        factor = {name: i for i, name in enumerate(self.factors)}
        return tuple(sorted(set(terms), key=lambda term: (place[term[0]], factor[term[1]])))

    def _term(self, rng: np.random.Generator) -> Term:
        return str(rng.choice(self.blocks)), ""

    def _multiplied(self, rng: np.random.Generator, terms: Terms, _: Terms) -> Terms:
        """A term with another factor, or with none."""
        at = int(rng.integers(len(terms)))
        changed = (terms[at][0], str(rng.choice(self.factors)))
        return (*terms[:at], changed, *terms[at + 1 :])


def check_hours(settings: Searching, positions: int, workers: int) -> None:
    """Raises UserError for hours that don't suffice for a generation of so many positions a set."""
    least = positions * settings.epochs * settings.l1 / 256 * SECONDS
    hours = max(settings.population * settings.seeds / workers, 1) * least / 3600
    if settings.hours < hours:
        raise UserError(
            f"hours: a generation of {settings.population} sets takes {hours:.2g} hours here, at "
            "least; give more hours, a smaller population, or fewer positions"
        )


def terms_of(feature_set: str) -> list[str]:
    """The products that an expression is a sum of, in canonical form."""
    return [features.FeatureSet((term,)).name for term in features.parse(feature_set).terms]


def key_of(terms: Terms) -> Key:
    """The same for all ways to write a set."""
    return frozenset(name for term in terms for name in _products(*term))


@cache
def _products(block: str, factor: str) -> list[str]:
    return terms_of(_term_text(block, factor))


def text_of(terms: Terms) -> str:
    """The expression of a set."""
    return "+".join(_term_text(*term) for term in terms)


def _term_text(block: str, factor: str) -> str:
    if not factor:
        return block
    return "*".join(f"({part})" if "+" in part else part for part in (factor, block))


def _without(rng: np.random.Generator, terms: Terms) -> Terms:
    at = int(rng.integers(len(terms)))
    return terms[:at] + terms[at + 1 :]


def _once(names: list[str], what: str) -> tuple[str, ...]:
    for i, name in enumerate(names):
        if name in names[:i]:
            raise UserError(f"{what}: {name} is there twice; leave one out")
    return tuple(names)
