"""The feature block NAME: a beginning, to be edited."""

from nnuelab.features import COLORS, ROLES, Concept, file_of, piece_square, rank_of

# What a feature says beside role and colour: the name of the concept, and those of its values.
RINGS = Concept("RINGS", ("the rim", "the second ring", "the third ring", "the centre"))


@piece_square("NAME", RINGS, ROLES, COLORS)
def block(square, role, color):
    """A piece of role r and colour c stands on a ring of squares around the centre."""
    file, rank = file_of(square), rank_of(square)
    return min(file, 7 - file, rank, 7 - rank), role, color
