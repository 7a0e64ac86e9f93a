"""Active features of a position and what changes between two, jitted; nothing here is per block.

Piece-square blocks are read from tables, all other terms are called by address; see
:mod:`nnuelab.features.tables`. ``tables`` is a record of FEATURES from there, positions are records
of :data:`nnuelab.chess.position.POSITION`, ``perspective`` is 0 for White and 1 for Black.
"""

import numpy as np

from nnuelab.chess.position import EMPTY, KING, POSITION, set_checkers
from nnuelab.features.kinds.piece_square_kernels import active_rows, changed_rows, changed_squares
from nnuelab.features.lists import pack, place, subtract, unpack
from nnuelab.features.tables import COUNT_KEYS, ENEMY_KEYS, FROM_SCRATCH, KEYS, OWN_KEYS, TERM
from nnuelab.jit import at, call, inline, jit, lsb, popcount, view

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NIBBLE = np.uint64(15)
_FOUR = np.uint64(4)
_NIBBLES = 16  # pieces in one word of a dataset record


# Functions of terms with `turned` are called for White only; for Black that table has the numbers.


@inline
def _asked(term, perspective):
    """For whom the functions of a term are called."""
    return np.int64(0) if term.turned != _ZERO else perspective


@inline
def _number(term, out, start, stop):
    """Makes the features of a term those of the set."""
    for i in range(start, stop):
        out[i] += term.offset


@inline
def _number_for(term, perspective, out, start, stop):
    """The same for a player, as :func:`_asked`."""
    if term.turned != _ZERO and perspective == 1:
        for i in range(start, stop):
            out[i] = view(term.turned, out[i] + 1, np.int32)[at(out[i])]
    _number(term, out, start, stop)


@jit
def _active_called(tables, position, perspective, out, n):
    """Appends the active features of all terms that are called by address."""
    terms = view(tables.called, tables.n_called, TERM)
    for i in range(tables.n_called):
        term = terms[i]
        asked = _asked(term, perspective)
        found = call(term.active, term.data, position, asked, place(out, n))
        _number_for(term, perspective, out, n, n + found)
        n += found
    return n


@inline
def _changes_of(term, old, new, perspective, plus, minus):
    """What comes and goes in one term, as it numbers it: written to two addresses."""
    if term.changes != _ZERO:
        packed = call(term.changes, term.data, old, new, perspective, plus, minus)
        if packed != FROM_SCRATCH:
            return unpack(packed)
    more = call(term.active, term.data, new, perspective, plus)
    less = call(term.active, term.data, old, perspective, minus)
    return subtract(plus, more, minus, less)


@jit
def _changes_called(tables, old, new, perspective, added, n_added, removed, n_removed):
    """Appends what comes and goes in all terms that are called by address."""
    terms = view(tables.called, tables.n_called, TERM)
    for i in range(tables.n_called):
        term = terms[i]
        more, less = _changes_of(
            term,
            old,
            new,
            _asked(term, perspective),
            place(added, n_added),
            place(removed, n_removed),
        )
        _number_for(term, perspective, added, n_added, n_added + more)
        _number_for(term, perspective, removed, n_removed, n_removed + less)
        n_added += more
        n_removed += less
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


@jit
def changes_of_both(tables, old, new, added, removed):
    """The same for both perspectives at once, sharing what they have in common.

    Parameters
    ----------
    added, removed : int32[2, >= max_active], written

    Returns
    -------
    tuple of int64
        How many were added and removed, each as two numbers of :func:`lists.pack`.
    """
    changed = changed_squares(old, new)
    n_added, n_removed = np.int64(0), np.int64(0)
    for perspective in range(2):
        more, less = changed_rows(
            tables.terms,
            changed,
            old,
            new,
            perspective,
            added[at(perspective)],
            removed[at(perspective)],
        )
        n_added |= more << np.int64(32 * perspective)
        n_removed |= less << np.int64(32 * perspective)
    if tables.n_called > 0:
        n_added, n_removed = _changes_called_of_both(
            tables, old, new, added, n_added, removed, n_removed
        )
    return n_added, n_removed


@jit
def _changes_called_of_both(tables, old, new, added, n_added, removed, n_removed):
    a0, a1 = unpack(n_added)
    r0, r1 = unpack(n_removed)
    terms = view(tables.called, tables.n_called, TERM)
    for i in range(tables.n_called):
        term = terms[i]
        plus, minus = place(added[0], a0), place(removed[0], r0)
        more, less = _changes_of(term, old, new, np.int64(0), plus, minus)
        a0 += more
        r0 += less
        if term.turned != _ZERO:
            _turn(term, added, a0 - more, a0, a1)
            _turn(term, removed, r0 - less, r0, r1)
        else:
            plus, minus = place(added[1], a1), place(removed[1], r1)
            _number(term, added[0], a0 - more, a0)
            _number(term, removed[0], r0 - less, r0)
            more, less = _changes_of(term, old, new, np.int64(1), plus, minus)
            _number(term, added[1], a1, a1 + more)
            _number(term, removed[1], r1, r1 + less)
        a1 += more
        r1 += less
    return pack(a0, a1), pack(r0, r1)


@inline
def _turn(term, out, start, stop, other):
    """Numbers a term's features in ``out[0, start:stop]``, and Black's in ``out[1, other:]``."""
    for i in range(start, stop):
        feature = out[0, at(i)]
        turned = view(term.turned, feature + 1, np.int32)[at(feature)]
        out[0, at(i)] = feature + term.offset
        out[1, at(other + i - start)] = turned + term.offset


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
def place_pieces(record, position):
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
        place_pieces(records[i], scratch[0])
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
