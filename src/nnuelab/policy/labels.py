"""What a policy is to learn from packed positions: the move played, among which others."""

from __future__ import annotations

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, legal_moves, origin, target
from nnuelab.chess.position import POSITION
from nnuelab.data.records import pack, unpack, unpack_board
from nnuelab.jit import at, jit
from nnuelab.policy.choice import without_underpromotions
from nnuelab.policy.inference import seen
from nnuelab.policy.policyfile import SQUARES


def played(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Squares that moves go from and to, as the player to move sees them, int64 [n] each."""
    moves = records["move"].astype(np.int64)
    turned = 56 * (records["flags"] & 1).astype(np.int64)
    return (moves & 63) ^ turned, (moves >> 6 & 63) ^ turned


@jit
def pairs_of(position, moves, pairs):
    """Legal moves without under-promotions, and their pairs of squares.

    Parameters
    ----------
    position : POSITION record
    moves : int64 [MAX_MOVES], written
    pairs : int64 [MAX_MOVES], written
        64 * start + square, as the player to move sees them.

    Returns
    -------
    int
        How many.
    """
    turn = np.int64(position.turn)
    n = without_underpromotions(moves, legal_moves(position, moves))
    for i in range(n):
        move = moves[at(i)]
        pairs[at(i)] = SQUARES * seen(origin(move), turn) + seen(target(move), turn)
    return n


@jit
def _pairs_of_all(records, position, pairs, counts):
    moves, scratch = np.empty(MAX_MOVES, np.int64), np.empty(MAX_MOVES, np.int64)
    most = 0
    for i in range(len(records)):
        unpack(records[i], position)
        n = min(pairs_of(position, moves, scratch), pairs.shape[1])
        for k in range(n):
            pairs[i, k] = scratch[k]
        counts[i] = n
        most = max(most, n)
    return most


def legal_pairs(records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The legal pairs of each position.

    Parameters
    ----------
    records : ndarray of RECORD [B]
        Of positions that can be played from.

    Returns
    -------
    pairs : int64 [B, L]
        L is the most that one has; what is behind the pairs of a position repeats its first one.
    counts : int64 [B]
    """
    pairs = np.empty((len(records), MAX_MOVES), np.int16)
    counts = np.empty(len(records), np.int64)
    most = _pairs_of_all(records, np.zeros(1, POSITION)[0], pairs, counts)
    found = pairs[:, : max(most, 1)].astype(np.int64)
    beyond = np.arange(found.shape[1]) >= counts[:, None]
    return np.where(beyond, found[:, :1] * (counts > 0)[:, None], found), counts


@jit
def _mirror(records, seen_from, turned):
    for i in range(len(records)):
        record = records[i]
        if record.flags >> 1:
            continue
        unpack_board(record, seen_from)
        turned.colors[:] = np.uint64(0)
        for square in range(SQUARES):
            turned.board[square] = seen_from.board[square ^ 7]
            for color in range(2):
                there = seen_from.colors[color] >> np.uint64(square ^ 7) & np.uint64(1)
                turned.colors[color] |= there << np.uint64(square)
        turned.turn, turned.castling, turned.halfmove = record.flags & 1, 0, record.halfmove
        turned.ep = record.ep if record.ep == SQUARES else record.ep ^ 7
        pack(turned, record)
        if record.move != 0:
            record.move ^= 7 | 7 << 6


def mirrored(records: np.ndarray) -> np.ndarray:
    """The same positions and moves with left and right exchanged, RECORD [n].

    Where somebody may still castle, a position stays as it is: the rules tell the sides apart.
    """
    found = records.copy()
    _mirror(found, *np.zeros(2, POSITION))
    return found
