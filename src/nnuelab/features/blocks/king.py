"""KING: where the own king stands; a factor for products with any other block."""

from nnuelab.features import KING, OWN, SQUARES, piece_square


@piece_square("KING", SQUARES)
def king(square, role, color):
    """The own king stands on the square."""
    return square if role == KING and color == OWN else None
