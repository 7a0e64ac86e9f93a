"""What features are made of: the basic concepts of the study and the geometry behind them.

Everything here is seen from one player's *perspective*: rank 1 is the player's own first rank,
colour 0 is the player's own and 1 the enemy's. (For Black the board is turned over, square ^ 56;
files are not mirrored.) See M. E. Lombardo, "Feature set analysis for chess NNUE networks" (2024).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

# Numbered as in nnuelab.chess.position, which is not imported: a definition needs no compiled code.
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
OWN, ENEMY = range(2)

ROLE_NAMES = ("pawn", "knight", "bishop", "rook", "queen", "king")
COLOR_NAMES = ("own", "enemy")


def file_of(square: int) -> int:
    """File 0..7 (a..h) of a square 0..63 (a1, b1, ..., h8)."""
    return square % 8


def rank_of(square: int) -> int:
    """Rank 0..7 (1..8) of a square 0..63."""
    return square // 8


def diagonal1_of(square: int) -> int:
    """Falling diagonal 0..14 of a square: file + rank, so a8-h1 is 7."""
    return file_of(square) + rank_of(square)


def diagonal2_of(square: int) -> int:
    """Rising diagonal 0..14 of a square: file + 7 - rank, so a1-h8 is 7."""
    return file_of(square) + 7 - rank_of(square)


@dataclass(frozen=True)
class Concept:
    """A finite set of values that features are indexed by.

    Parameters
    ----------
    name : str
        Plural, upper case: ``FILES``.
    values : tuple of str
        Name of each value, as it reads in "own pawn on ...".
    phrase : str
        How a value reads where "on" is wrong; empty when the piece's own name says it.

    Raises
    ------
    ValueError
        When there is no value.
    """

    name: str
    values: tuple[str, ...]
    phrase: str = "on {}"

    def __post_init__(self) -> None:
        if not self.values:
            raise ValueError(f"the concept {self.name} has no values")

    @property
    def size(self) -> int:
        return len(self.values)


SQUARES = Concept("SQUARES", tuple(file + rank for rank in "12345678" for file in "abcdefgh"))


def _diagonals(diagonal_of: Callable[[int], int]) -> tuple[str, ...]:
    names = []
    for diagonal in range(15):
        line = sorted((s for s in range(64) if diagonal_of(s) == diagonal), key=file_of)
        ends = [SQUARES.values[line[0]], SQUARES.values[line[-1]]]
        names.append("diagonal " + "-".join(dict.fromkeys(ends)))
    return tuple(names)


FILES = Concept("FILES", tuple(f"file {name}" for name in "abcdefgh"))
RANKS = Concept("RANKS", tuple(f"rank {name}" for name in "12345678"))
DIAGS1 = Concept("DIAGS1", _diagonals(diagonal1_of))
DIAGS2 = Concept("DIAGS2", _diagonals(diagonal2_of))
ROLES = Concept("ROLES", ROLE_NAMES, "")
ROLES_BUT_KING = Concept("ROLES BUT KING", ROLE_NAMES[:KING], "")
COLORS = Concept("COLORS", COLOR_NAMES, "")
COLORS_ENEMY_FIRST = Concept("COLORS", COLOR_NAMES[::-1], "")  # own 1: the study's pairs
KING_SQUARES = Concept("KING SQUARES", SQUARES.values, "with the own king on {}")


def stride_index(concepts: tuple[Concept, ...], values: Any) -> int:
    """The index of a tuple of concept values.

    Raises
    ------
    ValueError
        When there is not one value for each concept, within its range.
    """
    if not isinstance(values, tuple):
        values = (values,)
    if len(values) != len(concepts):
        wanted = ", ".join(concept.name for concept in concepts)
        raise ValueError(f"returned {values}, not one value for each of {wanted}")
    index = 0
    for concept, value in zip(concepts, values, strict=True):
        if not isinstance(value, Integral) or not 0 <= int(value) < concept.size:
            raise ValueError(f"{value!r} is not a value of {concept.name} (0..{concept.size - 1})")
        index = index * concept.size + int(value)
    return index
