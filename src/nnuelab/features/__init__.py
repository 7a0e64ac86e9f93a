"""Feature sets: an algebra of blocks, each defined once, from which everything else is derived.

The room imports boards (``nnuelab.chess``), and knows nothing of data, nets or search. From the
definition of a block (:mod:`block`) come index, names and dead features; :mod:`tables` turns an
expression into flat memory, from which :mod:`kernels` extracts active features and what changes
between two positions.

A file of blocks imports from here what it needs; see docs/adding-a-feature-set.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnuelab.features.algebra import FeatureSet, Product
from nnuelab.features.block import Block
from nnuelab.features.concepts import (
    BISHOP,
    COLORS,
    COLORS_ENEMY_FIRST,
    DIAGS1,
    DIAGS2,
    ENEMY,
    FILES,
    KING,
    KING_SQUARES,
    KNIGHT,
    OWN,
    PAWN,
    QUEEN,
    RANKS,
    ROLES,
    ROLES_BUT_KING,
    ROOK,
    SQUARES,
    Concept,
    diagonal1_of,
    diagonal2_of,
    file_of,
    rank_of,
)
from nnuelab.features.family import Expression, Family, File, Number, Word, family
from nnuelab.features.kinds.computed import computed
from nnuelab.features.kinds.king import king_piece
from nnuelab.features.kinds.lines import neighbours
from nnuelab.features.kinds.pairs import pairs_of, piece_pairs
from nnuelab.features.kinds.phase import phases
from nnuelab.features.kinds.piece_square import piece_square
from nnuelab.features.kinds.sum import named
from nnuelab.features.pair_list import listed_pairs
from nnuelab.features.registry import add_files, block_files
from nnuelab.features.text import UnknownBlock, parse

if TYPE_CHECKING:
    import numpy as np

    from nnuelab.features.tables import Tables

__all__ = [
    "BISHOP",
    "COLORS",
    "COLORS_ENEMY_FIRST",
    "DIAGS1",
    "DIAGS2",
    "ENEMY",
    "FILES",
    "KING",
    "KING_SQUARES",
    "KNIGHT",
    "OWN",
    "PAWN",
    "QUEEN",
    "RANKS",
    "ROLES",
    "ROLES_BUT_KING",
    "ROOK",
    "SQUARES",
    "Block",
    "Concept",
    "Expression",
    "Family",
    "FeatureSet",
    "File",
    "Number",
    "Product",
    "UnknownBlock",
    "Word",
    "add_files",
    "batch",
    "block_files",
    "computed",
    "diagonal1_of",
    "diagonal2_of",
    "family",
    "file_of",
    "king_piece",
    "listed_pairs",
    "named",
    "neighbours",
    "pairs_of",
    "parse",
    "phases",
    "piece_pairs",
    "piece_square",
    "rank_of",
]


def batch(
    tables: Tables,
    records: np.ndarray,
    stm_out: np.ndarray,
    other_out: np.ndarray,
    stm_n: np.ndarray,
    other_n: np.ndarray,
) -> None:
    """Active features of packed positions; see :func:`nnuelab.features.kernels.batch`.

    Raises
    ------
    UserError
        When a function of a user's breaks the bounds of its block.
    """
    from nnuelab.features import kernels  # compiled code is loaded only when it is used

    kernels.batch(tables.record, records, stm_out, other_out, stm_n, other_n)
    tables.check()
