"""Active features of a position and what changes between two, jitted; nothing here is per block.

Piece-square and king-piece blocks are read from tables, all other terms are called by address; see
:mod:`nnuelab.features.tables`. ``tables`` is a record of FEATURES from there, positions are records
of :data:`nnuelab.chess.position.POSITION`, ``perspective`` is 0 for White and 1 for Black.
"""

import numpy as np

from nnuelab.chess.position import EMPTY, KING, POSITION, set_checkers
from nnuelab.features.kernels.computed import turn_over
from nnuelab.features.kernels.extraction import extract
from nnuelab.features.kernels.lists import pack, place, unpack
from nnuelab.features.kernels.piece_square import active_rows, changed_rows, changed_squares
from nnuelab.features.records import BATCH, COUNT_KEYS, COUNTS, ENEMY_KEYS, KEYS, OWN_KEYS
from nnuelab.jit import at, call, inline, jit, local_record, lsb, popcount, view

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_NIBBLE = np.uint64(15)
_TWO, _THREE, _FOUR = np.uint64(2), np.uint64(3), np.uint64(4)
_NIBBLES = 16  # pieces in one word of a dataset record


_TOGETHER = 64  # positions that a term is asked about in turn
_counts = local_record(COUNTS)
_batch = local_record(BATCH)


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
    n = active_rows(tables, position, perspective, out)
    if tables.n_called > 0:
        n = call(tables.add_active, tables, position, perspective, place(out, 0), n)
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
    n_added, n_removed = changed_rows(tables, changed, old, new, perspective, added, removed)
    if tables.n_called > 0:
        counts = pack(n_added, n_removed)
        plus, minus = place(added, 0), place(removed, 0)
        counts = call(tables.add_changes, tables, old, new, perspective, plus, minus, counts)
        n_added, n_removed = unpack(counts)
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
        How many were added and removed, each as two numbers of ``lists.pack``.
    """
    changed = changed_squares(old, new)
    n_added, n_removed = np.int64(0), np.int64(0)
    for perspective in range(2):
        more, less = changed_rows(
            tables,
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
        counts = _counts()
        counts.added, counts.removed = n_added, n_removed
        plus, minus, width = place(added, 0), place(removed, 0), np.int64(added.shape[1])
        call(tables.add_changes_of_both, tables, old, new, plus, minus, width, counts)
        n_added, n_removed = counts.added, counts.removed
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
    if old.roles[KING] == new.roles[KING] and tables.counts == 0:  # as after most moves
        return False
    return key(tables, old, perspective) != key(tables, new, perspective)


@inline
def place_pieces(occupied, pieces_low, pieces_high, position):
    """Bitboards and mailbox of a dataset record's fields."""
    position.board[:] = EMPTY
    occupied, pieces = np.uint64(occupied), np.uint64(pieces_low)
    left, n = occupied, 0
    # By the bits of the pieces' codes: a set in memory would wait for itself at each piece.
    black, low, middle, high = _ZERO, _ZERO, _ZERO, _ZERO
    while left:
        square = lsb(left)
        bit = left & (~left + _ONE)
        left ^= bit
        if n == _NIBBLES:
            pieces = np.uint64(pieces_high)
        position.board[square] = pieces & _NIBBLE
        black |= bit & (_ZERO - (pieces & _ONE))
        low |= bit & (_ZERO - (pieces >> _ONE & _ONE))
        middle |= bit & (_ZERO - (pieces >> _TWO & _ONE))
        high |= bit & (_ZERO - (pieces >> _THREE & _ONE))
        pieces >>= _FOUR
        n += 1
    position.colors[0], position.colors[1] = occupied & ~black, black
    position.roles[0] = occupied & ~(low | middle | high)
    position.roles[1], position.roles[2] = low & ~(middle | high), middle & ~(low | high)
    position.roles[3] = low & middle
    position.roles[4], position.roles[5] = high & ~low, high & low


@inline
def place_state(record, position, turned):
    """What else a block may read of a dataset record's position, and that as Black sees it."""
    position.castling = record.flags >> 1 & 15
    position.ep = record.ep
    set_checkers(position)
    turn_over(position, turned)


@jit
def batch(tables, records, stm_out, other_out, stm_n, other_n):
    """Active features of packed positions, from both sides, for training.

    Parameters
    ----------
    records : structured array [B]
        With the fields occupied, pieces_low, pieces_high, flags and ep of ``nnuelab.data``.
    stm_out, other_out : int32[B, >= max_active], written
        Features seen by the side to move and by the other, each once, in no order, then anything.
        Those of one list lie side by side.
    stm_n, other_n : int64[B], written
        How many there are.

    Raises
    ------
    ValueError
        When the lists are too few, too short or lie otherwise.
    """
    least = min(len(stm_out), len(other_out), len(stm_n), len(other_n))
    if least < len(records) or min(stm_out.shape[1], other_out.shape[1]) < tables.max_active:
        raise ValueError("there are fewer or shorter lists than the positions' features need")
    if len(records) == 0:
        return
    if stm_out.strides[1] != 4 or other_out.strides[1] != 4:
        raise ValueError("the features of a list don't lie side by side")
    fields = records["occupied"], records["pieces_low"], records["pieces_high"], records["flags"]
    lists = stm_out, other_out, stm_n, other_n
    extract(tables.extracted, tables.n_extracted, fields, lists)
    if tables.n_called == 0:
        return
    # They live as long as they are named in a loop.
    positions, turned = np.zeros(_TOGETHER, POSITION), np.zeros(_TOGETHER, POSITION)
    given = _batch()
    given.positions, given.turned = positions.ctypes.data, turned.ctypes.data
    given.rows[0], given.rows[1] = stm_out.strides[0], other_out.strides[0]
    given.strides[0], given.strides[1] = stm_n.strides[0], other_n.strides[0]
    for start in range(0, len(records), _TOGETHER):
        given.n = min(np.int64(_TOGETHER), len(records) - start)
        for i in range(given.n):
            record = records[start + i]
            place_pieces(record.occupied, record.pieces_low, record.pieces_high, positions[i])
            positions[i].turn = record.flags & 1
            if tables.state != 0:
                place_state(record, positions[i], turned[i])
        given.lists[0] = stm_out.ctypes.data + start * stm_out.strides[0]
        given.lists[1] = other_out.ctypes.data + start * other_out.strides[0]
        given.lengths[0] = stm_n.ctypes.data + start * stm_n.strides[0]
        given.lengths[1] = other_n.ctypes.data + start * other_n.strides[0]
        call(tables.add_active_of_many, tables, given)
