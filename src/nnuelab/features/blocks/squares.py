"""Blocks about one piece on its square.

ALL is the usual input of a chess NNUE. KING is a factor for products with any other block. YACGE
has what stands on a square by colour and by role, apart: 512 features instead of 768.
"""

from nnuelab.features import (
    COLORS,
    FILES,
    KING,
    OWN,
    RANKS,
    ROLES,
    ROLES_BUT_KING,
    SQUARES,
    Concept,
    file_of,
    named,
    piece_square,
    rank_of,
)


@piece_square("ALL", FILES, RANKS, ROLES, COLORS, aliases=("HV", "PIECE", "CHESS768"))
def all_squares(square, role, color):
    """A piece of role r and colour c stands on the square."""
    return file_of(square), rank_of(square), role, color


@piece_square("KING", SQUARES)
def king(square, role, color):
    """The own king stands on the square."""
    return square if role == KING and color == OWN else None


@piece_square("OWN", ROLES, RANKS, FILES)
def own_piece(square, role, color):
    """An own piece of role r stands on the square."""
    return (role, rank_of(square), file_of(square)) if color == OWN else None


MEN = Concept("ROLES", ROLES_BUT_KING.values, "")


@piece_square("MEN", MEN, RANKS, FILES)
def own_man(square, role, color):
    """An own piece of role r, but the king, stands on the square."""
    if color == OWN and role != KING:
        return role, rank_of(square), file_of(square)
    return None


@piece_square("SC", SQUARES, COLORS)
def square_color(square, role, color):
    """A piece of colour c stands on the square."""
    return square, color


@piece_square("SR", SQUARES, ROLES)
def square_role(square, role, color):
    """A piece of role r, of whatever colour, stands on the square."""
    return square, role


yacge = named(
    "YACGE",
    square_color + square_role,
    "A piece of colour c stands on the square; a piece of role r stands on the square.",
)
