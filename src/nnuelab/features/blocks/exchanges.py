"""Blocks about enemy pieces that can be won: attacked by lesser ones, undefended, within a step."""

import numpy as np

from nnuelab.chess import control
from nnuelab.chess.pawns import attacked_downwards, attacked_upwards, pawns_of
from nnuelab.features import (
    ENEMY,
    KING,
    KNIGHT,
    OWN,
    PAWN,
    QUEEN,
    ROLES,
    ROOK,
    SQUARES,
    Concept,
    computed,
)
from nnuelab.features.kernels.writing import write_squares

EIGHT, RANK_3 = np.uint64(8), np.uint64(0xFF << 16)
OFFICERS = Concept("ROLES", ROLES.values[KNIGHT:KING], "")
VICTIMS = Concept("ROLES", ROLES.values[PAWN:KING], "")


@computed(
    "THREAT",
    Concept("ATTACKERS", ("a pawn attacks", "a knight or bishop attacks", "a rook attacks"), "{}"),
    OFFICERS,
    SQUARES,
    at_most=3 * 30,
    possible=lambda attacker, victim, square: victim >= (0, 2, 3)[attacker],
)
def threat(position, out):
    """On the square stands an enemy piece of role r, and an own piece of lesser value attacks it: a
    pawn any knight, bishop, rook or queen, a knight or bishop any rook or queen, a rook a queen."""
    enemy = position.colors[ENEMY]
    majors = (position.roles[ROOK] | position.roles[QUEEN]) & enemy
    by_pawns = attacked_upwards(pawns_of(position, OWN)) & enemy
    n = 0
    for role in range(KNIGHT, KING):
        n = write_squares(out, n, by_pawns & position.roles[role], (role - KNIGHT) * 64)
    if majors:
        knights, bishops, rooks, _ = control.attacked_by_officers(position, OWN)
        by_minors = (knights | bishops) & majors
        n = write_squares(out, n, by_minors & position.roles[ROOK], (4 + 2) * 64)
        n = write_squares(out, n, by_minors & position.roles[QUEEN], (4 + 3) * 64)
        n = write_squares(out, n, rooks & majors & position.roles[QUEEN], (8 + 3) * 64)
    return n


@computed("HANGING", VICTIMS, SQUARES, at_most=30)
def hanging(position, out):
    """On the square stands an enemy piece of role r, but a king, which an own piece attacks and no
    enemy piece defends."""
    targets = position.colors[ENEMY] & control.attacked_by(position, OWN)
    targets ^= targets & control.attacked_by(position, ENEMY)
    n = 0
    for role in range(KING):
        n = write_squares(out, n, targets & position.roles[role], role * 64)
    return n


@computed("PUSH_THREAT", OFFICERS, SQUARES, at_most=30)
def push_threat(position, out):
    """On the square stands an enemy knight, bishop, rook or queen, which no own pawn attacks, but
    one could after a step, or its first double step, to a square that no enemy pawn attacks."""
    own, enemy = pawns_of(position, OWN), position.colors[ENEMY]
    empty = ~(position.colors[OWN] | enemy)
    steps = own << EIGHT & empty
    steps |= (steps & RANK_3) << EIGHT & empty
    steps &= ~attacked_downwards(pawns_of(position, ENEMY))
    targets = enemy & attacked_upwards(steps) & ~attacked_upwards(own)
    n = 0
    for role in range(KNIGHT, KING):
        n = write_squares(out, n, targets & position.roles[role], (role - KNIGHT) * 64)
    return n
