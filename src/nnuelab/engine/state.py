"""What the recursion of a search reads and writes, as one record for jitted code."""

import numpy as np

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.engine import constants
from nnuelab.evaluator import EVALUATOR, MAX_PLY, PLIES, ply_at
from nnuelab.jit import at, inline, view
from nnuelab.orderer import ORDERER

BEST_LINE = PLIES  # row of the lines that no ply reaches: the best of an iteration
HISTORY_KEYS = 1024  # positions of the game before the root that can be remembered

INFINITE = 32001
MATE = 32000  # minus the plies to it is the score of a mate
MATE_BOUND = MATE - MAX_PLY  # scores beyond are mates
EVALUATION_BOUND = 30000  # evaluations are clamped to it
NO_EVALUATION = -32768

LIST = MAX_MOVES + 1  # the table's move is listed once more before it's dropped
DESTINATIONS = 12 * 64  # piece code * 64 + target square: what a move does, for histories
NO_DESTINATION = DESTINATIONS  # of the move before the root and of a null move
FOREVER = np.iinfo(np.int64).max

FRAME = np.dtype(
    [
        ("reversible", "i8"),  # plies that can be gone back without a capture, pawn or null move
        ("evaluation", "i8"),  # static, for the side to move; NO_EVALUATION in check
        ("moved", "i8"),  # destination index of the move that led here
        ("moved_before", "i8"),  # and of the move before that
        ("pv_length", "i8"),
    ],
    align=True,
)
"""What a search knows of one ply of its line, besides the position."""

SEARCH = np.dtype(
    [
        ("evaluator", EVALUATOR),
        ("orderer", ORDERER),
        ("ordering_depth", "i8"),  # least depth of a node below the root that it is asked at
        ("constants", constants.RECORD),
        ("iterate", "u8"),  # function: deepening.compiled_iterate
        ("line", "u8"),  # -> evaluator.PLY[PLIES]
        ("frames", "u8"),  # -> FRAME[PLIES]
        ("moves", "u8"),  # -> int64[PLIES, LIST]: entries of ordering
        ("scores", "u8"),  # -> int64[LIST]: of an orderer
        ("pv", "u8"),  # -> int64[PLIES + 1, PLIES]: row of a ply holds its best line
        ("keys", "u8"),  # -> uint64[HISTORY_KEYS + PLIES]: game, then the line being searched
        ("root", "i8"),  # index of the root in `keys`
        ("history", "u8"),  # -> int16[2, 4096], by colour, from and to
        ("captures", "u8"),  # -> int16[DESTINATIONS, 6], by role of the victim
        ("continuations", "u8"),  # -> int16[DESTINATIONS + 1, DESTINATIONS], by an earlier move
        ("root_moves", "u8"),  # -> int64[MAX_MOVES]
        ("n_root_moves", "i8"),
        ("root_whole", "i8"),  # 1 when these are all legal moves: only then is the root stored
        ("root_best", "i8"),  # of the root's moves the one to try first, or NO_MOVE
        ("root_score", "i8"),  # of the best line found in this iteration
        ("root_depth", "i8"),
        ("line_length", "i8"),  # of the line in row BEST_LINE
        ("table", "u8"),  # -> table.ENTRY[buckets, BUCKET]
        ("buckets", "i8"),
        ("generation", "i8"),  # number of this search modulo 64
        ("nodes", "i8"),  # legal moves made, null moves not counted
        ("node_limit", "i8"),
        ("deadline", "i8"),  # monotonic clock, ns
        ("stop", "i8"),  # set by the search itself or from another thread
        ("seldepth", "i8"),
    ],
    align=True,
)
"""All that the recursion needs, passed as one pointer."""


@inline
def frame_at(s, ply):
    """The frame of a ply, counted from the root."""
    return view(s.frames, PLIES, FRAME)[at(ply)]


@inline
def position_at(s, ply):
    """The position at a ply."""
    return ply_at(s.line, ply).position


@inline
def lines_of(s):
    """int64[PLIES + 1, PLIES]: the best line of each ply, and BEST_LINE."""
    return view(s.pv, (PLIES + 1, PLIES), np.int64)


@inline
def keys_of(s):
    """uint64[HISTORY_KEYS + PLIES]: keys of the game, and from the root's place on of the line."""
    return view(s.keys, HISTORY_KEYS + PLIES, np.uint64)
