"""What jitted code and its builders share: memory layouts, offsets and bounds. Only numpy.

Jitted code gets one record of :data:`FEATURES`; what varies in size is behind its addresses.

Terms of the sum that are piece-square blocks, one for each class of own kings where these matter,
are tables, which the kernels read themselves. Every other term, of whatever kind, is a
:data:`TERM`: the addresses of two functions and of their data. They are compiled when a feature set
uses them, so a sum without them pays one test, and the search needs no compilation for any of them:

``active(data, position, perspective, out) -> n``
    Writes the term's active features, each once, in any order, counted from 0.
``changes(data, old, new, perspective, added, removed) -> pack(n_added, n_removed)``
    Writes what becomes active and inactive between any two positions; ``FROM_SCRATCH`` where that
    is not known: the caller compares what is active in both.

The functions of a term with a table ``turned`` are called for White only.

``data`` is the kind's own record, positions are records of POSITION, ``perspective`` is 0 for White
and 1 for Black, the lists are pointers to int32 with room for ``max_active`` features.
"""

from __future__ import annotations

import numpy as np

PIECES, SQUARES_ON_BOARD = 12, 64
PLACES = PIECES * SQUARES_ON_BOARD
"""Pieces are numbered role * 2 + colour, pieces on squares piece * 64 + square."""
MOST_PIECES = 32  # on a board, one king each; a FEN may hold any others
OWN_KING, ENEMY_KING = PIECES - 2, PIECES - 1

FROM_SCRATCH = -1  # what `changes` returns when it doesn't know

# Feature sets ------------------------------------------------------------------------------------

PIECE_SQUARE = np.dtype(
    [
        ("n", "i8"),  # number of blocks, n
        ("rows", "u8"),  # -> int32[2, 12, 64, n]: row of each block, -1 none
        ("masks", "u8"),  # -> uint64[2, 12, 64, n]: squares of the piece with the same row, or 0
        ("groups", "u8"),  # -> int32[2, 12, 64, n]: where the mask is 0, number of the row's group
        ("members", "u8"),  # -> uint64[groups, 12]: squares of every piece with that row
    ],
    align=True,
)
"""Piece-square blocks side by side, by perspective (0 White, 1 Black), piece code and square.

A row belongs to a set of squares of one piece (its mask). A row that several pieces share (a block
without roles or colours) has mask 0 and a group, which lists the squares of all twelve pieces.
"""

KING_PIECE = np.dtype(
    [
        ("n", "i8"),  # classes
        ("blocks", "u8"),  # -> PIECE_SQUARE[n]
        ("classes", "u8"),  # -> int64[2, 64]: by perspective and square of its king
    ],
    align=True,
)
"""Piece-square blocks, one for each class of squares of the own king."""

TERM = np.dtype(
    [
        ("active", "u8"),  # function
        ("changes", "u8"),  # function, or 0
        ("data", "u8"),
        ("turned", "u8"),  # -> int32[]: Black's features by those of White, or 0
        ("offset", "i8"),  # of its features in the sum
    ],
    align=True,
)
"""A term that is reached by address."""

OWN_KEYS, ENEMY_KEYS, COUNT_KEYS = 0, SQUARES_ON_BOARD, 2 * SQUARES_ON_BOARD
KEYS = 2 * SQUARES_ON_BOARD + MOST_PIECES + 1

