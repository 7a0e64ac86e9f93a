"""The study's names of feature sets and its order of features, for its ``.nn`` files.

An order is written as axes, the last running fastest: the names of the block's concepts, where
SQUARES is RANKS FILES, and ``-COLORS`` is the colour with own = 1 and enemy = 0. Whatever order a
block of ours has, rows are moved to their place when a file is read or written. Source: the index
table of M. E. Lombardo, "Feature set analysis for chess NNUE networks" (2024), and his files.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from nnuelab import features
from nnuelab.errors import UserError


@dataclass(frozen=True)
class _Block:
    """A block in the study's files: what it is called there, and its order."""

    name: str
    axes: str


_BLOCKS = {
    "ALL": _Block("all", "FILES RANKS ROLES COLORS"),
    "H": _Block("h", "FILES ROLES COLORS"),
    "V": _Block("v", "RANKS ROLES COLORS"),
    "D1": _Block("d1", "DIAGS1 ROLES COLORS"),
    "D2": _Block("d2", "DIAGS2 ROLES COLORS"),
    # The pairs' names are exchanged there: its "ph" groups by file.
    "PH": _Block("pv", "RANKS ROLES -COLORS ROLES -COLORS"),
    "PV": _Block("ph", "FILES ROLES -COLORS ROLES -COLORS"),
    "MB": _Block("mb", "RANKS FILES ROLES COLORS"),
    "MC": _Block("mc", "MOBILITIES COLORS"),
}
_OURS = {block.name.upper(): name for name, block in _BLOCKS.items()} | {"HV": "ALL"}


def our_expression(name: str) -> str:
    """The expression of ours for a name in the study's files.

    >>> our_expression("hv+ph")
    'ALL+PV'
    """
    terms = [term.strip().upper() for term in name.split("+")]
    return "+".join(_OURS.get(term, term) for term in terms)


def study_name(feature_set: str) -> str:
    """The study's name of a canonical expression of ours.

    Raises
    ------
    UserError
        When the study has no such block, or the expression has a product.
    """
    return "+".join(_known(term).name for term in feature_set.split("+"))


def order(feature_set: features.FeatureSet) -> np.ndarray:
    """int64[N]: our number of each feature, in the study's order.

    Raises
    ------
    UserError
        When a term is not a block of the study's, or a block with that name is another one.
    """
    parts = [
        offset + by_axes(term.factors[0], _known(term.name).axes)
        for offset, term in zip(feature_set.offsets, feature_set.terms, strict=True)
    ]
    return np.concatenate(parts)


def _known(term: str) -> _Block:
    if term not in _BLOCKS:
        kind = "no products" if "*" in term else "no such block"
        raise UserError(
            f"the study's files have {kind} as {term}; they know sums of {', '.join(_BLOCKS)}"
        )
    return _BLOCKS[term]


def by_axes(block: features.Block, order: str) -> np.ndarray:
    """int64[size]: a block's number of each feature, in the order of such axes.

    Raises
    ------
    UserError
        When the block has other concepts.
    """
    axes = order.split()
    ours = list(_axes_of(block))
    numbers = np.arange(block.size).reshape([size for _, size in ours])
    left = {i: name for i, (name, _) in enumerate(ours)}
    moved = []
    for axis in axes:
        place = next((i for i, name in left.items() if name == axis.lstrip("-")), None)
        if place is None:
            break
        moved.append(place)
        del left[place]
    if left or len(moved) < len(axes):
        raise UserError(
            f"{block.file}: the block {block.name} is {block.formula}, the one that others know "
            f"by that name is {' x '.join(axes).replace('-', '')}; rename yours"
        )
    numbers = numbers.transpose(moved)
    return np.flip(numbers, tuple(i for i, a in enumerate(axes) if a.startswith("-"))).ravel()


def _axes_of(block: features.Block) -> Iterator[tuple[str, int]]:
    """Names and sizes of a block's concepts, squares taken apart."""
    for concept in block.concepts:
        if concept.name == "SQUARES":
            yield from (("RANKS", 8), ("FILES", 8))
        else:
            yield concept.name, concept.size
