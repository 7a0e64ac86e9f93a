"""Blocks about kings: the pawns before the own one, and own pieces around the enemy's."""

import numpy as np

from nnuelab.chess import attacks, control
from nnuelab.chess.pawns import pawns_of
from nnuelab.features import (
    ENEMY,
    FILES,
    KING,
    KNIGHT,
    OWN,
    RANKS,
    ROLES,
    SQUARES,
    Concept,
    computed,
)
from nnuelab.features.kernels.writing import write_squares
from nnuelab.jit import jit, lsb, popcount

ZERO, ONE, EIGHT = np.uint64(0), np.uint64(1), np.uint64(8)
FILE_A = np.uint64(0x0101010101010101)
ALL = ~ZERO
PIECES = Concept("ROLES", ROLES.values[KNIGHT:KING], "")


@jit
def own_king(position):
    return lsb(position.roles[KING] & position.colors[OWN])


@jit
def pawns_or_king_moved(old, new):
    for color in range(2):
        if pawns_of(old, color) != pawns_of(new, color):
            return True
    return own_king(old) != own_king(new)


@jit
def middle_file(king):
    """The file in the middle of the three that shelter a king."""
    return min(max(king & 7, 1), 6)


NEXT_TO = Concept("FILE DISTANCES", ("the king's file", "a file beside the king's"), "{}")
SHIELDS = Concept("SHIELDS", (*RANKS.values[1:7], "no pawn"))


@computed("SHELTER", NEXT_TO, SHIELDS, FILES, at_most=3, changed=pawns_or_king_moved)
def shelter(position, out):
    """Of the own pawns on file f that are not behind the own king, the rearmost stands on rank k,
    or there is none; for the king's file and those beside it, or files a to c and f to h."""
    king = own_king(position)
    middle = middle_file(king)
    pawns = pawns_of(position, OWN) & (ALL << np.uint64(king & 56))
    n = 0
    for file in range(middle - 1, middle + 2):
        column = pawns & (FILE_A << np.uint64(file))
        shield = (lsb(column) >> 3) - 1 if column else 6
        out[n] = ((file != king & 7) * 7 + shield) * 8 + file
        n += 1
    return n


STORMS = Concept("STORMS", ("free", "blocked by a pawn"), "{}")
STORM_RANKS = Concept("RANKS", RANKS.values[1:7])


@computed(
    "STORM",
    STORMS,
    STORM_RANKS,
    FILES,
    at_most=3,
    changed=pawns_or_king_moved,
    possible=lambda storm, rank, file: storm == 0 or rank > 0,
)
def storm(position, out):
    """Of the enemy pawns on file f that are not behind the own king, the foremost stands on rank k,
    an own pawn in front of it or not; for the king's file and those beside it, or files a to c and
    f to h."""
    king = own_king(position)
    middle = middle_file(king)
    own = pawns_of(position, OWN)
    pawns = pawns_of(position, ENEMY) & (ALL << np.uint64(king & 56))
    n = 0
    for file in range(middle - 1, middle + 2):
        column = pawns & (FILE_A << np.uint64(file))
        if column:
            square = lsb(column)
            blocked = own >> np.uint64(square - 8) & ONE
            out[n] = np.int64(blocked) * 48 + square - 8
            n += 1
    return n


@jit
def zone(position):
    """The enemy king's square, those around it, and three more in front of them."""
    king = position.roles[KING] & position.colors[ENEMY]
    around = attacks.king(lsb(king)) | king
    return around | around >> EIGHT


IN_ZONE = Concept("COUNTS", tuple(f"{n} squares" for n in range(1, 10)), "{}")
MOST_IN_ZONE = (3, 4, 5, 9)
"""Squares of a king's zone that a knight, bishop, rook or queen attacks at most."""


@computed(
    "KING_ATTACK",
    PIECES,
    IN_ZONE,
    SQUARES,
    at_most=30,
    possible=lambda role, count, square: count < MOST_IN_ZONE[role],
)
def king_attack(position, out):
    """The own knight, bishop, rook or queen on the square attacks n squares, one at least, of the
    enemy king's zone: his own, those around it, and those in front of these."""
    occupied = position.colors[OWN] | position.colors[ENEMY]
    targets = zone(position)
    n = 0
    for role in range(KNIGHT, KING):
        pieces = position.roles[role] & position.colors[OWN]
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            count = popcount(control.attacks_of(role, square, occupied) & targets)
            if count:
                out[n] = ((role - KNIGHT) * 9 + count - 1) * 64 + square
                n += 1
    return n


ATTACKERS = Concept("COUNTS", (*(f"{n} pieces" for n in range(1, 6)), "6 pieces or more"), "{}")


@computed("KING_ATTACKERS", ATTACKERS, at_most=1)
def king_attackers(position, out):
    """Of the own knights, bishops, rooks and queens n, one at least, attack a square of the enemy
    king's zone: his own, those around it, and those in front of these."""
    occupied = position.colors[OWN] | position.colors[ENEMY]
    targets = zone(position)
    count = 0
    for role in range(KNIGHT, KING):
        pieces = position.roles[role] & position.colors[OWN]
        while pieces:
            square = lsb(pieces)
            pieces &= pieces - ONE
            count += control.attacks_of(role, square, occupied) & targets != 0
    out[0] = min(count, 6) - 1
    return np.int64(count > 0)


@computed("KING_CHECKS", PIECES, SQUARES, at_most=62)
def king_checks(position, out):
    """An own knight, bishop, rook or queen attacks the square, from which it would give check; no
    own piece stands there, and no enemy piece but the king attacks it."""
    king = lsb(position.roles[KING] & position.colors[ENEMY])
    occupied = position.colors[OWN] | position.colors[ENEMY]
    safe = ~(position.colors[OWN] | control.attacked_by_all_but_king(position, ENEMY))
    knights, bishops, rooks, queens = control.attacked_by_officers(position, OWN)
    diagonal = attacks.bishop(king, occupied) & safe
    straight = attacks.rook(king, occupied) & safe
    n = write_squares(out, 0, knights & attacks.knight(king) & safe, 0)
    n = write_squares(out, n, bishops & diagonal, 64)
    n = write_squares(out, n, rooks & straight, 2 * 64)
    return write_squares(out, n, queens & (diagonal | straight), 3 * 64)
