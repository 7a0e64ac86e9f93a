"""King-piece blocks, jitted: the piece-square block of the own king's class."""

import numpy as np

from nnuelab.chess.position import KING
from nnuelab.features.kinds.piece_square_kernels import active_rows, changed_rows, changed_squares
from nnuelab.features.lists import pack
from nnuelab.features.tables import FROM_SCRATCH, PIECE_SQUARE
from nnuelab.jit import at, inline, lsb, view

KING_PIECE = np.dtype(
    [
        ("n", "i8"),  # classes
        ("blocks", "u8"),  # -> PIECE_SQUARE[n]
        ("classes", "u8"),  # -> int64[2, 64]: by perspective and square of its king
    ],
    align=True,
)


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
