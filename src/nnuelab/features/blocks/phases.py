"""PHASE(n, EXPR): any feature set, with features of its own in each phase of the game."""

from nnuelab.features import (
    Expression,
    Number,
    family,
    phases,
)


@family(
    "PHASE",
    Number("n", range(2, 32)),
    Expression("EXPR"),
    examples=("PHASE(4,ALL+H)", "PHASE(3,KB(4)+PH)"),
)
def phase(n, parts):
    """The number of pieces on the board, 2 to 32, is in range i of n, and the feature is active."""
    return phases(n, parts)
