"""Piece-square blocks, jitted: tables of rows by piece and square, nothing is per block.

So are king-piece blocks: the square of the own king says which table holds.

A row is active in a position exactly when one of its pieces stands on one of its squares, which a
mask and a bitboard decide. Nothing is counted or stored, so changes are found between any two
positions, however many plies lie between them, and what goes and comes back never shows. A row is
emitted for the first of the pieces that make it active (by piece, then square), hence once.

``blocks`` is a record of PIECE_SQUARE, ``tables`` one of FEATURES from
:mod:`nnuelab.features.records`.
"""

import numpy as np

from nnuelab.chess.position import EMPTY, KING
from nnuelab.features.kernels.lists import place, subtract
from nnuelab.features.records import KING_PIECE, PIECE_SQUARE, PIECES
from nnuelab.jit import at, inline, jit, lsb, view

_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@inline
def bitboard(position, piece):
    """Squares of a piece (role * 2 + colour)."""
    return position.roles[piece >> 1] & position.colors[piece & 1]


@inline
def _is_first(blocks, entry, mask, piece, square, position):
    """Whether no earlier piece or square makes the row of this entry active."""
    below = (_ONE << np.uint64(square)) - _ONE
    if mask != _ZERO:
        return mask & bitboard(position, piece) & below == _ZERO
    return _is_first_of_group(blocks, entry, piece, below, position)


@jit
def _is_first_of_group(blocks, entry, piece, below, position):
    group = view(blocks.groups, entry + 1, np.int32)[entry] * PIECES
    members = view(blocks.members, group + PIECES, np.uint64)
    for earlier in range(piece):
        if members[group + earlier] & bitboard(position, earlier) != _ZERO:
            return False
    return members[group + piece] & bitboard(position, piece) & below == _ZERO


@inline
def _is_active(blocks, entry, mask, piece, position):
    """Whether the row of this entry is active in a position."""
    if mask != _ZERO:
        return mask & bitboard(position, piece) != _ZERO
    return _is_group_active(blocks, entry, position)


@jit
def _is_group_active(blocks, entry, position):
    group = view(blocks.groups, entry + 1, np.int32)[entry] * PIECES
    members = view(blocks.members, group + PIECES, np.uint64)
    for piece in range(PIECES):
        if members[group + piece] & bitboard(position, piece) != _ZERO:
            return True
    return False


@inline
def _lost(blocks, perspective, piece, square, here, there, out, n):
    """Appends the rows that a piece of ``here`` makes active and that are not active ``there``.

    Something else, or nothing, stands on its square ``there``.
    """
    per_piece = blocks.n
    start = ((perspective * PIECES + piece) * 64 + square) * per_piece
    rows = view(blocks.rows, start + per_piece, np.int32)
    masks = view(blocks.masks, start + per_piece, np.uint64)
    alone = _ONE << np.uint64(square)
    for entry in range(start, start + per_piece):
        mask = masks[entry]
        if rows[entry] >= 0 and (
            mask == alone  # the row of this square only: what stands here has changed
            or (
                not _is_active(blocks, entry, mask, piece, there)
                and _is_first(blocks, entry, mask, piece, square, here)
            )
        ):
            out[n] = rows[entry]
            n += 1
    return n


@inline
def changed_squares(old, new):
    """Squares whose content differs."""
    changed = (old.colors[0] ^ new.colors[0]) | (old.colors[1] ^ new.colors[1])
    for role in range(6):
        changed |= old.roles[role] ^ new.roles[role]
    return changed


@inline
def _append_active(blocks, position, perspective, out, n):
    """Appends the active rows of blocks side by side, each once; returns how many are there."""
    # The views and the count are made once: LLVM can't know that writing `out` leaves them alone.
    per_piece = blocks.n
    entries = 2 * PIECES * 64 * per_piece
    rows = view(blocks.rows, entries, np.int32)
    masks = view(blocks.masks, entries, np.uint64)
    occupied = position.colors[0] | position.colors[1]
    while occupied:
        square = lsb(occupied)
        occupied &= occupied - _ONE
        piece = np.int64(position.board[square])
        start = ((perspective * PIECES + piece) * 64 + square) * per_piece
        for entry in range(start, start + per_piece):
            if rows[entry] >= 0 and _is_first(blocks, entry, masks[entry], piece, square, position):
                out[n] = rows[entry]
                n += 1
    return n


@inline
def append_changed(blocks, changed, old, new, perspective, added, n_added, removed, n_removed):
    """Appends the rows that become active and inactive; returns how many of each are there.

    Parameters
    ----------
    changed : uint64
        The squares whose content differs between ``old`` and ``new``.
    """
    while changed:
        square = lsb(changed)
        changed &= changed - _ONE
        before, after = np.int64(old.board[square]), np.int64(new.board[square])
        if before != EMPTY:
            n_removed = _lost(blocks, perspective, before, square, old, new, removed, n_removed)
        if after != EMPTY:
            n_added = _lost(blocks, perspective, after, square, new, old, added, n_added)
    return n_added, n_removed


@inline
def by_own_king(table, position, perspective):
    """The number that a table, the address of int64[2, 64], has for a player's king."""
    square = lsb(position.roles[KING] & position.colors[perspective])
    return view(table, (2, 64), np.int64)[at(perspective), at(square)]


@inline
def active_rows(tables, position, perspective, out):
    """Writes the active rows of a set's tables, each once; returns how many."""
    n = _append_active(tables.terms, position, perspective, out, np.int64(0))
    kings = view(tables.kings, tables.n_kings, KING_PIECE)
    for i in range(tables.n_kings):
        king = kings[i]
        blocks = view(king.blocks, king.n, PIECE_SQUARE)
        now = by_own_king(king.classes, position, perspective)
        n = _append_active(blocks[at(now)], position, perspective, out, n)
    return n


@jit
def _append_anew(before, after, old, new, perspective, added, n_added, removed, n_removed):
    """Appends what comes and goes where the own king changes its class."""
    more = _append_active(after, new, perspective, added, n_added) - n_added
    less = _append_active(before, old, perspective, removed, n_removed) - n_removed
    more, less = subtract(place(added, n_added), more, place(removed, n_removed), less)
    return n_added + more, n_removed + less


@inline
def changed_rows(tables, changed, old, new, perspective, added, removed):
    """Writes the rows of a set's tables that become active and inactive; returns how many of each.

    Parameters
    ----------
    changed : uint64
        The squares whose content differs between ``old`` and ``new``.
    """
    n_added, n_removed = np.int64(0), np.int64(0)
    if tables.terms.n > 0:
        n_added, n_removed = append_changed(
            tables.terms, changed, old, new, perspective, added, n_added, removed, n_removed
        )
    kings = view(tables.kings, tables.n_kings, KING_PIECE)
    for i in range(tables.n_kings):
        king = kings[i]
        blocks = view(king.blocks, king.n, PIECE_SQUARE)
        was = by_own_king(king.classes, old, perspective)
        now = by_own_king(king.classes, new, perspective)
        after = blocks[at(now)]
        if was == now:
            n_added, n_removed = append_changed(
                after, changed, old, new, perspective, added, n_added, removed, n_removed
            )
        else:
            before = blocks[at(was)]
            n_added, n_removed = _append_anew(
                before, after, old, new, perspective, added, n_added, removed, n_removed
            )
    return n_added, n_removed