FEATURES = np.dtype(
    [
        ("size", "i8"),  # number of features
        ("max_active", "i8"),  # bound of the rows that one perspective has active at once
        ("terms", PIECE_SQUARE),  # terms that are one piece-square block
        ("n_kings", "i8"),
        ("kings", "u8"),  # -> KING_PIECE[n_kings]: terms that are several
        ("n_called", "i8"),
        ("called", "u8"),  # -> TERM[n_called]
        ("n_extracted", "i8"),  # blocks that batches are extracted of without any position
        ("extracted", "u8"),  # -> EXTRACTED[n_extracted]
        ("add_active", "u8"),  # functions of kernels.called, where there are such terms
        ("add_active_of_many", "u8"),
        ("add_changes", "u8"),
        ("add_changes_of_both", "u8"),
        ("state", "i8"),  # 1: a term reads more of a position than where its pieces stand
        ("n_keys", "i8"),  # 1: a refresh is never due
        ("counts", "i8"),  # 1: the key has to do with the number of pieces
        # -> int64[2, KEYS]: by perspective, what the squares of the two kings and the number of
        # pieces add to the key; where the key changes, a refresh is due
        ("keys", "u8"),
    ],
    align=True,
)
"""A feature set for jitted code; see :mod:`nnuelab.features.kernels.feature_set` for what takes it.
"""

COUNTS = np.dtype([("added", "i8"), ("removed", "i8")])
"""Lengths of lists for both perspectives, two in each number (lists.pack)."""

# Extraction of batches ---------------------------------------------------------------------------

BATCH = np.dtype(
    [
        ("n", "i8"),  # positions
        ("positions", "u8"),  # -> POSITION[n]
        ("turned", "u8"),  # -> POSITION[n]: the same as Black sees them; only with `state`
        # Of the side to move, then of the other:
        ("lists", "u8", 2),  # -> int32: features of the first position
        ("rows", "i8", 2),  # bytes from there to those of the next
        ("lengths", "u8", 2),  # -> int64: how many there are
        ("strides", "i8", 2),  # bytes from there to the next
    ],
    align=True,
)
"""Positions and the lists that their features are appended to."""

MOST_BEFORE = 7  # squares of a class before one of them: a line has eight
NOWHERE = 64  # a square that is always empty
BY_PIECES, INJECTIVE, SHARED_SYMMETRIC, SHARED_ASYMMETRIC, BY_KING = range(5)
"""Ways to extract a block: piece by piece; by vectors when no two pieces share a feature; when
pieces do, on classes of squares that are alike for both players, or not; by the own king's class,
or without some pieces."""

TABLE = np.dtype(
    [
        ("features", "i4", (2, PLACES)),  # -1 none
        ("numbers", "i2", (2, PLACES)),  # of the different ones, -1 none
    ],
    align=True,
)
"""Features by player and piece * 64 + square."""

PARTS = np.dtype(
    {
        "names": ["squares", "pieces", "base"],  # whose sum is a feature, the first two mod 2^16
        "formats": [("i2", (SQUARES_ON_BOARD,)), ("i2", (2, 16)), "i4"],  # by piece or group, twice
        "offsets": [0, 128, 192],
        "itemsize": 256,
    }
)
"""The same for vectors, as one player sees it."""

EXTRACTED = np.dtype(
    [
        ("way", "i8"),
        ("repeats", "i8"),  # 1: pieces on different squares may have one feature
        ("n_tables", "i8"),
        ("tables", "u8"),  # -> TABLE[n_tables]
        ("parts", "u8"),  # -> PARTS[2, n_tables], by player
        ("classes", "u1", (2, SQUARES_ON_BOARD)),  # number of a table, by player and own king
        ("groups", "i1", (2, 16)),  # of pieces that share features, from 1, 0 without any; twice
        ("before", "i1", (2, MOST_BEFORE, SQUARES_ON_BOARD)),  # lower squares of a square's class
    ],
    align=True,
)
"""A block for extraction."""

# The data of each kind ---------------------------------------------------------------------------

PRODUCT = np.dtype(
    [
        ("n", "i8"),  # factors
        ("factors", "u8"),  # -> FEATURES[n]
        ("strides", "u8"),  # -> int64[n]
        ("width", "i8"),  # the most features that any factor has active
    ],
    align=True,
)

PHASE = np.dtype(
    [
        ("features", FEATURES),
        ("starts", "u8"),  # -> int64[33]: first feature by number of pieces
    ],
    align=True,
)

