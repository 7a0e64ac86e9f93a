"""Active features of a position and what changes between two, jitted; nothing here is per block.

A row is active in a position exactly when one of its pieces stands on one of its squares, which a
mask and a bitboard decide. Nothing is counted or stored, so ``changes`` works between any two
positions, however many plies lie between them, and what goes and comes back never shows. A row is
emitted for the first of the pieces that make it active (by piece, then square), hence once.

``tables`` is a record of :data:`nnuelab.features.tables.FEATURES`, positions are records of
:data:`nnuelab.chess.position.POSITION`, ``perspective`` is 0 for White and 1 for Black.
"""

import numpy as np

from nnuelab.chess.position import EMPTY, POSITION
from nnuelab.features.block import PIECES
from nnuelab.features.tables import MAX_FACTOR_ROWS, PRODUCT
from nnuelab.jit import inline, jit, lsb, view

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NIBBLE = np.uint64(15)
_FOUR = np.uint64(4)
_NIBBLES = 16  # pieces in one word of a dataset record


@inline
def _bitboard(position, piece):
    return position.roles[piece >> 1] & position.colors[piece & 1]


@inline
def _is_first(blocks, entry, mask, piece, square, position):
    """Whether no earlier piece or square makes the row of this entry active."""
    below = (_ONE << np.uint64(square)) - _ONE
    if mask != _ZERO:
        return mask & _bitboard(position, piece) & below == _ZERO
    return _is_first_of_group(blocks, entry, piece, below, position)


@jit
def _is_first_of_group(blocks, entry, piece, below, position):
    group = view(blocks.groups, entry + 1, np.int32)[entry] * PIECES
    members = view(blocks.members, group + PIECES, np.uint64)
    for earlier in range(piece):
        if members[group + earlier] & _bitboard(position, earlier) != _ZERO:
            return False
    return members[group + piece] & _bitboard(position, piece) & below == _ZERO


@inline
def _is_active(blocks, entry, mask, piece, position):
    """Whether the row of this entry is active in a position."""
    if mask != _ZERO:
        return mask & _bitboard(position, piece) != _ZERO
    return _is_group_active(blocks, entry, position)


@jit
def _is_group_active(blocks, entry, position):
    group = view(blocks.groups, entry + 1, np.int32)[entry] * PIECES
    members = view(blocks.members, group + PIECES, np.uint64)
    for piece in range(PIECES):
        if members[group + piece] & _bitboard(position, piece) != _ZERO:
            return True
    return False


@inline
def _first_entry(blocks, perspective, piece, square):
    """Index of a piece and square's first block in the flat tables."""
    return ((perspective * PIECES + piece) * 64 + square) * blocks.n


@inline
def _lost(blocks, perspective, piece, square, here, there, out, n):
    """Appends the rows that a piece of ``here`` makes active and that are not active ``there``.

    Something else, or nothing, stands on its square ``there``.
    """
    per_piece = blocks.n
    start = _first_entry(blocks, perspective, piece, square)
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
def _changed_squares(old, new):
    """Squares whose content differs."""
    changed = (old.colors[0] ^ new.colors[0]) | (old.colors[1] ^ new.colors[1])
    for role in range(6):
        changed |= old.roles[role] ^ new.roles[role]
    return changed


# Products ----------------------------------------------------------------------------------------


@jit
def _factor_rows(blocks, perspective, here, there, rows, kept):
    """Active rows of each factor, and which of them are active ``there`` too.

    Parameters
    ----------
    rows : int64[factors, MAX_FACTOR_ROWS], written
        The last column holds the number of rows.
    kept : bool[factors, MAX_FACTOR_ROWS], written
    """
    rows[:, -1] = 0
    occupied = here.colors[0] | here.colors[1]
    while occupied:
        square = lsb(occupied)
        occupied &= occupied - _ONE
        piece = np.int64(here.board[square])
        start = _first_entry(blocks, perspective, piece, square)
        row_of = view(blocks.rows, start + blocks.n, np.int32)
        mask_of = view(blocks.masks, start + blocks.n, np.uint64)
        for factor in range(blocks.n):
            entry = start + factor
            mask = mask_of[entry]
            if row_of[entry] >= 0 and _is_first(blocks, entry, mask, piece, square, here):
                n = rows[factor, -1]
                rows[factor, n] = row_of[entry]
                kept[factor, n] = _is_active(blocks, entry, mask, piece, there)
                rows[factor, -1] = n + 1


@jit
def _emit_products(tables, rows, kept, out, n):
    """Appends the tuples of every product that have a row which is not kept."""
    products = view(tables.products, tables.n_products, PRODUCT)
    place = np.zeros(tables.factors.n, np.int64)
    for product in products:
        first, last = product.first, product.first + product.n - 1
        place[first : last + 1] = 0
        empty = False
        for factor in range(first, last + 1):
            empty |= rows[factor, -1] == 0
        factor = last
        while not empty and factor >= first:
            row, stays = product.offset, True
            for f in range(first, last + 1):
                row += rows[f, place[f]]
                stays &= kept[f, place[f]]
            if not stays:
                out[n] = row
                n += 1
            # The next tuple, the last factor running fastest.
            factor = last
            while factor >= first:
                place[factor] += 1
                if place[factor] < rows[factor, -1]:
                    break
                place[factor] = 0
                factor -= 1
    return n


