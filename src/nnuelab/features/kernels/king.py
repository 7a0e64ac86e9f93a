"""King-piece blocks, jitted: the piece-square block of the own king's class."""

import numpy as np

from nnuelab.chess.position import KING
from nnuelab.features.kernels.lists import pack
from nnuelab.features.kernels.piece_square import active_rows, changed_rows, changed_squares
from nnuelab.features.records import FROM_SCRATCH, PIECE_SQUARE
from nnuelab.jit import at, inline, lsb, view


@inline
def _class_of(data, position, perspective):
    king = lsb(position.roles[KING] & position.colors[perspective])
    return view(data.classes, (2, 64), np.int64)[at(perspective), at(king)]


def active(data, position, perspective, out):
    block = view(data.blocks, data.n, PIECE_SQUARE)[_class_of(data, position, perspective)]
    return active_rows(block, position, perspective, out)


def changes(data, old, new, perspective, added, removed):
    now = _class_of(data, new, perspective)
    if _class_of(data, old, perspective) != now:
        return np.int64(FROM_SCRATCH)
    block = view(data.blocks, data.n, PIECE_SQUARE)[now]
    n_added, n_removed = changed_rows(
        block, changed_squares(old, new), old, new, perspective, added, removed
    )
    return pack(n_added, n_removed)
