"""Slow, obvious twins of the chess core."""

from __future__ import annotations

from collections.abc import Callable

import chess
import numpy as np

from nnuelab.chess.attacks import BISHOP_LINES
from nnuelab.chess.position import _PIECES, _STATES, BLACK, EMPTY


def key(position: np.void) -> int:
    """The Zobrist key as its definition says it."""
    total = int(_STATES[position["castling"]]) ^ int(_STATES[16 + position["ep"]])
    if position["turn"] == BLACK:
        total ^= int(_STATES[81])
    for square, piece in enumerate(position["board"]):
        if piece != EMPTY:
            total ^= int(_PIECES[piece, square])
    return total


def slider_mismatches(ours: Callable[[int, np.uint64], int], lines: int) -> int:
    """Squares and occupancies of the relevant squares where attacks differ from python-chess."""
    wrong = 0
    for square in chess.SQUARES:
        if lines == BISHOP_LINES:
            expected = chess.BB_DIAG_ATTACKS[square]
        else:
            expected = {
                ranks | files: along | across
                for ranks, along in chess.BB_RANK_ATTACKS[square].items()
                for files, across in chess.BB_FILE_ATTACKS[square].items()
            }
        for occupied, attacked in expected.items():
            wrong += int(ours(square, np.uint64(occupied))) != attacked
    return wrong
