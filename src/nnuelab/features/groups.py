"""Groups of features that belong together: a term of a sum, a role, a colour, a file.

A group is what is masked to see what it is worth. It follows from the concepts of the blocks, so
products and blocks of one's own have groups, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nnuelab.errors import UserError, nearest
from nnuelab.features.algebra import Block, FeatureSet, Product
from nnuelab.features.answers import Tuples
from nnuelab.features.concepts import (
    COLOR_NAMES,
    FILES,
    RANKS,
    ROLE_NAMES,
    SQUARES,
    Concept,
    file_of,
    rank_of,
)

_LINES: dict[str, tuple[Concept, Callable[[int], int]]] = {
    "file": (FILES, file_of),
    "rank": (RANKS, rank_of),
}
_NAMES = {"role": ROLE_NAMES, "color": COLOR_NAMES}
_APART = "files apart"

Groups = dict[str, np.ndarray]


def groups(feature_set: FeatureSet, by: str) -> Groups:
    """Features by what they have in common.

    Parameters
    ----------
    feature_set : FeatureSet
    by : str
        ``term``, ``role``, ``color``, ``file``, ``rank``, the name of a concept, or several with
        ``*`` between them: ``term*role`` has a group for each role of each term. A feature about
        two pieces is in the groups of both. ``files apart``: how far their files are from each
        other.

    Returns
    -------
    dict of str to ndarray of bool [N]
        Which features are in a group, by its name; none is empty.

    Raises
    ------
    UserError
        When no block has such a concept.
    """
    found: Groups = {"": np.ones(feature_set.size, dtype=bool)}
    for axis in by.split("*"):
        found = {
            f"{name}, {value}".removeprefix(", "): members & more
            for name, members in found.items()
            for value, more in _along(feature_set, axis.strip()).items()
            if (members & more).any()
        }
    if not found:
        raise UserError(f"{feature_set.name}: no feature belongs to a group by {by}")
    return found


def chosen(feature_set: FeatureSet, by: str, names: Sequence[str]) -> np.ndarray:
    """bool [N]: which features are in one of the groups that are named.

    Raises
    ------
    UserError
        As `groups` does, or when there is no such group.
    """
    known = groups(feature_set, by)
    for name in names:
        if name not in known:
            raise UserError(
                f"{feature_set.name} has no group {name!r} by {by}{nearest(name, known)}"
            )
    return np.any([known[name] for name in names], axis=0)


def alone_or_together(feature_set: FeatureSet, by: str, together: Sequence[str]) -> Groups:
    """Each group alone, or those that are named ``together`` as one.

    Raises
    ------
    UserError
        As `chosen` does.
    """
    if together:
        return {" and ".join(together): chosen(feature_set, by, together)}
    return groups(feature_set, by)


def axes(feature_set: FeatureSet) -> list[str]:
    """What features can be grouped by, besides several of them."""
    concepts = [concept for tuples in _tuples(feature_set) for concept in tuples.concepts]
    lines = [axis for axis in _LINES if any(_labels(concept, axis) for concept in concepts)]
    names = [axis for axis in _NAMES if any(_labels(concept, axis) for concept in concepts)]
    apart = [_APART] if any(len(_squares(t.concepts)) == 2 for t in _tuples(feature_set)) else []
    return ["term", *names, *lines, *apart, *dict.fromkeys(concept.name for concept in concepts)]


def _along(feature_set: FeatureSet, axis: str) -> Groups:
    if axis != "term":
        if axis not in (known := axes(feature_set)):
            raise UserError(
                f"{feature_set.name} can't be grouped by {axis!r}, only by {', '.join(known)}"
            )
        return _of_set(feature_set, axis)
    terms = np.repeat(np.arange(len(feature_set.terms)), [t.size for t in feature_set.terms])
    return {term.name: terms == i for i, term in enumerate(feature_set.terms)}


def _of_set(feature_set: FeatureSet, axis: str) -> Groups:
    found: Groups = {}
    for term, offset in zip(feature_set.terms, feature_set.offsets, strict=True):
        for name, members in _of_product(term, axis).items():
            whole = found.setdefault(name, np.zeros(feature_set.size, dtype=bool))
            whole[offset : offset + term.size] |= members
    return found


def _of_product(term: Product, axis: str) -> Groups:
    found: Groups = {}
    for f, block in enumerate(term.factors):
        others = tuple(set(range(len(term.factors))) - {f})
        for name, members in _of_block(block, axis).items():
            whole = found.setdefault(name, np.zeros(term.size, dtype=bool)).reshape(term.shape)
            whole |= np.expand_dims(members, others)
    return found


def _of_block(block: Block, axis: str) -> Groups:
    found: Groups = {}
    if block.parts is not None:
        for name, members in _of_set(block.parts, axis).items():
            whole = found.setdefault(name, np.zeros(block.size, dtype=bool))
            for _, features in block.copies():
                whole[features[members & (features >= 0)]] = True
        return found
    for tuples in block.tuples():
        if axis == _APART:
            for label, features in _apart(tuples):
                found.setdefault(label, np.zeros(block.size, dtype=bool))[features] = True
            continue
        for i, concept in enumerate(tuples.concepts):
            for value, label in enumerate(_labels(concept, axis)):
                features = tuples.features[tuples.values[:, i] == value]
                found.setdefault(label, np.zeros(block.size, dtype=bool))[features] = True
    return found


def _tuples(feature_set: FeatureSet) -> Iterator[Tuples]:
    """Those of all blocks, of what blocks are made of in their place."""
    for block in feature_set.blocks:
        yield from block.tuples() if block.parts is None else _tuples(block.parts)


def _squares(concepts: Sequence[Concept]) -> list[int]:
    """The concepts that are squares, by number."""
    return [i for i, concept in enumerate(concepts) if concept.values == SQUARES.values]


def _apart(tuples: Tuples) -> Iterator[tuple[str, np.ndarray]]:
    """The features of two squares, by the distance of their files."""
    if len(squares := _squares(tuples.concepts)) != 2:
        return
    one, other = (tuples.values[:, i] % 8 for i in squares)
    for files in range(FILES.size):
        yield f"{files} files apart", tuples.features[abs(one - other) == files]


def _labels(concept: Concept, axis: str) -> tuple[str, ...]:
    """What values of a concept say of an axis; nothing when it is about something else."""
    if axis in _NAMES:
        return concept.values if set(concept.values) <= set(_NAMES[axis]) else ()
    if axis in _LINES:
        lines, line_of = _LINES[axis]
        if concept == lines:
            return lines.values
        if concept.values == SQUARES.values:
            return tuple(lines.values[line_of(square)] for square in range(SQUARES.size))
        return ()
    return concept.values if concept.name == axis else ()
