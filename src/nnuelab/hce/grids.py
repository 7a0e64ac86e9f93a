"""The weights of a term as a table by its concepts: a dimension for each, squares as one.

What shares a weight stands in several cells (files a to d and h to e of a mirrored term), and what
no legal position has stands empty: so a table can be indexed as other engines do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nnuelab.features.concepts import FILES, RANKS, SQUARES, Concept
from nnuelab.hce.evaluation import Evaluation, Term

NONE = -1
"""Stands where no legal position has a feature."""


@dataclass(frozen=True)
class Grid:
    """A table of a term's weights.

    Attributes
    ----------
    concepts : tuple of Concept
        What each dimension is about; none of a term with a single weight.
    cells : ndarray of int64
        The weight of each cell, numbered within the term, or NONE.
    """

    concepts: tuple[Concept, ...]
    cells: np.ndarray


def grid(term: Term) -> Grid | None:
    """The table of a term's weights, None where it is no table: of features that aren't concepts.

    Ranks and files together are squares, from a1 to h8, and stand last.
    """
    if term.by == ():
        return Grid((), np.zeros((), np.int64))
    if len(term.features.terms) > 1:
        return None
    concepts = [concept for block in term.features.terms[0].factors for concept in block.concepts]
    sizes = [concept.size for concept in concepts]
    if not concepts or np.prod(sizes) != term.features.size:
        return None
    kept = [i for i, c in enumerate(concepts) if term.by is None or c.name in term.by]
    alive = np.flatnonzero(term.features.alive())
    values = np.unravel_index(alive, sizes)
    shown = [concepts[i] for i in kept]
    place = [values[i] for i in kept]
    names = [concept.name for concept in shown]
    if names.count(RANKS.name) == names.count(FILES.name) == 1:
        rank, file = names.index(RANKS.name), names.index(FILES.name)
        square = place[rank] * 8 + place[file]
        others = [i for i in range(len(kept)) if i not in (rank, file)]
        shown = [*(shown[i] for i in others), SQUARES]
        place = [*(place[i] for i in others), square]
    cells = np.full([concept.size for concept in shown], NONE, np.int64)
    cells[tuple(place)] = term.group[alive]
    return Grid(tuple(shown), cells)


def piece_squares(evaluation: Evaluation) -> np.ndarray:
    """What a piece of a player adds on each square of an otherwise empty board, by all terms.

    Material, piece-square tables, and terms of files and ranks alone come together so; what
    depends on other pieces has no part in it.

    Returns
    -------
    ndarray of int64 [2, 6, 64]
        Centipawns: middlegame and endgame, roles, squares as the player sees them.
    """
    found = np.zeros((2, 6, 64), np.int64)
    for term in evaluation.terms:
        start = evaluation.starts[term.name]
        for product, offset in zip(term.features.terms, term.features.offsets, strict=True):
            if len(product.factors) > 1 or (places := product.factors[0].places()) is None:
                continue
            group = term.group[offset : offset + product.size]
            weights = evaluation.weights[start + group]
            # Pieces are role * 2 + colour; what is the enemy's in the other player's view counts
            # against it.
            sums = np.einsum("fp,fks->pks", weights, places.astype(np.int64))
            found += sums[:, 0::2] - sums[:, 1::2][:, :, np.arange(64) ^ 56]
    return found
