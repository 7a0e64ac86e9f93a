"""MB: to which squares the pieces of each role and colour can move."""

from nnuelab.features.kinds.attacks import MOBILITY, safe_moves, square_set


@square_set("MB", "can move to", MOBILITY)
def mobility(square, pieces):
    """A piece of role r and colour c can move to the square without leaving its king attacked."""
    return safe_moves(square, pieces)
