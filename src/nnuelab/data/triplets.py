"""Triplets of positions for PQR training: P, Q after the move of its record, R after another move.

The idea is Erik Bernhardsson's (erikbern.com, 2014-11-29): whoever played or found a move preferred
it, so Q is worse than R for the side that is then to move. A record holds P and the move; Q and R
are made of it when a batch is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, NO_MOVE, legal_moves, make
from nnuelab.chess.position import POSITION
from nnuelab.data.draws import STEP, splitmix64
from nnuelab.data.records import NO_SCORE, RECORD, UNKNOWN_RESULT, pack, unpack
from nnuelab.jit import inline, jit

FEWEST = 2  # legal moves of a position that has another move than the one played
LAST_PLY = 1023  # later ones count as this
_COUNTED = 256  # more legal moves count as one less than that
_CHUNK = 1 << 20  # records that are looked at together
_HALF = np.uint64(32)


@jit
def _count(records, counts):
    position = np.zeros(1, POSITION)
    found = np.empty(MAX_MOVES, np.int64)
    for i in range(len(records)):
        counts[i] = 0
        if records[i].move == NO_MOVE:
            continue
        unpack(records[i], position[0])
        n = legal_moves(position[0], found)
        for k in range(n):
            if found[k] == np.int64(records[i].move):
                counts[i] = min(n, _COUNTED - 1)


def legal_counts(records: np.ndarray) -> np.ndarray:
    """The number of legal moves of each position.

    Parameters
    ----------
    records : ndarray of RECORD [n]

    Returns
    -------
    ndarray of uint8 [n]
        At most 255 (more count as this); 0 where the record's move is unknown or not legal.
    """
    counts = np.empty(len(records), np.uint8)
    for start in range(0, len(records), _CHUNK):
        # A copy: a mapped file is read-only, which would be another type for the kernel.
        _count(np.array(records[start : start + _CHUNK]), counts[start : start + _CHUNK])
    return counts


def least_moves(parts: Iterable[np.ndarray], quantile: float) -> np.ndarray:
    """How many legal moves a position must have, by the plies played before.

    That is the ``quantile`` of the positions that have its side to move and its move number: the
    smallest number that a share of ``quantile`` of them don't exceed; and two at least.

    Parameters
    ----------
    parts : iterable of ndarray of RECORD
        All positions.
    quantile : float
        0 to 1; 0 leaves out nothing but positions with a single legal move.

    Returns
    -------
    ndarray of int64 [LAST_PLY + 1]
        The last one is for all later positions.
    """
    table = np.zeros((LAST_PLY + 1, _COUNTED), np.int64)
    if quantile > 0:
        for records in parts:
            counts = legal_counts(records)
            known = counts > 0
            np.add.at(table, (_plies(records)[known], counts[known]), 1)
    below = table.cumsum(1)
    # What is but rounding above a whole number is that number.
    enough = below >= np.ceil(quantile * below[:, -1:] - 1e-9)
    return np.maximum(enough.argmax(1), FEWEST)


def usable(records: np.ndarray, least: np.ndarray) -> np.ndarray:
    """Which positions make a triplet: those that have their move, and enough legal ones.

    Parameters
    ----------
    records : ndarray of RECORD [n]
    least : ndarray of int64
        By `least_moves`.

    Returns
    -------
    ndarray of bool [n]
    """
    kept: np.ndarray = legal_counts(records) >= least[_plies(records)]
    return kept


def _plies(records: np.ndarray) -> np.ndarray:
    return np.minimum(records["ply"], LAST_PLY)


@inline
def _key(key, record):
    """A hash that differs between the positions of a set."""
    word = splitmix64((key ^ np.uint64(record.occupied)) + STEP)
    word = splitmix64((word ^ np.uint64(record.pieces_low)) + STEP)
    where = np.uint64(record.game) << _HALF | np.uint64(record.ply)
    return splitmix64((word ^ where) + STEP)


@jit
def _make(records, key, out):
    """Writes P, Q and R of each record; returns the first whose move is illegal, or -1."""
    stack = np.zeros(2, POSITION)
    found = np.empty(MAX_MOVES, np.int64)
    for i in range(len(records)):
        unpack(records[i], stack[0])
        n = legal_moves(stack[0], found)
        played = np.int64(-1)
        for k in range(n):
            if found[k] == np.int64(records[i].move):
                played = np.int64(k)
        if played < 0 or n < 2:
            return np.int64(i)
        other = np.int64(((_key(key, records[i]) >> _HALF) * np.uint64(n - 1)) >> _HALF)
        if other >= played:
            other += 1
        out[3 * i] = records[i]
        for k in range(2):
            make(stack[0], stack[1], found[played] if k == 0 else found[other])
            pack(stack[1], out[3 * i + 1 + k])
    return np.int64(-1)


def make_triplets(records: np.ndarray, seed: int, epoch: int) -> np.ndarray:
    """P, Q and R of each position.

    R is after a move drawn uniformly from the legal ones that aren't the record's: a function of
    the seed, the epoch and the position alone, whatever batch it comes in.

    Parameters
    ----------
    records : ndarray of RECORD [n]
        Positions that are `usable`.
    seed, epoch : int

    Returns
    -------
    ndarray of RECORD [3n]
        P, Q, R of the first, P, Q, R of the second...; of Q and R the board, ply, game and result.

    Raises
    ------
    ValueError
        When a position is not usable.
    """
    key = np.random.SeedSequence([seed, epoch]).generate_state(1, np.uint64)[0]
    out = np.zeros(3 * len(records), RECORD)
    wrong = _make(np.array(records), key, out)
    if wrong >= 0:
        raise ValueError(f"position {wrong} has no legal move besides that of its record")
    for after in (out[1::3], out[2::3]):
        after["game"], after["ply"] = records["game"], records["ply"] + 1
        after["score"] = NO_SCORE
        known = records["result"] != UNKNOWN_RESULT
        after["result"] = np.where(known, -records["result"], UNKNOWN_RESULT)
    return out