@jit
def _lost_products(tables, perspective, here, there, out, n):
    """Appends the tuples that are active ``here`` and not ``there``."""
    shape = (tables.factors.n, MAX_FACTOR_ROWS + 1)
    rows = np.empty(shape, np.int64)
    kept = np.empty(shape, np.bool_)
    _factor_rows(tables.factors, perspective, here, there, rows, kept)
    return _emit_products(tables, rows, kept, out, n)


@jit
def _active_products(tables, perspective, position, out, n):
    shape = (tables.factors.n, MAX_FACTOR_ROWS + 1)
    rows = np.empty(shape, np.int64)
    kept = np.empty(shape, np.bool_)
    _factor_rows(tables.factors, perspective, position, position, rows, kept)
    kept[:] = False
    return _emit_products(tables, rows, kept, out, n)


# What the other rooms call -----------------------------------------------------------------------


@jit
def active(tables, position, perspective, out):
    """Writes the active features of a position, each once, in no order.

    Parameters
    ----------
    out : int32[>= max_active], written

    Returns
    -------
    int64
        How many.
    """
    n = np.int64(0)
    blocks = tables.terms
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
    if tables.n_products > 0:
        n = _active_products(tables, perspective, position, out, n)
    return n


@jit
def changes(tables, old, new, perspective, added, removed):
    """Writes the features that become active and inactive from ``old`` to ``new``, each once.

    The positions need not be one move apart. What is active in both is in neither list.

    Parameters
    ----------
    added, removed : int32[>= max_active], written

    Returns
    -------
    tuple of int64
        How many were added and removed.
    """
    n_added, n_removed = np.int64(0), np.int64(0)
    changed = _changed_squares(old, new)
    if changed == _ZERO:
        return n_added, n_removed
    blocks = tables.terms
    while changed:
        square = lsb(changed)
        changed &= changed - _ONE
        before, after = np.int64(old.board[square]), np.int64(new.board[square])
        if before != EMPTY:
            n_removed = _lost(blocks, perspective, before, square, old, new, removed, n_removed)
        if after != EMPTY:
            n_added = _lost(blocks, perspective, after, square, new, old, added, n_added)
    if tables.n_products > 0:
        n_removed = _lost_products(tables, perspective, old, new, removed, n_removed)
        n_added = _lost_products(tables, perspective, new, old, added, n_added)
    return n_added, n_removed


@inline
def needs_refresh(tables, old, new, perspective):
    """Whether ``new`` is cheaper from scratch: the king moved that a product's tuples all name."""
    pieces = tables.refresh[perspective]
    while pieces:
        piece = lsb(pieces)
        pieces &= pieces - _ONE
        if _bitboard(old, piece) != _bitboard(new, piece):
            return True
    return False


@inline
def _place_pieces(record, position):
    """Bitboards and mailbox of a dataset record; the board of empty squares is not touched."""
    position.roles[:] = _ZERO
    position.colors[:] = _ZERO
    occupied = np.uint64(record.occupied)
    pieces = np.uint64(record.pieces_low)
    n = 0
    while occupied:
        square = lsb(occupied)
        bit = occupied & (~occupied + _ONE)
        occupied ^= bit
        if n == _NIBBLES:
            pieces = np.uint64(record.pieces_high)
        piece = np.int64(pieces & _NIBBLE)
        pieces >>= _FOUR
        n += 1
        position.board[square] = piece
        position.roles[piece >> 1] |= bit
        position.colors[piece & 1] |= bit


@jit
def batch(tables, records, stm_out, other_out, stm_n, other_n):
    """Active features of packed positions, from both sides, for training.

    Parameters
    ----------
    records : structured array [B]
        With the fields occupied, pieces_low, pieces_high and flags of ``nnuelab.data``.
    stm_out, other_out : int32[B, >= max_active], written
        Features seen by the side to move and by the other, each once, in no order, then -1.
    stm_n, other_n : int64[B], written
        How many there are.
    """
    # A record is a bare pointer to numba: the array is named at each use, or it is freed before.
    scratch = np.zeros(1, POSITION)
    for i in range(len(records)):
        _place_pieces(records[i], scratch[0])
        turn = np.int64(records[i].flags & 1)
        stm_n[i] = active(tables, scratch[0], turn, stm_out[i])
        other_n[i] = active(tables, scratch[0], 1 - turn, other_out[i])
        stm_out[i, stm_n[i] :] = -1
        other_out[i, other_n[i] :] = -1
