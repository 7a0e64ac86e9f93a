"""Fills against python-chess and against our own tables, on boards that no game has."""

from __future__ import annotations

import chess
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nnuelab.chess import attacks, fills
from nnuelab.jit import jit

boards = st.integers(0, 2**64 - 1)
few = st.sets(st.integers(0, 63), max_size=8).map(lambda squares: sum(1 << s for s in squares))


@jit
def sliders(straight, diagonal, empty):
    return fills.sliders(straight, diagonal, empty)


@jit
def knights(squares):
    return fills.knights(squares)


@jit
def checks_and_pins(king, own, straight, diagonal, empty):
    return fills.checks_and_pins(king, own, straight, diagonal, empty)


def union(pieces: int, piece_type: chess.PieceType, occupied: int) -> int:
    """What such pieces attack together, says python-chess."""
    board = chess.Board.empty()
    for square in chess.scan_forward(occupied):
        board.set_piece_at(square, chess.Piece(chess.PAWN, chess.WHITE))
    attacked = 0
    for square in chess.scan_forward(pieces):
        there = board.copy(stack=False)
        there.set_piece_at(square, chess.Piece(piece_type, chess.WHITE))
        attacked |= int(there.attacks(square))
    return attacked


@given(few, few, boards, boards)
def test_sliders_attack_what_each_of_them_attacks(straight, diagonal, one, other):
    occupied = one & other | straight | diagonal
    found = sliders(*map(np.uint64, (straight, diagonal, ~occupied % 2**64)))
    assert found[0] == union(straight, chess.ROOK, occupied)
    assert found[1] == union(diagonal, chess.BISHOP, occupied)


@given(boards)
def test_knights_attack_what_each_of_them_attacks(squares):
    found = knights(np.uint64(squares))
    assert found == union(squares, chess.KNIGHT, 0)


@given(st.integers(0, 63), few, few, few)
def test_a_shield_is_what_uncovers_a_check_when_it_is_gone(king, own, straight, diagonal):
    """By taking each own piece off the board."""
    alone = 1 << king
    own &= ~alone
    straight, diagonal = (pieces & ~alone & ~own for pieces in (straight, diagonal))
    occupied = alone | own | straight | diagonal

    def checkers(occupied: int) -> int:
        blocked = np.uint64(occupied)
        return int(attacks.rook(king, blocked)) & straight | (
            int(attacks.bishop(king, blocked)) & diagonal
        )

    pinned = sum(
        1 << square
        for square in chess.scan_forward(own)
        if checkers(occupied & ~(1 << square)) != checkers(occupied)
    )
    given = (alone, own | alone, straight, diagonal, ~occupied % 2**64)
    assert checks_and_pins(*map(np.uint64, given)) == (checkers(occupied), pinned)
