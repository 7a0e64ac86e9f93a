"""Pieces and the squares that they act on, jitted.

Where a definition is about attacks on pieces, or moves (``near``), a difference of two positions
touches the pieces that have come, gone or changed, those that attack a changed square before, and
pawns in front of one. All others act as they did: what a slider sees ends at the first piece, so a
change that it does not attack is out of its sight. For any other definition all pieces are asked.
Nothing is kept. The functions know White's perspective only; the other is a table.
"""

import numpy as np

from nnuelab.chess import attacks, mobility
from nnuelab.chess.attacks import bit
from nnuelab.chess.mobility import EVERYWHERE
from nnuelab.chess.position import BISHOP, EMPTY, KNIGHT, PAWN, QUEEN, ROOK
from nnuelab.features.kernels.lists import pack
from nnuelab.features.kernels.piece_square import changed_squares
from nnuelab.features.kernels.square_sets import ask, run
from nnuelab.features.records import MOST_SOURCES, PIECES
from nnuelab.jit import at, inline, jit, lsb, popcount, view

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
    """The squares that a piece attacks where a piece stands, or can move to."""
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


# Attacks on pieces, and moves -------------------------------------------------------------------


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


def near_active(data, position, perspective, out):
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


def near_changes(data, old, new, perspective, added, removed):
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


# Any other definition ----------------------------------------------------------------------------


@inline
def _sought(data, position, square, of_piece, of_all):
    """The squares that the piece on a square acts on, none where there is no piece."""
    piece = np.int64(position.board[square])
    if piece == EMPTY:
        return _ZERO
    ask(data.sets, position, bit(square), of_piece)
    targets = run(data.sets, piece, of_piece, of_all)
    if data.victims > 1:
        targets &= position.colors[0] | position.colors[1]
    return targets


def active(data, position, perspective, out):
    of_piece, of_all = np.empty((2, MOST_SOURCES * PIECES), np.uint64)
    ask(data.sets, position, EVERYWHERE, of_all)
    squares, n = position.colors[0] | position.colors[1], np.int64(0)
    while squares:
        square = lsb(squares)
        squares &= squares - _ONE
        targets = _sought(data, position, square, of_piece, of_all)
        n = _append(data, position, np.int64(position.board[square]), square, targets, out, n)
    return n


def changes(data, old, new, perspective, added, removed):
    of_piece, of_old, of_new = np.empty((3, MOST_SOURCES * PIECES), np.uint64)
    ask(data.sets, old, EVERYWHERE, of_old)
    ask(data.sets, new, EVERYWHERE, of_new)
    changed = changed_squares(old, new)
    n_added, n_removed = np.int64(0), np.int64(0)
    squares = old.colors[0] | old.colors[1] | new.colors[0] | new.colors[1]
    while squares:
        square = lsb(squares)
        squares &= squares - _ONE
        before, after = np.int64(old.board[square]), np.int64(new.board[square])
        was = _sought(data, old, square, of_piece, of_old)
        now = _sought(data, new, square, of_piece, of_new)
        kept = was & now if before == after else _ZERO
        if data.victims > 1:
            kept &= ~changed
        n_removed = _append(data, old, before, square, was & ~kept, removed, n_removed)
        n_added = _append(data, new, after, square, now & ~kept, added, n_added)
    return pack(n_added, n_removed)
