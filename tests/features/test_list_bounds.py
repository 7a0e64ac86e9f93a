"""Lists of features have room for any position: the constants follow from the board's geometry."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from nnuelab.chess import notation
from nnuelab.features import KING, KNIGHT, QUEEN, check, parse
from nnuelab.features.kinds.piece_target import MOST_THREATS
from nnuelab.features.kinds.sources import MOST_PAIRS, attacked_by, moves
from nnuelab.features.legality import LEGAL_PLACES
from nnuelab.features.records import MOST_PIECES

PLACES = [
    (int(piece) // 2, int(piece) % 2, int(square)) for piece, square in np.argwhere(LEGAL_PLACES)
]
"""Role, side and square."""
DIRECTIONS = [step for step in product((-1, 0, 1), repeat=2) if step != (0, 0)]
MOST = (3, 8, 13, 14, 27, 8)
"""By role, squares that a piece attacks or can go to; a pawn two to take on and one to step to."""


def ray(square: int, step: tuple[int, int]) -> list[int]:
    """Squares from one, which isn't among them, to the edge."""
    file, rank = square % 8, square // 8
    found = [(file + i * step[0], rank + i * step[1]) for i in range(1, 8)]
    return [x + 8 * y for x, y in found if 0 <= x < 8 and 0 <= y < 8]


def reached(role: int, side: int, square: int) -> set[int]:
    """What a piece attacks, or could go to, on an empty board."""
    alone = {square: (role, side)}
    return attacked_by(role, side, square, alone) | moves(square, alone)


def test_no_piece_has_more_squares() -> None:
    most = [0] * 6
    for role, *where in PLACES:
        most[role] = max(most[role], len(reached(role, *where)))
    assert tuple(most) == MOST


def test_from_each_direction_one_piece_reaches_a_square() -> None:
    """But knights; on every line to every square, with every choice of squares that are taken."""
    for square, step in product(range(64), DIRECTIONS):
        line = ray(square, step)
        for n in range(len(line) + 1):
            for taken in combinations(line, n):
                pieces = dict.fromkeys(taken, (QUEEN, 0))
                reach = [s for s in taken if square in attacked_by(QUEEN, 0, s, pieces)]
                assert reach == list(taken[:1])
    for role, side, square in PLACES:
        # All others go a queen's ways, so no further than the first piece.
        assert role == KNIGHT or reached(role, side, square) <= reached(QUEEN, side, square)


def test_pairs_of_pieces_and_squares_are_bounded_whatever_the_number_of_knights() -> None:
    most = max(
        min(64 * len(DIRECTIONS), (MOST_PIECES - 2 - knights) * MOST[QUEEN] + 2 * MOST[KING])
        + knights * MOST[KNIGHT]
        for knights in range(MOST_PIECES - 1)
    )
    assert most == MOST_PAIRS == parse("PM").max_active


def test_no_piece_attacks_more_than_eight_others() -> None:
    """The first on each of a queen's lines, or those on a knight's squares."""
    assert len(DIRECTIONS) == MOST[KNIGHT] == 8
    assert MOST_THREATS == 8 * MOST_PIECES == parse("TH").max_active


FULLEST = [
    ("PP", "k6K/pppppppp/ppppppp1/8/8/PPPPPPP1/PPPPPPPP/8 w - - 0 1", 435),  # all pairs of 30
    ("TH", "8/2QNK3/1QQQQN2/QQQkQQ2/QQNQQQQ1/Q1QQN3/1QQQ2Q1/2QQ1Q2 b - - 0 1", 193),
    ("PM", "KQQQQQQN/Q5QQ/Q1Q4Q/Q6Q/NQ5Q/kQ5Q/Q6Q/QQQQQQQQ b - - 0 1", 269),
    ("AB", "R6Q/1BBkQBBQ/2BNNN2/Q3R1R1/Q1NB1NK1/1R1B2B1/N1BN3R/1R1Q2QR b - - 0 1", 214),
    ("MB", "Q1R4Q/Bk1QBB1Q/N3NN1B/NR5Q/N1N2K1N/Q5RN/3R3B/BBNBRQ1B b - - 0 1", 137),
]
"""Positions with the most features; but of pawn pairs, the most that annealing has found."""


@pytest.mark.parametrize(("expression", "fen", "n"), FULLEST)
def test_the_fullest_positions_have_room(expression: str, fen: str, n: int) -> None:
    features, position = parse(expression), notation.from_fen(fen)
    for perspective in range(2):
        found = check.extracted(features, position, perspective)
        assert found == check.defined(features, position, perspective)
        assert len(found) == n <= features.max_active
