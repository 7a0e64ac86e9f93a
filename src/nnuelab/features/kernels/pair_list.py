"""Counting pairs of pieces in packed positions, jitted."""

import numpy as np

from nnuelab.chess.position import POSITION
from nnuelab.features.kernels.feature_set import place_pieces
from nnuelab.features.records import MOST_PIECES, SQUARES_ON_BOARD
from nnuelab.jit import jit, lsb


@jit
def count(records, counts):
    """Adds to ``counts[a, b]`` (int64[768, 768]) how often two piece-squares stand together.

    Each pair is counted once, for White's view, with the piece on the lower square first.
    """
    scratch = np.zeros(1, POSITION)
    places = np.empty(MOST_PIECES, np.int64)
    occupied, low, high = records["occupied"], records["pieces_low"], records["pieces_high"]
    for i in range(len(records)):
        place_pieces(occupied[i], low[i], high[i], scratch[0])
        left = occupied[i]
        n = np.int64(0)
        while left:
            square = lsb(left)
            left &= left - np.uint64(1)
            places[n] = np.int64(scratch[0].board[square]) * SQUARES_ON_BOARD + square
            for j in range(n):
                counts[places[j], places[n]] += 1
            n += 1
