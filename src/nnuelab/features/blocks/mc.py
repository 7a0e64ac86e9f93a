"""MC: to how many squares the pieces of each role and colour can move."""

from nnuelab.features.kinds.attacks import MOBILITY, Section, safe_moves, square_count

SQUARES = Section(("can move to", "square"), most=(8, 15, 16, 25, 25, 8))


@square_count("MC", SQUARES, source=MOBILITY)
def mobility_counts(square, pieces):
    """The pieces of role r and colour c together can move to m squares."""
    return safe_moves(square, pieces)
