"""Whether a move gives check, before it is made. All jitted.

:func:`gives_check` answers for one move. Where many moves of a position are asked for,
:func:`find_checks` computes once what they share and :func:`is_check` looks it up.
"""

import numpy as np

from nnuelab.chess import attacks
from nnuelab.chess.attacks import bit
from nnuelab.chess.moves import CASTLING, EN_PASSANT, PROMOTION, kind, origin, target
from nnuelab.chess.position import BISHOP, KING, KNIGHT, PAWN, QUEEN, ROOK, king_square, sliders
from nnuelab.jit import inline, jit, local_record, lsb

CHECKS = np.dtype(
    [
        ("squares", "u8", 6),  # by role: from which a piece of the side to move checks
        ("uncovering", "u8"),  # own pieces that stand alone between an own slider and the king
        ("king", "i8"),  # square of the other side's king
    ]
)

checks_record = local_record(CHECKS)
"""A record of CHECKS on the stack, to be filled by :func:`find_checks`."""


@jit
def gives_check(position, move):
    """Whether a legal move gives check, direct or discovered."""
    us = np.int64(position.turn)
    start, square, move_kind = origin(move), target(move), kind(move)
    occupied = (position.colors[0] | position.colors[1] | bit(square)) & ~bit(start)
    role = np.int64(position.board[start]) >> 1
    if move_kind >= PROMOTION:
        role = move_kind - PROMOTION + KNIGHT
    elif move_kind == EN_PASSANT:
        occupied ^= bit(square ^ 8)
    elif move_kind == CASTLING:
        role, square = np.int64(ROOK), (start + square) >> 1
    king = king_square(position, us ^ 1)
    from_king = np.uint64(0)  # squares from which a piece of the role attacks the king
    if role == PAWN:
        from_king = attacks.pawn(us ^ 1, king)
    elif role == KNIGHT:
        from_king = attacks.knight(king)
    if role in (BISHOP, QUEEN):
        from_king |= attacks.bishop(king, occupied)
    if role in (ROOK, QUEEN):
        from_king |= attacks.rook(king, occupied)
    if from_king & bit(square):
        return True
    if not attacks.line(king, start) and move_kind != EN_PASSANT:
        return False  # nothing is uncovered
    return position.colors[us] & ~bit(start) & sliders(position, king, occupied) != 0


@inline
def find_checks(position, checks):
    """Fills the record of CHECKS that :func:`is_check` needs of this position."""
    us = np.int64(position.turn)
    own, enemy = position.colors[us], position.colors[us ^ 1]
    king = king_square(position, us ^ 1)
    diagonal = attacks.bishop(king, own | enemy)
    straight = attacks.rook(king, own | enemy)
    checks.king = king
    checks.squares[PAWN] = attacks.pawn(us ^ 1, king)
    checks.squares[KNIGHT] = attacks.knight(king)
    checks.squares[BISHOP] = diagonal
    checks.squares[ROOK] = straight
    checks.squares[QUEEN] = diagonal | straight
    checks.squares[KING] = 0
    # Own sliders that would check if there were none of the own pieces between.
    snipers = own & sliders(position, king, enemy)
    uncovering = np.uint64(0)
    while snipers:
        sniper = lsb(snipers)
        snipers &= snipers - np.uint64(1)
        between = attacks.between(king, sniper) & own
        if between & (between - np.uint64(1)) == 0:
            uncovering |= between
    checks.uncovering = uncovering


@inline
def is_check(position, checks, move):
    """:func:`gives_check` of a legal move, by the position's record of CHECKS."""
    if kind(move) >= CASTLING:
        return gives_check(position, move)
    start, square = origin(move), target(move)
    role = np.int64(position.board[start]) >> 1
    if checks.squares[role] & bit(square):
        return True
    return checks.uncovering & bit(start) != 0 and not attacks.line(checks.king, start) & bit(
        square
    )
