"""Options, state and faults of the PGN reader: layouts that kernels and Python share."""

import numpy as np

REASONS = (
    "",
    "variant",
    "Chess960",
    "illegal start position",
    "rating",
    "time control",
    "termination",
    "start position",
    "no evaluation",
    "no moves",
    "null move",
    "illegal move",
    "ambiguous move",
    "unreadable move",
    "comment without end",
)
"""Why a game is left out."""
(
    GOOD,
    VARIANT,
    CHESS960,
    ILLEGAL_START,
    RATING,
    TIME_CONTROL,
    TERMINATION,
    START_POSITION,
    NO_EVALUATION,
    NO_MOVES,
    NULL_MOVE,
    ILLEGAL_MOVE,
    AMBIGUOUS_MOVE,
    UNREADABLE_MOVE,
    OPEN_COMMENT,
) = np.arange(15)
UNREADABLE = (3, *range(10, 15))
"""Those that are mistakes of the file, by index."""

FILTERS = (
    "too early",
    "in check",
    "capture next",
    "promotion next",
    "too few pieces",
    "too many pieces",
    "score too large",
)
"""Why a position is left out, in the order in which that is decided."""
EARLY, CHECK, CAPTURE, PROMOTED, FEW, MANY, EXTREME = np.arange(7)

DONE, NEEDS_START = np.arange(2)
MAX_PLY = 65_535

OPTIONS = np.dtype(
    [
        ("max_games", "i8"),  # to read; 0: all
        ("min_ply", "i8"),
        ("skip_check", "i8"),
        ("skip_captures", "i8"),
        ("skip_promotions", "i8"),
        ("min_pieces", "i8"),
        ("max_pieces", "i8"),
        ("max_score", "i8"),  # centipawns; 0: any
        ("only_evaluated", "i8"),
        ("start_positions", "i8"),
        ("min_rating", "i8"),
        ("max_rating", "i8"),  # 0: any
        ("min_seconds", "i8"),
        ("max_seconds", "i8"),  # 0: any
        ("terminations", "i8"),  # how many of them count; 0: all
        ("termination", "u8", 16),  # hashes of their names
    ],
    align=True,
)

STATE = np.dtype(
    [
        ("place", "i8"),  # where the next game begins
        ("line", "i8"),  # line ends before it
        ("games", "i8"),
        ("records", "i8"),
        ("faults", "i8"),
        ("start", "i8"),  # of the next game: 0 unknown, 1 in `start`, else the reason to skip it
        ("fen", "i8"),  # where the FEN stands that is asked for, and where it ends
        ("fen_end", "i8"),
        # Of the game being read:
        ("body", "i8"),
        ("body_line", "i8"),
        ("first_line", "i8"),
        ("reason", "i8"),
        ("result", "i8"),
        ("white", "i8"),  # Elo, 0 unknown
        ("black", "i8"),
        ("seconds", "i8"),  # -1 unknown
        ("termination", "u8"),
        ("positions", "i8"),
        ("filtered", "i8", 7),
        ("hash", "u8"),  # of the moves
        ("sampled", "i8"),  # games that gave samples
    ],
    align=True,
)

FAULT = np.dtype(
    [("game", "i8"), ("line", "i8"), ("reason", "i8"), ("word", "i8"), ("word_end", "i8")]
)
"""A game that was left out, and where: numbers from 0."""
