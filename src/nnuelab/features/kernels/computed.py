"""Blocks of a user's own function, jitted: it is called by address, with the board turned over."""

import numpy as np

from nnuelab.chess.position import NO_SQUARE, POSITION
from nnuelab.features.kernels.lists import pack
from nnuelab.features.records import FROM_SCRATCH
from nnuelab.jit import at, byteswap, call, inline, jit, local_record, view, word_at

_position = local_record(POSITION)


_ONES = np.uint64(0x0101010101010101)


@jit
def turn_over(position, turned):
    """The position as Black sees it: as if Black were White."""
    for role in range(6):
        turned.roles[at(role)] = byteswap(position.roles[at(role)])
    for color in range(2):
        turned.colors[at(color)] = byteswap(position.colors[at(color ^ 1)])
    ranks = view(turned.board.ctypes.data, 8, np.uint64)
    for rank in range(8):
        # The codes of a rank at once: all but EMPTY, 12, the only one with both of its bits.
        codes = word_at(position.board, 8 * rank)
        empty = (codes >> np.uint64(2)) & (codes >> np.uint64(3))
        ranks[at(7 - rank)] = codes ^ (_ONES & ~empty)
    turned.key = position.key
    turned.checkers = byteswap(position.checkers)
    turned.pinned = byteswap(position.pinned)
    turned.turn = position.turn ^ 1
    turned.castling = position.castling >> 2 | (position.castling & 3) << 2
    turned.ep = position.ep if position.ep == NO_SQUARE else position.ep ^ 56
    turned.halfmove = position.halfmove
    turned.fullmove = position.fullmove


@inline
def _seen(position, perspective, place):
    """The position as a player sees it, in ``place`` where it has to be turned over."""
    if perspective == 0:
        return position
    turn_over(position, place)
    return place


@inline
def found(data, position, out, address):
    """Writes what the function finds of a position as its player sees it; returns how many.

    ``out`` is an array or a pointer, and ``address`` where it begins.
    """
    n = call(data.active, position, address)
    if n < 0 or n > data.bound:
        data.beyond = n
        n = max(np.int64(0), min(n, data.bound))
    for i in range(n):
        if out[i] < 0 or out[i] >= data.size:
            data.stray = out[i]
            out[i] = 0
    return n


def active(data, position, perspective, out):
    return found(data, _seen(position, perspective, _position()), out, out)


def changes(data, old, new, perspective, added, removed):
    before = _seen(old, perspective, _position())
    after = _seen(new, perspective, _position())
    if call(data.changed, before, after) != 0:
        return np.int64(FROM_SCRATCH)
    return pack(np.int64(0), np.int64(0))
