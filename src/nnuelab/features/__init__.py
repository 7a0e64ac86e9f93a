"""Feature sets: an algebra of blocks, each defined once, from which everything else is derived.

The room imports boards (``nnuelab.chess``), and knows nothing of data, nets or search. From the
ground up: memory layouts (:mod:`records`) and what can stand where (:mod:`legality`); jitted code
(:mod:`kernels`); blocks, products and sums (:mod:`algebra`), with what a block answers
(:mod:`answers`) and its fingerprint; a set as flat memory (:mod:`tables`), from which the kernels
extract active features and what changes between two positions; the kinds of blocks
(:mod:`kinds`); all blocks by name (:mod:`registry`) and expressions as :mod:`text`.

A file of blocks imports from here what it needs; see docs/adding-a-feature-set.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from nnuelab.features.algebra import Block, FeatureSet, Product
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
from nnuelab.features.kinds.composite import named, phases
from nnuelab.features.kinds.computed import computed
from nnuelab.features.kinds.king import king_piece
from nnuelab.features.kinds.lines import neighbours
from nnuelab.features.kinds.pairs import pairs_of, piece_pairs
from nnuelab.features.kinds.piece_square import piece_square
from nnuelab.features.kinds.piece_target import piece_target
from nnuelab.features.kinds.selection import selected, selection
from nnuelab.features.kinds.sources import (
    attacked_by_lesser,
    attackers,
    attacks,
    castling,
    double_steps,
    king_zone,
    moves,
    pinned,
    safe_moves,
    standing,
    xrays,
)
from nnuelab.features.kinds.square_set import Section, square_count, square_set
from nnuelab.features.kinds.tracing import of_side
from nnuelab.features.pair_list import listed_pairs
from nnuelab.features.registry import add_files
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
    "Section",
    "UnknownBlock",
    "Word",
    "add_files",
    "attacked_by_lesser",
    "attackers",
    "attacks",
    "batch",
    "castling",
    "computed",
    "diagonal1_of",
    "diagonal2_of",
    "double_steps",
    "family",
    "file_of",
    "king_piece",
    "king_zone",
    "listed_pairs",
    "moves",
    "named",
    "neighbours",
    "of_side",
    "pairs_of",
    "parse",
    "phases",
    "piece_pairs",
    "piece_square",
    "piece_target",
    "pinned",
    "rank_of",
    "safe_moves",
    "selected",
    "selection",
    "square_count",
    "square_set",
    "standing",
    "xrays",
]


def batch(
    tables: Tables,
    records: np.ndarray,
    stm_out: np.ndarray,
    other_out: np.ndarray,
    stm_n: np.ndarray,
    other_n: np.ndarray,
) -> None:
    """Active features of packed positions; see :func:`nnuelab.features.kernels.feature_set.batch`.

    Raises
    ------
    UserError
        When a function of a user's breaks the bounds of its block.
    """
    # Compiled code is loaded only when it is used.
    from nnuelab.features.kernels import feature_set as kernels

    kernels.batch(tables.record, records, stm_out, other_out, stm_n, other_n)
    tables.check()
