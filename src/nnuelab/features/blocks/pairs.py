"""Blocks about two pieces on two squares: pawn pairs PP, and TOPK(k, file).

``nnuelab features topk DATA -k N --output FILE`` makes the list of TOPK. Nets carry it inside.
"""

from itertools import combinations, product

from nnuelab.features import (
    ENEMY,
    OWN,
    PAWN,
    SQUARES,
    File,
    Number,
    family,
    listed_pairs,
    piece_pairs,
    rank_of,
)


@piece_pairs("PP")
def pawn_pairs():
    """Two pawns, own or enemy ones, stand on two squares."""
    squares = [square for square in range(SQUARES.size) if rank_of(square) not in (0, 7)]
    pawns = [(PAWN, color, square) for color, square in product((OWN, ENEMY), squares)]
    return [(one, other) for one, other in combinations(pawns, 2) if one[2] != other[2]]


@family("TOPK", Number("k", range(1, 100_001)), File("file"), examples=("TOPK(512,pairs.csv)",))
def top_pairs(k, file):
    """Two pieces stand on two squares, one of the k pairs at the head of the list."""
    return listed_pairs(k, file)
