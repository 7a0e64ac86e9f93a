"""Which pieces can stand where and together, and how a player sees a position."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from nnuelab.features.concepts import COLOR_NAMES, KING, PAWN, ROLE_NAMES, SQUARES, file_of, rank_of
from nnuelab.features.records import MOST_PIECES, OWN_KING, PIECES, PLACES, SQUARES_ON_BOARD

# How a player sees a position --------------------------------------------------------------------


@dataclass(frozen=True)
class Seen:
    """A position as one player sees it: rank 0 is the player's own first, colour 0 the player's.

    Attributes
    ----------
    pieces : dict
        (role 0..5, colour 0 own / 1 enemy) by square 0..63, ascending.
    position : np.record of POSITION
        The same as a record, seen likewise: White is the player, whose turn it is if ``turn`` is 0.
    """

    pieces: Mapping[int, tuple[int, int]]
    position: np.record

    def king(self, color: int) -> int:
        """Square of a king."""
        return next(s for s, (role, c) in self.pieces.items() if role == KING and c == color)


def seen_by(table: np.ndarray, perspective: int) -> np.ndarray:
    """A table [12, 64] of what a player sees, by real piece and square.

    Black's perspective swaps colours and turns the board over.
    """
    if perspective == 0:
        return table
    return table[np.arange(PIECES) ^ 1][:, np.arange(SQUARES_ON_BOARD) ^ 56]


def by_player(values: np.ndarray) -> np.ndarray:
    """Values [64] of squares as a player sees them, [2, 64] by White's and by Black's real ones."""
    return np.stack([values, values[np.arange(SQUARES_ON_BOARD) ^ 56]])


def turned_places(places: np.ndarray) -> np.ndarray:
    """Piece-squares as the other player sees them."""
    return places ^ (SQUARES_ON_BOARD | 56)


def place_name(place: int) -> str:
    """``own pawn on e4``, of a piece-square."""
    piece, square = divmod(place, SQUARES_ON_BOARD)
    return f"{COLOR_NAMES[piece % 2]} {ROLE_NAMES[piece // 2]} on {SQUARES.values[square]}"


# What can be -------------------------------------------------------------------------------------


def _legal_places() -> np.ndarray:
    """bool[12, 64]: whether a piece (role * 2 + colour) can stand on a square at all."""
    places = np.ones((PIECES, SQUARES_ON_BOARD), dtype=bool)
    for color in range(2):
        for square in range(SQUARES_ON_BOARD):
            places[PAWN * 2 + color, square] = rank_of(square) not in (0, 7)
    return places


LEGAL_PLACES = _legal_places()
NEAR = np.array(
    [
        [max(abs(file_of(a) - file_of(b)), abs(rank_of(a) - rank_of(b))) <= 1 for b in range(64)]
        for a in range(64)
    ]
)
"""bool[64, 64]: whether two squares are neighbours, or the same."""


@cache
def compatible_places() -> np.ndarray:
    """bool[768, 768]: which piece-squares (piece * 64 + square) a legal position can have."""
    pieces, squares = np.divmod(np.arange(PLACES), SQUARES_ON_BOARD)
    same_piece = pieces[:, None] == pieces
    same_square = squares[:, None] == squares
    kings = pieces // 2 == KING
    both_kings = kings[:, None] & kings
    possible = (same_square <= same_piece) & ~(both_kings & same_piece & ~same_square)
    possible &= ~(both_kings & ~same_piece & NEAR[squares[:, None], squares])
    return possible & LEGAL_PLACES.ravel()[:, None] & LEGAL_PLACES.ravel()


def most_active(rows: np.ndarray) -> int:
    """Bound of the rows (int32[12, 64], -1 none) that are active at once in any position."""

    def live(piece: int) -> np.ndarray:
        found = rows[piece][LEGAL_PLACES[piece]]
        return np.unique(found[found >= 0])

    kings = [live(OWN_KING + color) for color in range(2)]
    others = np.unique(np.concatenate([live(piece) for piece in range(OWN_KING)]))
    bound = sum(min(len(king), 1) for king in kings) + min(len(others), MOST_PIECES - 2)
    return min(bound, len(np.unique(np.concatenate([*kings, others]))))
