"""AC: how many squares the pieces of each role and colour attack, and how many enemies them."""

from nnuelab.features import KING, KNIGHT, QUEEN, ROOK
from nnuelab.features.kinds.attacks import (
    ATTACKED_AND_ATTACKERS,
    Section,
    attackers,
    attacks,
    square_count,
)

# The most that the pieces of the starting position attack on an empty board, and what no piece
# attacks: a knight or rook attacks two squares at least, a queen three, a king 3, 5 or 8.
ATTACKED = Section(
    ("attacking", "square"),
    most=(14, 16, 26, 26, 27, 8),
    never=frozenset(
        {(KNIGHT, 1), (ROOK, 1), (QUEEN, 1), (QUEEN, 2), *((KING, n) for n in (0, 1, 2, 4, 6, 7))}
    ),
)
ATTACKERS = Section(("attacked by", "piece"), most=(7, 7, 7, 7, 7, 7))


@square_count("AC", ATTACKED, ATTACKERS, source=ATTACKED_AND_ATTACKERS)
def attack_counts(square, pieces):
    """The pieces of role r and colour c attack m squares together; n enemy pieces attack them."""
    return attacks(square, pieces), attackers(square, pieces)
