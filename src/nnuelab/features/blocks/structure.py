"""Blocks about own pawns and how they stand to each other and to the enemy's.

What the pawns alone decide, and the kings at most, an engine finds again only when they move.
"""

import numpy as np

from nnuelab.chess import control
from nnuelab.chess.pawns import (
    ahead,
    attacked_downwards,
    attacked_upwards,
    behind,
    beside,
    files,
    passed,
    pawns_moved,
    pawns_of,
)
from nnuelab.features import ENEMY, FILES, KING, OWN, RANKS, Concept, computed
from nnuelab.features.kernels.writing import write_squares
from nnuelab.jit import jit, lsb

ONE, EIGHT = np.uint64(1), np.uint64(8)
PAWN_RANKS = Concept("RANKS", RANKS.values[1:7])
"""Ranks 2 to 7: a pawn on a square has the number of the square less 8."""


@computed(
    "DOUBLED",
    PAWN_RANKS,
    FILES,
    at_most=30,
    changed=pawns_moved,
    possible=lambda rank, file: rank < 5,
)
def doubled(position, out):
    """An own pawn stands on the square, and another one on its file in front of it."""
    own = pawns_of(position, OWN)
    return write_squares(out, 0, own & behind(own), -8)


@computed("ISOLATED", PAWN_RANKS, FILES, at_most=24, changed=pawns_moved)
def isolated(position, out):
    """An own pawn stands on the square, and none on the files beside it."""
    own = pawns_of(position, OWN)
    return write_squares(out, 0, own & ~beside(files(own)), -8)


@computed(
    "BACKWARD",
    PAWN_RANKS,
    FILES,
    at_most=30,
    changed=pawns_moved,
    possible=lambda rank, file: rank < 4,  # an enemy pawn is two ranks above
)
def backward(position, out):
    """An own pawn stands on the square, those on the files beside it are all on higher ranks, of
    which there is one at least, and an enemy pawn attacks the square in front of it."""
    own = pawns_of(position, OWN)
    left_behind = beside(files(own)) & ~beside(own | ahead(own))
    stopped = attacked_downwards(pawns_of(position, ENEMY)) >> EIGHT
    return write_squares(out, 0, own & left_behind & stopped, -8)


LINKS = Concept("LINKS", ("beside another", "defended by another"), "{}")


@computed(
    "CONNECTED",
    LINKS,
    PAWN_RANKS,
    FILES,
    at_most=30,
    changed=pawns_moved,
    possible=lambda link, rank, file: link == 0 or rank > 0,
)
def connected(position, out):
    """An own pawn stands on the square, defended by an own pawn, or else beside one."""
    own = pawns_of(position, OWN)
    defended = own & attacked_upwards(own)
    n = write_squares(out, 0, own & beside(own) & ~defended, -8)
    return write_squares(out, n, defended, 48 - 8)


@computed("PASSED", PAWN_RANKS, FILES, at_most=8, changed=pawns_moved)
def passed_pawns(position, out):
    """An own pawn stands on the square, and in front of it neither an enemy pawn on its file or
    beside it, nor an own one on its file: it is passed."""
    return write_squares(out, 0, passed(position), -8)


KINGS = Concept("KINGS", ("the own king", "the enemy king"), "{}")
DISTANCES = Concept("DISTANCES", tuple(f"{n} away" for n in range(8)), "{}")


@jit
def distance(a, b):
    """Moves of a king between two squares."""
    return max(abs((a & 7) - (b & 7)), abs((a >> 3) - (b >> 3)))


@jit
def pawns_or_kings_moved(old, new):
    return pawns_moved(old, new) or (
        old.roles[KING] & old.colors[OWN] != new.roles[KING] & new.colors[OWN]
        or old.roles[KING] & old.colors[ENEMY] != new.roles[KING] & new.colors[ENEMY]
    )


@computed(
    "PASSED_KINGS", KINGS, DISTANCES, PAWN_RANKS, FILES, at_most=16, changed=pawns_or_kings_moved
)
def passed_kings(position, out):
    """An own passed pawn stands on the square, and a king so many of its moves away from the square
    in front of the pawn."""
    pawns, n = passed(position), 0
    own = lsb(position.roles[KING] & position.colors[OWN])
    enemy = lsb(position.roles[KING] & position.colors[ENEMY])
    while pawns:
        square = lsb(pawns)
        pawns &= pawns - ONE
        out[n] = distance(own, square + 8) * 48 + square - 8
        out[n + 1] = (8 + distance(enemy, square + 8)) * 48 + square - 8
        n += 2
    return n


WAYS = Concept(
    "WAYS", ("taken by an own piece", "taken by an enemy piece", "attacked", "free"), "{}"
)


@computed("PASSED_WAY", WAYS, PAWN_RANKS, FILES, at_most=8)
def passed_way(position, out):
    """An own passed pawn stands on the square, and the square in front of it is taken by an own
    piece, by an enemy piece, empty and attacked by an enemy piece, or empty and free."""
    pawns = passed(position)
    if not pawns:
        return 0
    own, enemy = position.colors[OWN] >> EIGHT, position.colors[ENEMY] >> EIGHT
    attacked = control.attacked_by(position, ENEMY) >> EIGHT
    n = write_squares(out, 0, pawns & own, -8)
    n = write_squares(out, n, pawns & enemy, 48 - 8)
    pawns &= ~(own | enemy)
    n = write_squares(out, n, pawns & attacked, 2 * 48 - 8)
    return write_squares(out, n, pawns & ~attacked, 3 * 48 - 8)


PLACES = Concept("PLACES", ("behind an own pawn", "not behind an own pawn"), "{}")
SPACE_RANKS = Concept("RANKS", RANKS.values[1:4])
SPACE_FILES = Concept("CENTRAL FILES", FILES.values[2:6])
SPACE = np.uint64(0x3C3C3C00)  # files c to f, ranks 2 to 4


@computed("SPACE", PLACES, SPACE_RANKS, SPACE_FILES, at_most=12, changed=pawns_moved)
def space(position, out):
    """The square, on files c to f and ranks 2 to 4, has no own pawn on it and no enemy pawn attacks
    it; behind an own pawn on its file, or not."""
    own = pawns_of(position, OWN)
    squares = SPACE & ~own & ~attacked_downwards(pawns_of(position, ENEMY))
    rear, n = behind(own), 0
    while squares:
        square = lsb(squares)
        bit = squares & (~squares + ONE)
        squares ^= bit
        out[n] = 12 * (rear & bit == 0) + 4 * ((square >> 3) - 1) + (square & 7) - 2
        n += 1
    return n
