"""Blocks about what pieces attack and where they can move.

FULL_THREATS(n) are the threats of Stockfish's net SFNNv<n>, by official-stockfish/Stockfish pull
requests 6593 (11: nothing that attacks a king), 6609 (12: nothing that a king attacks) and 6982
(16: no pawns that attack pawns; PP_3WIDE has them).

Moves are those of the study: a pawn takes enemy pieces and steps forward by one square.
"""

import numpy as np

from nnuelab.features import (
    BISHOP,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    Number,
    Section,
    attackers,
    attacks,
    family,
    moves,
    piece_target,
    safe_moves,
    selected,
    square_count,
    square_set,
)


@square_set("AB", "attacks")
def attack_sets(square, pieces):
    """A piece of role r and colour c attacks the square, whatever stands there."""
    return attacks(square, pieces)


# The most that the pieces of the starting position attack on an empty board, and what no piece
# attacks: a knight or rook attacks two squares at least, a queen three, a king 3, 5 or 8.
ATTACKED = Section(
    ("attacking", "square"),
    most=(14, 16, 26, 26, 27, 8),
    never=frozenset(
        {(KNIGHT, 1), (ROOK, 1), (QUEEN, 1), (QUEEN, 2), *((KING, n) for n in (0, 1, 2, 4, 6, 7))}
    ),
)
ATTACKERS = Section(("attacked by", "piece"), most=(7, 7, 7, 7, 7, 7))


@square_count("AC", ATTACKED, ATTACKERS)
def attack_counts(square, pieces):
    """The pieces of role r and colour c attack m squares together; n enemy pieces attack them."""
    return attacks(square, pieces), attackers(square, pieces)


@square_set("MB", "can move to")
def mobility(square, pieces):
    """A piece of role r and colour c can move to the square without leaving its king attacked,
    whoever's turn it is; double pawn steps, en passant and castling are never active."""
    return safe_moves(square, pieces)


MOVES = Section(("can move to", "square"), most=(8, 15, 16, 25, 25, 8))


@square_count("MC", MOVES)
def mobility_counts(square, pieces):
    """The pieces of role r and colour c together can move to m squares, a square counted once, as
    in MB; double pawn steps, en passant and castling don't count."""
    return safe_moves(square, pieces)


@piece_target("PM", "can move to")
def piece_moves(square, pieces):
    """A piece of role r and colour c on a square can move to another, checks and pins aside; double
    pawn steps, en passant and castling are never active."""
    return moves(square, pieces)


@piece_target("TH", "defends", "attacks")
def threats(square, pieces):
    """A piece of role r and colour c on a square attacks or defends another piece on another; the
    defence of the own king, and what a king does to the other, are left out."""
    return attacks(square, pieces) & pieces.keys()


# What a piece of each role attacks that counts. A pawn that attacks a bishop is attacked by it, and
# so is a bishop or rook that attacks a queen: of the two threats only one is there.
FOUR = (PAWN, KNIGHT, BISHOP, ROOK)
THREATENED = {
    PAWN: (PAWN, KNIGHT, ROOK),
    KNIGHT: (*FOUR, QUEEN),
    BISHOP: FOUR,
    ROOK: FOUR,
    QUEEN: (*FOUR, QUEEN),
    KING: (),
}
OF_VERSION: dict[int, dict[int, tuple[int, ...]]] = {
    11: {KING: FOUR},
    12: {KING: ()},
    16: {PAWN: (KNIGHT, ROOK)},
}


@family(
    "FULL_THREATS",
    Number("n", tuple(OF_VERSION)),
    examples=("FULL_THREATS(11)", "FULL_THREATS(12)", "FULL_THREATS(16)"),
)
def full_threats(n):
    """A piece on a square attacks or defends another, as in Stockfish's SFNNv<n>: the board is
    mirrored when the own king stands on files e to h, threats that imply each other are there once,
    kings are never attacked, and attack from 11 on to 12, pawns attack pawns before 16."""
    threatened = THREATENED | OF_VERSION[n]
    (found,) = threats.tuples()
    role, color, square, victim, side, target = found.values.T
    kept = np.array([victim in threatened[role] for role, victim in zip(role, victim, strict=True)])
    # Pieces of one role attack each other: the threat from the higher square is the one.
    both = (role == victim) & ((role != PAWN) | (color != side))
    return selected(threats, kept & (~both | (square > target)), mirrored=True)
