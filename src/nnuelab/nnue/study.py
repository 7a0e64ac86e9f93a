"""The study's names of feature sets and its order of features, for its ``.nn`` files.

An order is written as axes, the last running fastest: the names of the block's concepts, where
SQUARES is RANKS x FILES, and ``-COLORS`` is the colour with own = 1 and enemy = 0. Whatever order a
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
    "ALL": _Block("all", "FILES x RANKS x ROLES x COLORS"),
    "H": _Block("h", "FILES x ROLES x COLORS"),
    "V": _Block("v", "RANKS x ROLES x COLORS"),
    "D1": _Block("d1", "DIAGS1 x ROLES x COLORS"),
    "D2": _Block("d2", "DIAGS2 x ROLES x COLORS"),
    # The pairs' names are exchanged there: its "ph" groups by file.
    "PH": _Block("pv", "RANKS x ROLES x -COLORS x ROLES x -COLORS"),
    "PV": _Block("ph", "FILES x ROLES x -COLORS x ROLES x -COLORS"),
    "MB": _Block("mb", "RANKS x FILES x ROLES x COLORS"),
    "MC": _Block("mc", ""),  # no stride index, for the counts end at each role's own: ours is its
    # Named in the study, but no net of it was trained; its king squares are numbered like MB's.
    "KA": _Block("ka", "KING SQUARES x FILES x RANKS x ROLES x COLORS"),
}
_OURS = {block.name.upper(): name for name, block in _BLOCKS.items()} | {"HV": "ALL"}


def our_expression(name: str) -> str:
    """The expression of ours for a name in the study's files.

    >>> our_expression("hv+ph")
    'ALL+PV'
    """
    terms = [term.strip().upper() for term in name.split("+")]
    return "+".join(_OURS.get(term, term) for term in terms)


def study_name(feature_set: features.FeatureSet) -> str:
    """The study's name of a feature set of ours.

    Raises
    ------
    UserError
        When the study has no such block, or the expression has a product.
    """
    return "+".join(_known(term.name).name for term in feature_set.terms)


def order(feature_set: features.FeatureSet) -> np.ndarray:
    """int64[N]: our number of each feature, in the study's order.

    Raises
    ------
    UserError
        When a term is not a block of the study's, or a block with that name is another one.
    """
    parts = [
        offset + _order_of(term.factors[0], _known(term.name).axes)
        for offset, term in zip(feature_set.offsets, feature_set.terms, strict=True)
    ]
    return np.concatenate(parts)


def _known(term: str) -> _Block:
    if term not in _BLOCKS:
        kind = "no products" if "*" in term else "no such block"
        raise UserError(
            f"the study's files have {kind} as {term}, they know sums of {', '.join(_BLOCKS)}; "
            "keep the net as .nnue"
        )
    return _BLOCKS[term]


def _order_of(block: features.Block, axes: str) -> np.ndarray:
    return by_axes(block, axes) if axes else np.arange(block.size)


def by_axes(block: features.Block, order: str) -> np.ndarray:
    """int64[size]: a block's number of each feature, in the order of such axes.

    Raises
    ------
    UserError
        When the block has other concepts.
    """
    axes = order.split(" x ")
    ours = list(_axes_of(block))
    left = {i: name for i, (name, _, _) in enumerate(ours)}
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
            f"by that name is {order.replace('-', '')}; rename yours"
        )
    numbers = np.arange(block.size).reshape([size for _, size, _ in ours]).transpose(moved)
    enemy_first = [ours[place][2] for place in moved]
    turned = [i for i, axis in enumerate(axes) if axis.startswith("-") != enemy_first[i]]
    return np.flip(numbers, tuple(turned)).ravel()


def _axes_of(block: features.Block) -> Iterator[tuple[str, int, bool]]:
    """Name and size of a block's concepts, squares taken apart, and whether the enemy is 0."""
    for concept in block.concepts:
        if concept.name == "SQUARES":
            yield from (("RANKS", 8, False), ("FILES", 8, False))
        else:
            yield concept.name, concept.size, concept.values == features.COLORS.values[::-1]
