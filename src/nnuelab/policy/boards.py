"""A position as the eight bitboards of Neural Chess: one for each player and each kind of piece.

Any other view of the board is an AND of two of them. Which player is White, castling rights, the
en-passant square and the counters are not told by them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnuelab.chess.position import BISHOP, EMPTY, KING, KNIGHT, PAWN, QUEEN, ROOK
from nnuelab.policy.policyfile import SQUARES

KINDS = (KING, QUEEN, ROOK, BISHOP, KNIGHT, PAWN)
NAMES = ("player", "opponent", "kings", "queens", "rooks", "bishops", "knights", "pawns")


def masks(position: np.void) -> list[int]:
    """The bitboards in the order of NAMES; the player is the side to move, a1 is bit 0."""
    turn = int(position["turn"])
    colors = [int(position["colors"][color]) for color in (turn, 1 - turn)]
    return colors + [int(position["roles"][kind]) for kind in KINDS]


def codes(boards: Sequence[int], turn: int) -> list[int]:
    """The piece code on each square, EMPTY where no piece stands.

    Parameters
    ----------
    boards : sequence of int [8]
        Of `masks`.
    turn : int
        The player's colour.
    """
    found = [EMPTY] * SQUARES
    for side, color in enumerate((turn, 1 - turn)):
        for kind, board in zip(KINDS, boards[2:], strict=True):
            for square in range(SQUARES):
                if board & boards[side] & 1 << square:
                    found[square] = 2 * kind + color
    return found
