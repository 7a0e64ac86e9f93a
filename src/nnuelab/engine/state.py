"""The memory of one search: one record for jitted code, and the Python object that owns it."""

from __future__ import annotations

import numpy as np

from nnuelab.chess.moves import MAX_MOVES
from nnuelab.chess.position import POSITION
from nnuelab.jit import address, aligned, at, inline, view
from nnuelab.nnue.inference import NET, Evaluator

MAX_PLY = 128  # a line is searched no deeper than this; scores of mates leave room for it
FRAMES = MAX_PLY + 2
BEST_LINE = FRAMES - 1  # row of the lines that no ply reaches: the best of an iteration
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
        ("position", POSITION),
        ("computed", "u1", 2),  # whether the accumulator of each perspective is that of `position`
        ("reversible", "i8"),  # plies that can be gone back without a capture, pawn or null move
        ("evaluation", "i8"),  # static, for the side to move; NO_EVALUATION in check
        ("moved", "i8"),  # destination index of the move that led here
        ("moved_before", "i8"),  # and of the move before that
        ("pv_length", "i8"),
    ],
    align=True,
)
"""One ply of the line being searched."""

CACHED = np.dtype(
    [
        ("key", "i8"),  # of the feature set (kernels.key), NO_KEY where nothing is stored
        ("position", POSITION),
    ],
    align=True,
)
"""The position of an accumulator in the cache."""
CACHE_SLOTS = 1024  # by perspective; one for each key up to so many
NO_KEY = -1

SEARCH = np.dtype(
    [
        ("net", NET),
        ("evaluate", "u8"),  # functions: accumulators.compile_for
        ("bring_up_by_key", "u8"),
        ("iterate", "u8"),  # deepening.compile_for
        ("frames", "u8"),  # -> FRAME[FRAMES]
        ("accumulators", "u8"),  # -> int16[FRAMES, 2, width], by ply and perspective
        ("slots", "i8"),  # of the cache of accumulators
        ("cached", "u8"),  # -> CACHED[2, slots], by perspective
        ("cache", "u8"),  # -> int16[2, slots, width]
        ("added", "u8"),  # -> int32[2, max_active], scratch
        ("removed", "u8"),  # -> int32[2, max_active], scratch
        ("moves", "u8"),  # -> int64[FRAMES, LIST]: entries of ordering
        ("pv", "u8"),  # -> int64[FRAMES, FRAMES]: row of a ply holds its best line
        ("keys", "u8"),  # -> uint64[HISTORY_KEYS + FRAMES]: game, then the line being searched
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
        ("mismatches", "i8"),  # checked build: evaluations that differed from scratch
    ],
    align=True,
)
"""All that the recursion needs, passed as one pointer."""


@inline
def frame_at(s, ply):  # type: ignore[no-untyped-def]
    """The frame of a ply, counted from the root."""
    return view(s.frames, FRAMES, FRAME)[at(ply)]


class Memory:
    """Owns what a SEARCH record points to, all but the transposition table.

    Attributes
    ----------
    record : np.void of dtype SEARCH
        Valid as long as this object lives; one search at a time.
    frames, pv, keys, root_moves, history, captures, continuations : ndarray
        As in SEARCH.
    """

    def __init__(self, evaluator: Evaluator) -> None:
        from nnuelab.engine.accumulators import compile_for  # it is made of these records

        net = evaluator.record
        self._evaluator = evaluator
        self._records = np.zeros(1, SEARCH)
        self.frames = np.zeros(FRAMES, FRAME)
        self.pv = np.zeros((FRAMES, FRAMES), np.int64)
        self.keys = np.zeros(HISTORY_KEYS + FRAMES, np.uint64)
        self.history = np.zeros((2, 4096), np.int16)
        self.captures = np.zeros((DESTINATIONS, 6), np.int16)
        self.continuations = np.zeros((DESTINATIONS + 1, DESTINATIONS), np.int16)
        self.root_moves = np.zeros(MAX_MOVES, np.int64)
        slots = min(int(net["features"]["n_keys"]), CACHE_SLOTS)
        self._scratch: dict[str, np.ndarray] = {
            "cached": np.zeros((2, slots), CACHED),
            "cache": aligned((2, slots, int(net["width"])), np.int16),
            "accumulators": aligned((FRAMES, 2, int(net["width"])), np.int16),
            "added": np.zeros((2, int(net["max_active"])), np.int32),
            "removed": np.zeros((2, int(net["max_active"])), np.int32),
            "moves": np.zeros((FRAMES, LIST), np.int64),
        }
        record = self.record
        record["net"], record["slots"] = net, slots
        self._scratch["cached"]["key"] = NO_KEY
        for name, array in self._scratch.items():
            record[name] = address(array)
        for name in ("frames", "pv", "keys", "history", "captures", "continuations", "root_moves"):
            record[name] = address(vars(self)[name])
        compile_for(record)

    @property
    def record(self) -> np.void:
        """The search as one pointer."""
        return self._records[0]

    def forget(self) -> None:
        """Clears what one search leaves for the next."""
        self.history.fill(0)
        self.captures.fill(0)
        self.continuations.fill(0)
