"""Blocks about neighbours on a line, numbered as in the study: PH, PV, PD1, PD2."""

from nnuelab.features import (
    COLORS_ENEMY_FIRST,
    DIAGS1,
    DIAGS2,
    FILES,
    RANKS,
    ROLES,
    neighbours,
)


@neighbours("PH", RANKS, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=RANKS)
def on_rank(line, role, color, other_role, other_color):
    """On rank k, piece 1 stands left of piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color


@neighbours("PV", FILES, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=FILES)
def on_file(line, role, color, other_role, other_color):
    """On file f, piece 1 stands below piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color


@neighbours("PD1", DIAGS1, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=DIAGS1)
def on_diagonal1(line, role, color, other_role, other_color):
    """On falling diagonal d, piece 1 stands left of piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color


@neighbours("PD2", DIAGS2, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=DIAGS2)
def on_diagonal2(line, role, color, other_role, other_color):
    """On rising diagonal d, piece 1 stands left of piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color
