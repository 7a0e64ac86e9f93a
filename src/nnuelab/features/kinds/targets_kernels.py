"""Pieces and the squares that they act on, jitted.

A difference of two positions touches the pieces that have come, gone or changed, those that attack
a changed square before, and pawns in front of one. All others act as they did: what a slider sees
ends at the first piece, so a change that it does not attack is out of its sight. Nothing is kept.
Both functions know White's perspective only; the other is a table.
"""

import numpy as np

from nnuelab.chess import attacks, mobility
from nnuelab.chess.attacks import bit
from nnuelab.chess.position import BISHOP, KNIGHT, PAWN, QUEEN, ROOK
from nnuelab.features.kinds.piece_square_kernels import changed_squares
from nnuelab.features.lists import pack
from nnuelab.jit import at, inline, jit, lsb, popcount, view

TARGETS = np.dtype(
    [
        ("victims", "i8"),  # 12: what stands on the target counts, 1: where a piece can move
        ("reach", "u8"),  # -> uint64[12, 64]: by piece and square, targets that have features
        ("first", "u8"),  # -> int32[12, 64, victims]: first of the features, -1 none
    ],
    align=True,
)

_ONE, _ZERO = np.uint64(1), np.uint64(0)
_PAWN_RANKS = ~np.uint64(0xFF000000000000FF)


@inline
def _attacked(piece, square, occupied):
    role = piece >> 1
    if role == PAWN:
        return attacks.pawn(piece & 1, square)
    if role == KNIGHT:
        return attacks.knight(square)
    if role == BISHOP:
        return attacks.bishop(square, occupied)
    if role == ROOK:
        return attacks.rook(square, occupied)
    if role == QUEEN:
        return attacks.queen(square, occupied)
    return attacks.king(square)


@inline
def _targets(data, position, piece, square):
    """The squares that a piece acts on."""
    color = piece & 1
    own, enemy = position.colors[color], position.colors[color ^ 1]
    found = _attacked(piece, square, own | enemy)
    if data.victims > 1:
        return found & (own | enemy)
    if piece >> 1 == PAWN:
        return (found & enemy) | (mobility.pawn_steps(bit(square), color) & ~(own | enemy))
    return found & ~own


@inline
def _append(data, position, piece, square, targets, out, n):
    """Appends the features of a piece and some of its targets; returns the new length."""
    reach = view(data.reach, (12, 64), np.uint64)[at(piece), at(square)]
    first = view(data.first, (12, 64, data.victims), np.int32)[at(piece), at(square)]
    while targets:
        target = lsb(targets)
        targets &= targets - _ONE
        victim, possible = np.int64(0), reach
        if data.victims > 1:
            victim = np.int64(position.board[target])
            if victim >> 1 == PAWN:
                possible &= _PAWN_RANKS
        if first[at(victim)] >= 0:
            out[n] = first[at(victim)] + popcount(possible & (bit(target) - _ONE))
            n += 1
    return n


@jit
def _all_of(data, position, squares, out, n):
    """Appends the features of the pieces on some squares."""
    squares &= position.colors[0] | position.colors[1]
    while squares:
        square = lsb(squares)
        squares &= squares - _ONE
        piece = np.int64(position.board[square])
        targets = _targets(data, position, piece, square)
        n = _append(data, position, piece, square, targets, out, n)
    return n


def active(data, position, perspective, out):
    return _all_of(data, position, ~_ZERO, out, np.int64(0))


@inline
def _touched(data, position, changed):
    """Pieces that act on the changed squares, or could if one were empty or not."""
    found = mobility.reaching(position, changed)
    if data.victims == 1:
        for color in range(2):
            pawns = position.roles[PAWN] & position.colors[color]
            found |= pawns & mobility.pawn_steps(changed, color ^ 1)
    return found & ~changed


def changes(data, old, new, perspective, added, removed):
    changed = changed_squares(old, new)
    if changed == _ZERO:
        return pack(np.int64(0), np.int64(0))
    n_removed = _all_of(data, old, changed, removed, np.int64(0))
    n_added = _all_of(data, new, changed, added, np.int64(0))
    touched = _touched(data, old, changed)
    while touched:
        square = lsb(touched)
        touched &= touched - _ONE
        piece = np.int64(old.board[square])
        was, now = _targets(data, old, piece, square), _targets(data, new, piece, square)
        kept = was & now
        if data.victims > 1:
            kept &= ~changed
        n_removed = _append(data, old, piece, square, was & ~kept, removed, n_removed)
        n_added = _append(data, new, piece, square, now & ~kept, added, n_added)
    return pack(n_added, n_removed)
