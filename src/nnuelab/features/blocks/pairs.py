"""Blocks about two pieces on two squares: pawn pairs PP and PP_3WIDE, and TOPK(k, file).

PP_3WIDE are the pawn pairs of Stockfish's net SFNNv16 (official-stockfish/Stockfish, pull request
6982), after Pawnocchio's.

``nnuelab features topk DATA -k N --output FILE`` makes the list of TOPK. Nets carry it inside.
"""

from itertools import combinations, product

import numpy as np

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
    selected,
    selection,
)


@piece_pairs("PP")
def pawn_pairs():
    """Two pawns, own or enemy ones, stand on two squares."""
    squares = [square for square in range(SQUARES.size) if rank_of(square) not in (0, 7)]
    pawns = [(PAWN, color, square) for color, square in product((OWN, ENEMY), squares)]
    return [(one, other) for one, other in combinations(pawns, 2) if one[2] != other[2]]


pp_3wide = selection(
    "PP_3WIDE",
    __file__,
    selected(
        pawn_pairs,
        abs(np.diff(pawn_pairs.pairs % 8)[:, 0]) <= 1,
        mirrored=True,
    ),
    "Two pawns, own or enemy ones, stand on two squares of one file or of files side by side; the "
    "board is mirrored when the own king stands on files e to h.",
)


@family("TOPK", Number("k", range(1, 100_001)), File("file"), examples=("TOPK(512,pairs.csv)",))
def top_pairs(k, file):
    """Two pieces stand on two squares, one of the k pairs at the head of the list."""
    return listed_pairs(k, file)
