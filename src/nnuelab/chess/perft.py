"""Perft: the number of leaf nodes of the legal move tree, the test of every move generator."""

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, count_moves, legal_moves, make
from nnuelab.chess.position import POSITION
from nnuelab.jit import address, at, jit, view

MAX_DEPTH = 32


@jit
def _count(stack, lists, ply, depth):
    """``stack`` and ``lists`` are the addresses of POSITION[depth + 1] and int64[.., MAX_MOVES]."""
    positions = view(stack, MAX_DEPTH + 1, POSITION)
    moves = view(lists, (MAX_DEPTH + 1, MAX_MOVES), np.int64)[at(ply)]
    if depth == 1:
        return count_moves(positions[at(ply)], moves)  # every legal move is one leaf
    n = legal_moves(positions[at(ply)], moves)
    total = 0
    for i in range(n):
        make(positions[at(ply)], positions[at(ply + 1)], moves[at(i)])
        total += _count(stack, lists, ply + 1, depth - 1)
    return total


def perft(position: np.void, depth: int) -> int:
    """Leaf nodes ``depth`` plies below a position; 1 at depth 0.

    >>> from nnuelab.chess.notation import STARTING_FEN, from_fen
    >>> perft(from_fen(STARTING_FEN), 3)
    8902
    """
    return sum(divide(position, depth).values()) if depth else 1


def divide(position: np.void, depth: int) -> dict[int, int]:
    """Leaf nodes below each legal move, ``depth`` >= 1 plies below the position."""
    stack = np.zeros(depth + 1, POSITION)
    lists = np.zeros((depth + 1, MAX_MOVES), np.int64)
    stack[0] = position
    n = legal_moves(stack[0], lists[0])
    places = np.uint64(address(stack)), np.uint64(address(lists))
    counts = {}
    for move in lists[0, :n].tolist():
        make(stack[0], stack[1], move)
        counts[move] = _count(*places, 1, depth - 1) if depth > 1 else 1
    return counts
