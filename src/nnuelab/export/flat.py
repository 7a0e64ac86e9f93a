"""A feature set as tables that need nothing of this project: terms, factors and strides."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, product

import numpy as np

from nnuelab.errors import UserError
from nnuelab.features import Block, FeatureSet, Product
from nnuelab.features.answers import renumbered
from nnuelab.features.kinds.composite import Composite
from nnuelab.features.kinds.computed import Computed
from nnuelab.features.kinds.lines import Neighbours
from nnuelab.features.kinds.pairs import Pairs
from nnuelab.features.kinds.piece_target import PieceTarget
from nnuelab.features.kinds.selection import Selection
from nnuelab.features.kinds.square_set import SquareCount, SquareSet
from nnuelab.features.kinds.tracing import Operation
from nnuelab.features.records import PIECES, PLACES, SQUARES_ON_BOARD

BY_PLACE, BY_COUNT, OF_PAIRS, ON_LINES = "BY_PLACE", "BY_COUNT", "OF_PAIRS", "ON_LINES"
OF_SQUARES, OF_NUMBERS, OF_TARGETS = "OF_SQUARES", "OF_NUMBERS", "OF_TARGETS"
MORE_KINDS = BY_COUNT, OF_PAIRS, ON_LINES, OF_SQUARES, OF_NUMBERS, OF_TARGETS
COMPARED = OF_PAIRS, OF_SQUARES, OF_NUMBERS, OF_TARGETS
MOST_TUPLES = 1 << 14  # active at once; a stack of positions keeps them all
UNTOLD = "castling"
"""The source that needs more than where the pieces stand, which is all that the code is told."""
NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Factor:
    """What makes a row active in one perspective; a place is piece * 64 + square, -1 is none.

    Attributes
    ----------
    kind : str
        BY_PLACE: a piece on its square, by a class of the own king's square. BY_COUNT: the number
        of pieces. OF_PAIRS: two pieces on their squares. ON_LINES: two neighbours on a line.
        OF_SQUARES: a square in a set of squares. OF_NUMBERS: how many squares a set has.
        OF_TARGETS: a piece on its square and one that it acts on, perhaps with what stands there.
    rows : int64 array
        [classes, 768]; [33]; [n, n] by numbers of places; [lines, 144] by first * 12 + second;
        [12, 64]; [sets, 65]; [768, victims] of the lowest target, every further one is 1 more.
    size, most : int
        Rows, and a bound of those that are active at once.
    classes : int64[64]
        Of the own king's square, of BY_PLACE and where rows are chosen.
    chosen : int64[classes, rows]
        Of other kinds, where not all rows are meant: their new numbers, -1 for none.
    numbers : int64[768]
        Of places, of OF_PAIRS.
    squares : int64[lines, 8]
        Of ON_LINES, in order, 64 behind the last.
    masks : uint64[768 + victims]
        Of OF_TARGETS: targets that a place has, then where each victim can stand.
    sets : tuple of tuple of Operation
        Postfix, for each piece (OF_TARGETS: one of them) and section: what is in its set.
    """

    kind: str
    rows: np.ndarray
    size: int
    most: int
    classes: np.ndarray = field(default_factory=lambda: NONE)
    chosen: np.ndarray = field(default_factory=lambda: NONE)
    numbers: np.ndarray = field(default_factory=lambda: NONE)
    squares: np.ndarray = field(default_factory=lambda: NONE)
    masks: np.ndarray = field(default_factory=lambda: NONE)
    sets: tuple[tuple[Operation, ...], ...] = ()

    @property
    def shared(self) -> bool:
        """Whether there may be several reasons for one row to be active."""
        if self.kind == ON_LINES:
            return True
        return self.kind == BY_PLACE and any(
            len(np.unique(table[table >= 0])) < (table >= 0).sum() for table in self.rows
        )

    def choosing(self, rows: np.ndarray, sides: np.ndarray, size: int) -> Factor:
        """A factor with some of its rows.

        Parameters
        ----------
        rows : int64[n, self.size]
            Their numbers of ``size``, -1 for none.
        sides : int64[64]
            Which of the n holds, by the square of the own king.
        """
        direct = self.kind == BY_PLACE
        known = self.rows if direct else self.chosen
        known = known if known.size else np.arange(self.size)[None]
        before = self.classes if self.classes.size else np.zeros_like(sides)
        tables, classes = renumbered(list(known), before, rows, sides)
        made, found = replace(self, size=size, classes=classes), np.stack(tables)
        return replace(made, rows=found) if direct else replace(made, chosen=found)


@dataclass(frozen=True, eq=False)
class Term:
    """A feature is offset + the sum of row * stride, active where a row of each factor is."""

    offset: int
    factors: tuple[tuple[Factor, int], ...]

    @property
    def is_direct(self) -> bool:
        """Whether it has the rows of one piece and its square, to be updated piece by piece."""
        return len(self.factors) == 1 and self.factors[0][0].kind == BY_PLACE

    @property
    def is_compared(self) -> bool:
        """Whether it has the rows of pairs or sets of squares, to be updated by what changed."""
        return len(self.factors) == 1 and self.factors[0][0].kind in COMPARED

    @property
    def most(self) -> int:
        """Bound of the features that are active at once."""
        return math.prod(factor.most for factor, _ in self.factors)


def terms_of(features: FeatureSet) -> list[Term]:
    """The terms of a set: those that are direct, then those that are compared, then all others.

    Raises
    ------
    UserError
        When a block can't be exported, with the reason.
    """
    found = sorted(_of_set(features), key=lambda term: (not term.is_direct, not term.is_compared))
    for term in found:
        if term.most > MOST_TUPLES:
            raise UserError(
                f"{features.name} can't be exported: a product of its blocks has up to "
                f"{term.most:,} active features, more than {MOST_TUPLES:,}"
            )
    return found


def factors_of(terms: list[Term]) -> list[Factor]:
    """The factors of terms, each once."""
    return list(dict.fromkeys(factor for term in terms for factor, _ in term.factors))


def found_in(factors: list[Factor]) -> dict[str, bool]:
    """Which code factors need, by the names of its conditions."""
    kinds = {factor.kind for factor in factors}
    return {
        **{f"HAS_{kind}": kind in kinds for kind in MORE_KINDS},
        "MORE_KINDS": not kinds.isdisjoint(MORE_KINDS),
        "CHOOSES": any(factor.chosen.size for factor in factors),
    }


def _of_set(features: FeatureSet) -> Iterator[Term]:
    for offset, term in zip(features.offsets, features.terms, strict=True):
        for inner in _of_product(term):
            yield Term(offset + inner.offset, inner.factors)


def _of_product(term: Product) -> Iterator[Term]:
    """A product distributes over the terms that its factors consist of."""
    sizes = (block.size for block in reversed(term.factors[1:]))
    strides = list(accumulate(sizes, int.__mul__, initial=1))[::-1]
    for parts in product(*(list(_of_block(block)) for block in term.factors)):
        pairs = list(zip(parts, strides, strict=True))
        yield Term(
            sum(part.offset * stride for part, stride in pairs),
            tuple((f, own * stride) for part, stride in pairs for f, own in part.factors),
        )


def _of_block(block: Block) -> Iterator[Term]:
    if isinstance(block, Composite):
        phases = Factor(BY_COUNT, block.phases, block.size // block.inner.size, 1)
        more = () if block.is_sum else ((phases, block.inner.size),)
        for term in _of_set(block.inner):
            yield Term(term.offset, (*more, *term.factors))
    elif isinstance(block, Selection):
        yield from _of_selection(block)
    else:
        yield Term(0, ((_factor(block), 1),))


def _of_selection(block: Selection) -> Iterator[Term]:
    """The terms of the set, whose rows are numbered anew."""
    for term in _of_set(block.inner):
        (factor, stride), *others = term.factors
        if others:
            raise UserError(
                f"block {block.name} can't be exported: a choice of features of a product or by "
                f"phases, {block.inner.name}, has no translation"
            )
        rows = block.rows[:, term.offset + stride * np.arange(factor.size)].astype(np.int64)
        yield Term(0, ((factor.choosing(rows, block.sides, block.size), 1),))


def _factor(block: Block) -> Factor:
    table = block.tabulated()
    if table is not None:
        rows = np.stack(table.tables).reshape(-1, PLACES).astype(np.int64)
        return Factor(BY_PLACE, rows, block.size, block.max_active, classes=table.class_of)
    if isinstance(block, Pairs):
        places, flat = np.unique(block.pairs, return_inverse=True)
        first, second = flat.reshape(block.pairs.shape).T
        numbers = np.full(PLACES, -1, np.int64)
        numbers[places] = np.arange(len(places))
        rows = np.full((len(places), len(places)), -1, np.int64)
        rows[first, second] = rows[second, first] = np.arange(block.size)
        return Factor(OF_PAIRS, rows, block.size, block.max_active, numbers=numbers)
    if isinstance(block, Neighbours):
        lines, table_of_lines = block.lines()
        squares = np.full((len(lines), 8), SQUARES_ON_BOARD, np.int64)
        for row, line in zip(squares, lines, strict=True):
            row[: len(line)] = line
        rows = table_of_lines.reshape(len(lines), 144).astype(np.int64)
        return Factor(ON_LINES, rows, block.size, block.max_active, squares=squares)
    if isinstance(block, SquareSet | SquareCount | PieceTarget):
        return _of_squares(block)
    reason = (
        "a compiled function (`computed`) says what is active, which has no translation"
        if isinstance(block, Computed)
        else f"its kind, {type(block).__name__}, has no translation"
    )
    raise UserError(f"block {block.name} can't be exported: {reason}")


def _of_squares(block: SquareSet | SquareCount | PieceTarget) -> Factor:
    sets = tuple(squares.code for squares in block.traced)
    if any(name == UNTOLD for code in sets for _, name, _ in code):
        raise UserError(
            f"block {block.name} can't be exported: {UNTOLD} depends on the right to it, and the "
            "code is only told where pieces stand"
        )
    if isinstance(block, SquareSet):
        rows = np.empty((PIECES, SQUARES_ON_BOARD), np.int64)
        for found in block.tuples():
            square, role, color = found.values.T
            rows[2 * role + color, square] = found.features
        return Factor(OF_SQUARES, rows, block.size, block.max_active, sets=sets)
    if isinstance(block, SquareCount):
        rows = np.full((len(sets), SQUARES_ON_BOARD + 1), -1, np.int64)
        for section, found in enumerate(block.tuples()):
            count, role, color = found.values.T
            rows[section * PIECES + 2 * role + color, count] = found.features
        # More than is counted is the same.
        rows = np.maximum.accumulate(rows, 1)
        return Factor(OF_NUMBERS, rows, block.size, block.max_active, sets=sets)
    (found,) = block.tuples()
    role, color, square, *victims, target = found.values.T
    places = (2 * role + color) * SQUARES_ON_BOARD + square
    victim = 2 * victims[0] + victims[1] if victims else np.zeros_like(role)
    n = PIECES if victims else 1
    rows = np.full((PLACES, n), -1, np.int64)
    wanted, lowest = np.unique(places * n + victim, return_index=True)
    rows.ravel()[wanted] = found.features[lowest]
    masks = np.zeros(PLACES + n, np.uint64)
    bits = np.uint64(1) << target.astype(np.uint64)
    np.bitwise_or.at(masks, places, bits)
    np.bitwise_or.at(masks, PLACES + victim, bits)
    return Factor(OF_TARGETS, rows, block.size, block.max_active, masks=masks, sets=sets)
