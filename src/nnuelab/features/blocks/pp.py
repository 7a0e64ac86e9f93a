"""PP: pawn pairs, the pawn structure as far as two pawns tell it."""

from itertools import combinations, product

from nnuelab.features import ENEMY, OWN, PAWN, SQUARES, piece_pairs, rank_of


@piece_pairs("PP")
def pawn_pairs():
    """Two pawns, own or enemy ones, stand on two squares."""
    squares = [square for square in range(SQUARES.size) if rank_of(square) not in (0, 7)]
    pawns = [(PAWN, color, square) for color, square in product((OWN, ENEMY), squares)]
    return [(one, other) for one, other in combinations(pawns, 2) if one[2] != other[2]]
