"""PV: pairs of neighbours on each file, indexed as in the study."""

from nnuelab.features import COLORS_ENEMY_FIRST, FILES, ROLES, neighbours


@neighbours("PV", FILES, ROLES, COLORS_ENEMY_FIRST, ROLES, COLORS_ENEMY_FIRST, along=FILES)
def on_file(line, role, color, other_role, other_color):
    """On file f, piece 1 stands below piece 2 and no piece stands between them."""
    return line, role, 1 - color, other_role, 1 - other_color
