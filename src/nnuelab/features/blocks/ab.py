"""AB: which squares the pieces of each role and colour attack."""

from nnuelab.features.kinds.attacks import ATTACKED, attacks, square_set


@square_set("AB", "attacks", ATTACKED)
def attack_sets(square, pieces):
    """A piece of role r and colour c attacks the square, whatever stands there."""
    return attacks(square, pieces)
