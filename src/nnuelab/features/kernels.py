"""Active features of a position and what changes between two, jitted; nothing here is per block.

Piece-square blocks are read from tables, all other terms are called by address; see
:mod:`nnuelab.features.tables`. ``tables`` is a record of FEATURES from there, positions are records
of :data:`nnuelab.chess.position.POSITION`, ``perspective`` is 0 for White and 1 for Black.
"""

import numpy as np

from nnuelab.chess.position import EMPTY, KING, POSITION, set_checkers
from nnuelab.features.kinds.piece_square_kernels import active_rows, changed_rows, changed_squares
from nnuelab.features.lists import offset_by, place, subtract, unpack
from nnuelab.features.tables import COUNT_KEYS, ENEMY_KEYS, FROM_SCRATCH, KEYS, OWN_KEYS, TERM
from nnuelab.jit import at, call, inline, jit, lsb, popcount, view

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NIBBLE = np.uint64(15)
_FOUR = np.uint64(4)
_NIBBLES = 16  # pieces in one word of a dataset record


@jit
def _active_called(tables, position, perspective, out, n):
    """Appends the active features of all terms that are called by address."""
    terms = view(tables.called, tables.n_called, TERM)
    for i in range(tables.n_called):
        term = terms[i]
        found = call(term.active, term.data, position, perspective, place(out, n))
        n = offset_by(term.offset, out, n, n + found)
    return n


@jit
def _changes_called(tables, old, new, perspective, added, n_added, removed, n_removed):
    """Appends what comes and goes in all terms that are called by address."""
    terms = view(tables.called, tables.n_called, TERM)
    for i in range(tables.n_called):
        term = terms[i]
        packed = np.int64(FROM_SCRATCH)
        plus, minus = place(added, n_added), place(removed, n_removed)
        if term.changes != _ZERO:
            packed = call(term.changes, term.data, old, new, perspective, plus, minus)
        if packed == FROM_SCRATCH:
            more = call(term.active, term.data, new, perspective, plus)
            less = call(term.active, term.data, old, perspective, minus)
            more, less = subtract(plus, more, minus, less)
        else:
            more, less = unpack(packed)
        n_added = offset_by(term.offset, added, n_added, n_added + more)
        n_removed = offset_by(term.offset, removed, n_removed, n_removed + less)
    return n_added, n_removed


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
    n = active_rows(tables.terms, position, perspective, out)
    if tables.n_called > 0:
        n = _active_called(tables, position, perspective, out, n)
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
    changed = changed_squares(old, new)
    n_added, n_removed = changed_rows(tables.terms, changed, old, new, perspective, added, removed)
    if tables.n_called > 0:
        n_added, n_removed = _changes_called(
            tables, old, new, perspective, added, n_added, removed, n_removed
        )
    return n_added, n_removed


@inline
def key(tables, position, perspective):
    """Where it differs between two positions, an update is dearer than a refresh; < ``n_keys``."""
    keys = view(tables.keys, (2, KEYS), np.int64)[at(perspective)]
    own = lsb(position.roles[KING] & position.colors[perspective])
    enemy = lsb(position.roles[KING] & position.colors[perspective ^ 1])
    pieces = popcount(position.colors[0] | position.colors[1])
    return keys[at(OWN_KEYS + own)] + keys[at(ENEMY_KEYS + enemy)] + keys[at(COUNT_KEYS + pieces)]


@inline
def needs_refresh(tables, old, new, perspective):
    """Whether ``new`` is cheaper from scratch than from ``old``."""
    return tables.n_keys > 1 and key(tables, old, perspective) != key(tables, new, perspective)


@inline
def _place_pieces(record, position):
    """Bitboards and mailbox of a dataset record."""
    position.roles[:] = _ZERO
    position.colors[:] = _ZERO
    position.board[:] = EMPTY
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
        With the fields occupied, pieces_low, pieces_high, flags and ep of ``nnuelab.data``.
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
        if tables.state != 0:
            scratch[0].turn = turn
            scratch[0].castling = records[i].flags >> 1 & 15
            scratch[0].ep = records[i].ep
            set_checkers(scratch[0])
        stm_n[i] = active(tables, scratch[0], turn, stm_out[i])
        other_n[i] = active(tables, scratch[0], 1 - turn, other_out[i])
        stm_out[i, stm_n[i] :] = -1
        other_out[i, other_n[i] :] = -1
