"""Sources: squares that a piece has to do with, in plain Python and jitted by the same name.

Their jitted twins stand in :mod:`nnuelab.features.kernels.sources`; how definitions are made of
them, :mod:`nnuelab.features.kinds.tracing` says.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from nnuelab.features.concepts import (
    BISHOP,
    KING,
    KNIGHT,
    OWN,
    PAWN,
    QUEEN,
    ROOK,
    file_of,
    rank_of,
)
from nnuelab.features.kinds.tracing import Board, Pieces, of_side, source
from nnuelab.features.records import MOST_PIECES

MOST_PAIRS = 600
"""Bound of the pairs of a piece and a square that it attacks or can go to, in any position.

A square is reached from each of eight directions at most once, which makes 512 pairs, and no piece
has more than 27 of them. A knight adds 8 and takes another piece's place: with 11 of them there
can be 512 + 88, with 12 and two kings no more than 18 * 27 + 2 * 8 + 12 * 8 = 598.
"""

VALUES = (1, 3, 3, 5, 9, 100)
"""What pieces are worth by role, for what is of lesser value."""

_STRAIGHT = ((0, 1), (0, -1), (1, 0), (-1, 0))  # files and ranks of a step
_DIAGONAL = ((1, 1), (-1, -1), (1, -1), (-1, 1))
_STEPS = {
    KNIGHT: ((1, 2), (2, 1), (2, -1), (1, -2), (-1, -2), (-2, -1), (-2, 1), (-1, 2)),
    BISHOP: _DIAGONAL,
    ROOK: _STRAIGHT,
    QUEEN: _STRAIGHT + _DIAGONAL,
    KING: _STRAIGHT + _DIAGONAL,
}


@cache
def _rays(role: int, color: int, square: int) -> tuple[tuple[int, ...], ...]:
    """The squares that a piece attacks on an empty board, by direction, the nearest first."""
    forward = 1 if color == OWN else -1
    steps = ((1, forward), (-1, forward)) if role == PAWN else _STEPS[role]
    times = 7 if role in (BISHOP, ROOK, QUEEN) else 1
    file, rank = file_of(square), rank_of(square)
    return tuple(
        tuple(
            file + i * step[0] + 8 * (rank + i * step[1])
            for i in range(1, times + 1)
            if 0 <= file + i * step[0] < 8 and 0 <= rank + i * step[1] < 8
        )
        for step in steps
    )


def _attack_reach(role: int, color: int, square: int) -> set[int]:
    return attacked_by(role, color, square, {})


def _move_reach(role: int, color: int, square: int) -> set[int]:
    step = {square + (8 if color == OWN else -8)} if role == PAWN else set()
    return attacked_by(role, color, square, {}) | step


def _anywhere(role: int, color: int, square: int) -> range:
    return range(64)


def _own_square(role: int, color: int, square: int) -> tuple[int]:
    return (square,)


def attacked_by(role: int, color: int, square: int, pieces: Pieces) -> set[int]:
    """Squares that such a piece on ``square`` attacks, whatever stands there, pins aside."""
    found = set()
    for ray in _rays(role, color, square):
        for target in ray:
            found.add(target)
            if target in pieces:
                break
    return found


@source(reach=_attack_reach, most=MOST_PAIRS)
def attacks(square: int, pieces: Pieces) -> set[int]:
    """Squares that the piece on ``square`` attacks, whatever stands there, pins aside."""
    return attacked_by(*pieces[square], square, pieces)


@source(reach=_anywhere, most=MOST_PAIRS)
def attackers(square: int, pieces: Pieces) -> set[int]:
    """Squares of the enemy's pieces that attack the piece on ``square``."""
    color = pieces[square][1]
    return {s for s in pieces if pieces[s][1] != color and square in attacks(s, pieces)}


@source(reach=_move_reach, most=MOST_PAIRS)
def moves(square: int, pieces: Pieces) -> set[int]:
    """Squares that the piece on ``square`` could go to, the safety of its king aside.

    The study's rule: pawns take enemy pieces, though not en passant, and advance by one square
    only; there is no castling.
    """
    role, color = pieces[square]
    targets = attacks(square, pieces)
    if role == PAWN:
        targets &= pieces.keys()
        targets |= {square + (8 if color == OWN else -8)} - pieces.keys()
    return {t for t in targets if t not in pieces or pieces[t][1] != color}


