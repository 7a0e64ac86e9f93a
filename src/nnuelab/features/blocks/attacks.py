"""Blocks about what pieces attack and where they can move.

Moves are those of the study: a pawn takes enemy pieces and steps forward by one square.
"""

from nnuelab.features import (
    KING,
    KNIGHT,
    QUEEN,
    ROOK,
    Section,
    attackers,
    attacks,
    moves,
    piece_target,
    safe_moves,
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