SELECTION = np.dtype(
    [
        ("features", FEATURES),
        ("rows", "u8"),  # -> int32[2, features.size]: by side of the own king, -1 none
        ("sides", "u8"),  # -> int64[2, 64]: by perspective and square of its king
    ],
    align=True,
)

LINES = np.dtype(
    [
        ("n", "i8"),
        ("lines", "u8"),  # -> uint64[2, n], by perspective: squares of each line
        ("line_of", "u8"),  # -> int64[2, 64]
        ("rows", "u8"),  # -> int32[2, n, 144]: by first * 12 + second of the codes, -1 none
    ],
    align=True,
)

PARTNERS = np.dtype(
    [
        ("squares", "u8", PIECES),  # by piece: where it is a partner
        ("starts", "i4", PIECES),  # of the pairs with these, by square, among `rows`
        ("pieces", "i8"),  # a bit for each piece that is a partner anywhere
    ],
    align=True,
)
"""The pairs that a piece-square belongs to."""

PAIRS = np.dtype(
    [
        ("n", "i8"),  # pairs
        ("partners", "u8"),  # -> PARTNERS[2, 768], by perspective
        ("rows", "u8"),  # -> int32[2, 2 * n]
    ],
    align=True,
)

COMPUTED = np.dtype(
    [
        ("active", "u8"),  # function
        ("changed", "u8"),  # function, or 0
        ("bound", "i8"),  # of the features that are active at once
        ("size", "i8"),
        # What the function has done against the rules, 0 where it hasn't:
        ("beyond", "i8"),  # a number of features that is no 0..bound
        ("stray", "i8"),  # a feature that is no 0..size - 1
    ]
)

# Sets of squares ---------------------------------------------------------------------------------

MOST_SOURCES = 16  # that one definition uses
MOST_SETS = 24  # of a definition: two sections
MOST_DEPTH = 16  # of operands that wait, in a definition's code
KEPT = 128  # positions whose sets are kept: more than a search updates around a node; 2^n
PLACEMENT = 10  # words that tell a position: bitboards of roles, of colours, rights, key
SPARE = 2  # features that jitted code may write behind the end of a list

PIECE, UNION, GATE, AND, OR, MINUS = range(6)
"""Instructions: push what belongs to the piece that is asked, or the union of what belongs to all
pieces of some roles and colours; empty the last set where a source has nothing of a piece; or
replace the last two sets by one."""

INSTRUCTION = np.dtype(
    [
        ("operation", "i8"),
        ("source", "i8"),  # number of the source of what is pushed
        ("pieces", "i8"),  # a bit for each role and colour that is in it
    ],
    align=True,
)

SETS = np.dtype(
    [
        ("n", "i8"),  # sets: twelve for each section
        ("n_sources", "i8"),
        ("sources", "u8"),  # -> uint64[n_sources]: functions that write twelve sets
        ("n_code", "i8"),  # 0 where the sets are those of the sources, in order
        ("code", "u8"),  # -> INSTRUCTION[n_code], set by set
        ("ends", "u8"),  # -> int64[n]: where each set's code ends
        ("kept", "u8"),  # -> uint64[KEPT, PLACEMENT + n], or 0
        ("first", "u8"),  # -> int64[n]: feature of the empty set, every further square is 2 more
        ("most", "u8"),  # -> int64[n]: squares that are counted
    ],
    align=True,
)
"""``first`` and ``most`` are for numbers; a square's feature is square * 12 + piece."""

TARGETS = np.dtype(
    [
        ("sets", SETS),  # what a piece acts on, asked for each alone
        ("victims", "i8"),  # 12: what stands on the target counts, 1: where a piece can move
        ("reach", "u8"),  # -> uint64[12, 64]: by piece and square, targets that have features
        ("first", "u8"),  # -> int32[12, 64, victims]: first of the features, -1 none
    ],
    align=True,
)
