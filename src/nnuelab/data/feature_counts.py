"""How often features are active in positions, and what every legal move there changes."""

from __future__ import annotations

import numpy as np

from nnuelab.chess.moves import MAX_MOVES, NO_MOVE, legal_moves, make
from nnuelab.chess.position import EMPTY, POSITION
from nnuelab.data.records import unpack, unpack_board
from nnuelab.errors import UserError
from nnuelab.features import FeatureSet
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.records import OWN_KING
from nnuelab.features.tables import compiled
from nnuelab.jit import jit

COUNTS = np.dtype(
    [
        ("positions", "i8"),
        ("active", "i8"),  # features of these positions, each once
        ("moves", "i8"),  # legal moves in them
        ("added", "i8"),  # features that become active by those moves
        ("removed", "i8"),
        ("refreshes", "i8"),  # moves after which the accumulator is made from scratch
        ("touched", "i8"),  # rows: added and removed ones, or all active ones at a refresh
    ],
    align=True,
)
"""Sums over positions and all their legal moves, for one perspective: means are theirs to take."""


@jit
def _count(tables, records, counts, seen):
    # A record is a bare pointer to numba: the array is named at each use, or it is freed before.
    scratch = np.zeros(2, POSITION)
    legal = np.empty(MAX_MOVES, np.int64)
    added = np.empty(tables.max_active, np.int32)
    removed = np.empty(tables.max_active, np.int32)
    for i in range(len(records)):
        unpack(records[i], scratch[0])
        turn = np.int64(scratch[0].turn)
        for side in range(2):
            n = kernels.active(tables, scratch[0], turn ^ side, added)
            counts[side].positions += 1
            counts[side].active += n
            for k in range(n):
                seen[added[k]] = True
        n_moves = legal_moves(scratch[0], legal)
        for m in range(n_moves):
            make(scratch[0], scratch[1], legal[m])
            for side in range(2):
                n_added, n_removed = kernels.changes(
                    tables, scratch[0], scratch[1], turn ^ side, added, removed
                )
                counts[side].moves += 1
                counts[side].added += n_added
                counts[side].removed += n_removed
                touched = n_added + n_removed
                if kernels.needs_refresh(tables, scratch[0], scratch[1], turn ^ side):
                    counts[side].refreshes += 1
                    touched = kernels.active(tables, scratch[1], turn ^ side, added)
                counts[side].touched += touched


def count(features: FeatureSet, records: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Counts over positions and all legal moves in them.

    Parameters
    ----------
    records : RECORD [n]

    Returns
    -------
    counts : COUNTS [2]
        For the perspective of the player who is to move, and for the other's.
    seen : bool [N]
        Whether a feature is active in any of the positions, for either.
    """
    counts, seen = np.zeros(2, COUNTS), np.zeros(features.size, np.bool_)
    _count(compiled(features).record, np.ascontiguousarray(records), counts, seen)
    compiled(features).check()
    return counts, seen


@jit
def _refreshes(tables, records, found):
    """Returns the first record whose move is illegal, or -1."""
    scratch = np.zeros(2, POSITION)
    legal = np.empty(MAX_MOVES, np.int64)
    for i in range(len(records)):
        if records[i].move == NO_MOVE:
            continue
        move = np.int64(records[i].move)
        unpack(records[i], scratch[0])
        if not (legal[: legal_moves(scratch[0], legal)] == move).any():
            return np.int64(i)
        make(scratch[0], scratch[1], move)
        for perspective in range(2):
            if kernels.needs_refresh(tables, scratch[0], scratch[1], perspective):
                found[perspective] += 1
    return np.int64(-1)


def played_refreshes(features: FeatureSet, records: np.ndarray) -> np.ndarray:
    """Refreshes of White's and of Black's accumulator by the moves that were played, int64 [2].

    Raises
    ------
    UserError
        When a move is illegal.
    """
    found = np.zeros(2, np.int64)
    i = _refreshes(compiled(features).record, np.ascontiguousarray(records), found)
    if i >= 0:
        raise UserError(
            f"the move after ply {records[i]['ply']} of game {records[i]['game']} is illegal; "
            "make the dataset again"
        )
    return found


@jit
def _count_members(records, members):
    """Pieces that are members, [own king, piece, square], from both sides."""
    scratch, board, total = np.zeros(1, POSITION), np.empty(64, np.int64), 0
    for i in range(len(records)):
        unpack_board(records[i], scratch[0])
        board[:] = scratch[0].board
        for perspective in range(2):
            turn = 56 * perspective
            king = 0
            for square in range(64):
                if board[square] == OWN_KING ^ perspective:
                    king = square ^ turn
            for square in range(64):
                if board[square] != EMPTY:
                    total += members[king, board[square] ^ perspective, square ^ turn]
    return total


@jit
def _count_pairs(records, lines, members):
    """Neighbours on lines (squares, -1 behind) that are members, [line, piece, piece]."""
    scratch, board, total = np.zeros(1, POSITION), np.empty(64, np.int64), 0
    for i in range(len(records)):
        unpack_board(records[i], scratch[0])
        board[:] = scratch[0].board
        for perspective in range(2):
            for line in range(len(lines)):
                before = np.int64(-1)
                for square in lines[line]:
                    if square >= 0 and board[square ^ (56 * perspective)] != EMPTY:
                        piece = board[square ^ (56 * perspective)] ^ perspective
                        if before >= 0:
                            total += members[line, before, piece]
                        before = piece
    return total


def with_repeats(features: FeatureSet, records: np.ndarray) -> float | None:
    """Mean number of pieces, or pairs of neighbours, that make a feature active, seen from a side.

    It is the number of active features if one that two of them make active counts twice. None when
    a term of the set isn't a block of pieces, of pieces and the own king, or of neighbours.
    """
    records, total = np.ascontiguousarray(records), 0
    for term in features.terms:
        block, alone = term.factors[0], len(term.factors) == 1
        if alone and (table := block.tabulated()) is not None:
            members = np.stack(table.tables)[table.class_of] >= 0
            total += _count_members(records, members.astype(np.int64))
        elif alone and (neighbours := block.lines()) is not None:
            lines = np.full((len(neighbours[0]), 8), -1)
            for line, squares in zip(lines, neighbours[0], strict=True):
                line[: len(squares)] = squares
            total += _count_pairs(records, lines, (neighbours[1] >= 0).astype(np.int64))
        else:
            return None
    return total / (2 * len(records))