@source(reach=_move_reach, most=MOST_PAIRS)
def safe_moves(square: int, pieces: Pieces) -> set[int]:
    """The moves of the piece on ``square`` that don't leave its king attacked."""
    color = pieces[square][1]
    found = set()
    for target in moves(square, pieces):
        after = {s: piece for s, piece in pieces.items() if s != square}
        after[target] = pieces[square]
        king = next(s for s, piece in after.items() if piece == (KING, color))
        if not _is_attacked(king, color, after):
            found.add(target)
    return found


def _is_attacked(square: int, color: int, pieces: Pieces) -> bool:
    """Whether an enemy of ``color`` attacks a square: one that its own role would attack thence."""
    return any(
        pieces.get(other) == (role, 1 - color)
        for role in range(6)
        for other in attacked_by(role, color, square, pieces)
    )


@source(reach=_attack_reach, most=MOST_PAIRS)
def xrays(square: int, pieces: Pieces) -> set[int]:
    """Squares that the slider on ``square`` attacks behind the first piece on its way."""
    found = set()
    role, color = pieces[square]
    for ray in _rays(role, color, square) if role in (BISHOP, ROOK, QUEEN) else ():
        between = 0
        for target in ray:
            if between == 1:
                found.add(target)
            between += target in pieces
            if between == 2:
                break
    return found


@source(reach=_own_square, most=MOST_PIECES)
def standing(square: int, pieces: Pieces) -> set[int]:
    """The square itself."""
    return {square}


@source(reach=_own_square, most=MOST_PIECES)
def pinned(square: int, pieces: Pieces) -> set[int]:
    """The square itself, if the piece there alone keeps an enemy slider from its king."""
    color = pieces[square][1]
    without = {s: piece for s, piece in pieces.items() if s != square}
    king = next(s for s, piece in pieces.items() if piece == (KING, color))
    sliders = {
        s
        for s, (role, c) in without.items()
        if c != color and role in (BISHOP, ROOK, QUEEN) and king in attacks(s, without)
    }
    return {square} if any(king not in attacks(s, pieces) for s in sliders) else set()


def _double_reach(role: int, color: int, square: int) -> list[int]:
    first = role == PAWN and rank_of(square) == (1 if color == OWN else 6)
    return [square + (16 if color == OWN else -16)] if first else []


@source(reach=_double_reach, most=MOST_PIECES)
def double_steps(square: int, pieces: Pieces) -> set[int]:
    """The square that the pawn on ``square`` reaches by its first, double step."""
    role, color = pieces[square]
    forward = 8 if color == OWN else -8
    first = role == PAWN and rank_of(square) == (1 if color == OWN else 6)
    free = first and not {square + forward, square + 2 * forward} & pieces.keys()
    return {square + 2 * forward} if free else set()


def _castled_reach(role: int, color: int, square: int) -> list[int]:
    there = role == KING and square == (4 if color == OWN else 60)
    return [square - 2, square + 2] if there else []


@source(reach=_castled_reach, most=4)
def castling(square: int, pieces: Board) -> set[int]:
    """Squares that the king on ``square`` reaches by castling, which it has the right to."""
    role, color = pieces[square]
    rights = pieces.castling >> 2 * color
    if role != KING or not rights & 3:
        return set()
    found = set()
    for side, (passed, empty) in enumerate(((range(3), (1, 2)), (range(0, -3, -1), (-1, -2, -3)))):
        free = not any(square + i in pieces for i in empty)
        safe = not any(_is_attacked(square + i, color, pieces) for i in passed)
        if rights >> side & 1 and free and safe:
            found.add(square + passed[2])
    return found


# What is made of them ----------------------------------------------------------------------------


def lesser_roles(role: int) -> list[int]:
    """Roles of pieces that are worth less."""
    return [other for other in range(6) if VALUES[other] < VALUES[role]]


def attacked_by_lesser(square: Any, pieces: Any) -> Any:
    """Squares that the enemy's pieces of lesser value attack."""
    role, color = pieces[square]
    lesser = lesser_roles(role)
    return of_side(attacks, pieces, 1 - color, *lesser) if lesser else set()


def king_zone(pieces: Any, color: int) -> Any:
    """The king's square of a colour, and those around it."""
    return of_side(attacks, pieces, color, KING) | of_side(standing, pieces, color, KING)
