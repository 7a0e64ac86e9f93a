"""Pairs of pieces, jitted: the partners of a piece that comes or goes are looked up."""

import numpy as np

from nnuelab.chess.position import EMPTY
from nnuelab.features.kernels.lists import pack
from nnuelab.features.kernels.piece_square import bitboard, changed_squares
from nnuelab.features.records import PARTNERS, PLACES, SQUARES_ON_BOARD
from nnuelab.jit import at, inline, lsb, popcount, view

_ONE = np.uint64(1)


@inline
def _emit(partners, rows, piece, square, position, among, out, n):
    """Appends the pairs of a piece on a square with the pieces on the squares ``among``."""
    own = partners[at(piece * SQUARES_ON_BOARD + square)]
    pieces = np.uint64(own.pieces)
    while pieces:
        other = lsb(pieces)
        pieces &= pieces - _ONE
        squares = own.squares[at(other)]
        found = squares & bitboard(position, other) & among
        start = np.int64(own.starts[at(other)])
        while found:
            below = (found & (~found + _ONE)) - _ONE
            found &= found - _ONE
            out[n] = rows[at(start + popcount(squares & below))]
            n += 1
    return n


def active(data, position, perspective, out):
    partners = view(data.partners, (2, PLACES), PARTNERS)[at(perspective)]
    rows = view(data.rows, (2, 2 * data.n), np.int32)[at(perspective)]
    n = np.int64(0)
    occupied = position.colors[0] | position.colors[1]
    while occupied:
        square = lsb(occupied)
        occupied &= occupied - _ONE  # each pair once: with partners further on
        piece = np.int64(position.board[square])
        n = _emit(partners, rows, piece, square, position, occupied, out, n)
    return n


def changes(data, old, new, perspective, added, removed):
    partners = view(data.partners, (2, PLACES), PARTNERS)[at(perspective)]
    rows = view(data.rows, (2, 2 * data.n), np.int32)[at(perspective)]
    n_added, n_removed = np.int64(0), np.int64(0)
    changed = changed_squares(old, new)
    # The old pieces leave one after the other; so do the new ones come: each pair is met once.
    staying = ~changed
    come = np.uint64(0)
    while changed:
        square = lsb(changed)
        changed &= changed - _ONE
        before, after = np.int64(old.board[square]), np.int64(new.board[square])
        if before != EMPTY:
            left = staying | changed
            n_removed = _emit(partners, rows, before, square, old, left, removed, n_removed)
        if after != EMPTY:
            there = staying | come
            n_added = _emit(partners, rows, after, square, new, there, added, n_added)
        come |= _ONE << np.uint64(square)
    return pack(n_added, n_removed)
