"""YACGE: what stands on a square by colour and by role, apart; 512 features instead of 768."""

from nnuelab.features import COLORS, ROLES, SQUARES, named, piece_square


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
