"""What features share in training, one feature after another by the words of the definition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator

import numpy as np

from nnuelab.features import Block, FeatureSet
from nnuelab.features.kinds.selection import Selection


def parts(features: FeatureSet) -> dict[Hashable, set[int]]:
    """Features by what is left of them without one of their factors, or one of their concepts."""
    found: dict[Hashable, set[int]] = defaultdict(set)
    for offset, term in zip(features.offsets, features.terms, strict=True):
        if len(term.factors) == 1:
            for local, part in _of_block(term.factors[0]):
                found[term.name, part].add(offset + local)
            continue
        for local, values in enumerate(np.ndindex(*term.shape)):
            for f in range(len(values)):
                found[term.name, f, *values[:f], *values[f + 1 :]].add(offset + local)
    return found


def _of_block(block: Block) -> Iterator[tuple[int, Hashable]]:
    if isinstance(block, Selection):
        numbers = {int(inner): index for index, inner in enumerate(np.flatnonzero(block.kept))}
        for part, those in parts(block.inner).items():
            yield from ((numbers[inner], part) for inner in those if inner in numbers)
    elif block.parts is not None:
        for phase in range(block.size // block.parts.size):
            start = phase * block.parts.size
            for part, those in parts(block.parts).items():
                yield from ((start + inner, (phase, part)) for inner in those)
            for inner in range(block.parts.size):
                yield start + inner, ("any phase", inner)
    elif block.name.startswith(("PP", "TOPK")):
        for index in range(block.size):
            yield from ((index, piece) for piece in block.feature_name(index).split(" and "))
    else:
        for group in block.tuples():
            for values, index in zip(group.values.tolist(), group.features, strict=True):
                for c in range(len(values) if len(values) > 1 else 0):
                    yield int(index), (group.label, c, *values[:c], *values[c + 1 :])
