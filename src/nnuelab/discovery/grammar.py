"""Feature sets that a search may write: sums of blocks, and of blocks times a factor.

A set is a tuple of terms in the order of the blocks, a term a block with its factor or "". So no
set comes twice under two names.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np

from nnuelab import features
from nnuelab.errors import UserError
from nnuelab.settings.search import Searching

Term = tuple[str, str]
Terms = tuple[Term, ...]
TRIES = 200  # draws for one new set, before the grammar is thought to have no other


class Grammar:
    """Writes sets from blocks and factors within the limits of ``settings``.

    Raises
    ------
    UserError
        For an expression that is none, two blocks that are the same, or blocks of which none is
        small enough.
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
        if not self.first():
            raise UserError(
                f"none of the terms {', '.join(self.blocks) or '(there are none)'} is a set of at "
                f"most {settings.max_features:,} features; give others, or a larger max_features"
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
        self, rng: np.random.Generator, parents: Sequence[Terms], known: Collection[Terms]
    ) -> tuple[Terms, str, list[Terms]] | None:
        """A new set with the move that made it and its parents; None when none is found."""
        for _ in range(TRIES):
            one, other = (parents[i] for i in rng.integers(len(parents), size=2))
            move = str(rng.choice(list(self._moves)))
            terms = self.sorted(self._moves[move](rng, one, other))
            if terms not in known and self.fits(terms):
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
