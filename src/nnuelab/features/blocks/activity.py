"""Blocks about what own pieces are good for: mobility, outposts, open files, and the move itself.

Mobility counts squares that a piece attacks, whatever its king is threatened with.
"""

import numpy as np

from nnuelab.chess import control
from nnuelab.chess.pawns import (
    attacked_downwards,
    attacked_upwards,
    behind,
    beside,
    files,
    pawns_of,
)
from nnuelab.features import (
    BISHOP,
    ENEMY,
    FILES,
    KING,
    KNIGHT,
    OWN,
    PAWN,
    QUEEN,
    RANKS,
    ROLES,
    ROOK,
    SQUARES,
    Concept,
    computed,
)
from nnuelab.features.kernels.writing import write_squares
from nnuelab.jit import lsb, popcount

ONE = np.uint64(1)
LIGHT_SQUARES = np.uint64(0x55AA55AA55AA55AA)
RANKS_4_TO_6 = np.uint64(0xFFFFFF000000)
RANK_7, RANK_8 = np.uint64(0xFF << 48), np.uint64(0xFF << 56)
PIECES = Concept("ROLES", ROLES.values[KNIGHT:KING], "")
MOST = (8, 13, 14, 27)
"""Squares that a knight, bishop, rook or queen attacks at most."""


@computed("BISHOP_PAIR", Concept("PAIRS", ("a bishop on either colour",), "{}"), at_most=1)
def bishop_pair(position, out):
    """Own bishops stand on a light square and on a dark one."""
    bishops = position.roles[BISHOP] & position.colors[OWN]
    out[0] = 0
    return np.int64(bishops & LIGHT_SQUARES != 0 and bishops & ~LIGHT_SQUARES != 0)


COUNTS = Concept("COUNTS", tuple(f"{n} squares" for n in range(28)), "{}")


@computed(
    "MOBILITY",
    PIECES,
    COUNTS,
    SQUARES,
    at_most=30,
    possible=lambda role, count, square: count <= MOST[role],
)
def mobility(position, out):
    """The own knight, bishop, rook or queen on the square attacks n squares that no own piece
    stands on and no enemy pawn attacks."""
    occupied = position.colors[OWN] | position.colors[ENEMY]
    allowed = ~(position.colors[OWN] | attacked_downwards(pawns_of(position, ENEMY)))
    n = 0
    for role in range(KNIGHT, KING):
        pieces = position.roles[role] & position.colors[OWN]
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            count = popcount(control.attacks_of(role, square, occupied) & allowed)
            out[n] = ((role - KNIGHT) * 28 + count) * 64 + square
            n += 1
    return n


LEAST = Concept("COUNTS", tuple(f"{n} squares or more" for n in range(1, 28)), "{}")


@computed(
    "REACH",
    PIECES,
    LEAST,
    SQUARES,
    at_most=440,
    possible=lambda role, least, square: least < MOST[role],
)
def reach(position, out):
    """The own knight, bishop, rook or queen on the square attacks at least n squares that no own
    piece stands on and no enemy pawn attacks: one weight for all n is one for each square."""
    # Of at most 31 pieces, whose sliders attack each of the other squares from eight sides.
    occupied = position.colors[OWN] | position.colors[ENEMY]
    allowed = ~(position.colors[OWN] | attacked_downwards(pawns_of(position, ENEMY)))
    n = 0
    for role in range(KNIGHT, KING):
        pieces = position.roles[role] & position.colors[OWN]
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            for least in range(popcount(control.attacks_of(role, square, occupied) & allowed)):
                out[n] = ((role - KNIGHT) * 27 + least) * 64 + square
                n += 1
    return n


MINORS = Concept("ROLES", ROLES.values[KNIGHT:ROOK], "")
OUTPOST_RANKS = Concept("RANKS", RANKS.values[3:6])


@computed("OUTPOST", MINORS, OUTPOST_RANKS, FILES, at_most=24)
def outpost(position, out):
    """An own knight or bishop stands on the square of ranks 4 to 6, an own pawn defends it, and no
    enemy pawn can ever attack it, since those on the files beside it are past it."""
    enemy = pawns_of(position, ENEMY)
    squares = RANKS_4_TO_6 & attacked_upwards(pawns_of(position, OWN)) & ~behind(beside(enemy))
    squares &= position.colors[OWN]
    n = write_squares(out, 0, squares & position.roles[KNIGHT], -24)
    return write_squares(out, n, squares & position.roles[BISHOP], 24 - 24)


BISHOP_PAWNS = Concept("COUNTS", (*(f"{n} pawns" for n in range(6)), "6 pawns or more"), "{}")


@computed("BISHOP_PAWNS", BISHOP_PAWNS, SQUARES, at_most=30)
def bishop_pawns(position, out):
    """An own bishop stands on the square, and n own pawns on squares of its colour."""
    bishops = position.roles[BISHOP] & position.colors[OWN]
    pawns = pawns_of(position, OWN)
    on_light = min(popcount(pawns & LIGHT_SQUARES), 6)
    on_dark = min(popcount(pawns & ~LIGHT_SQUARES), 6)
    n = write_squares(out, 0, bishops & LIGHT_SQUARES, on_light * 64)
    return write_squares(out, n, bishops & ~LIGHT_SQUARES, on_dark * 64)


OPENNESS = Concept("OPENNESS", ("half-open", "open"), "{}")


@computed("ROOK_FILE", OPENNESS, SQUARES, at_most=30)
def rook_file(position, out):
    """An own rook stands on the square, and on its file there is no own pawn, but an enemy one
    (half-open), or no pawn (open)."""
    rooks = position.roles[ROOK] & position.colors[OWN] & ~files(pawns_of(position, OWN))
    half_open = files(pawns_of(position, ENEMY))
    n = write_squares(out, 0, rooks & half_open, 0)
    return write_squares(out, n, rooks & ~half_open, 64)


MAJORS = Concept("ROLES", ROLES.values[ROOK:KING], "")


@computed("SEVENTH", MAJORS, FILES, at_most=16)
def seventh(position, out):
    """An own rook or queen stands on rank 7 and file f, while the enemy king is on rank 8 or an
    enemy pawn on rank 7."""
    targets = position.roles[KING] & RANK_8 | position.roles[PAWN] & RANK_7
    if not targets & position.colors[ENEMY]:
        return 0
    own = position.colors[OWN] & RANK_7
    n = write_squares(out, 0, position.roles[ROOK] & own, -48)
    return write_squares(out, n, position.roles[QUEEN] & own, 8 - 48)


@computed("TEMPO", Concept("TURNS", ("the own side is to move",), "{}"), at_most=1)
def tempo(position, out):
    """The own side is to move."""
    out[0] = 0
    return np.int64(position.turn == OWN)
