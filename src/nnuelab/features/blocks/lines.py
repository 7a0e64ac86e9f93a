"""Blocks about the line that one piece stands on: H, V and the diagonals D1, D2."""

from nnuelab.features import (
    COLORS,
    DIAGS1,
    DIAGS2,
    FILES,
    RANKS,
    ROLES,
    diagonal1_of,
    diagonal2_of,
    file_of,
    piece_square,
    rank_of,
)


@piece_square("H", FILES, ROLES, COLORS)
def on_file(square, role, color):
    """A piece of role r and colour c stands on file f."""
    return file_of(square), role, color


@piece_square("V", RANKS, ROLES, COLORS)
def on_rank(square, role, color):
    """A piece of role r and colour c stands on rank k."""
    return rank_of(square), role, color


@piece_square("D1", DIAGS1, ROLES, COLORS)
def on_diagonal1(square, role, color):
    """A piece of role r and colour c stands on falling diagonal d."""
    return diagonal1_of(square), role, color


@piece_square("D2", DIAGS2, ROLES, COLORS)
def on_diagonal2(square, role, color):
    """A piece of role r and colour c stands on rising diagonal d."""
    return diagonal2_of(square), role, color
