"""Static exchange evaluation: what a capture wins when both sides go on taking on its square."""

import numpy as np

from nnuelab.chess import attacks
from nnuelab.chess.attacks import bit
from nnuelab.chess.moves import (
    CASTLING,
    EN_PASSANT,
    LAST_RANKS,
    PROMOTION,
    kind,
    origin,
    target,
)
from nnuelab.chess.position import (
    BISHOP,
    EMPTY,
    KING,
    KNIGHT,
    PAWN,
    QUEEN,
    ROOK,
    attackers,
)
from nnuelab.jit import inline, jit, lsb

VALUES = np.array([100, 300, 300, 500, 900, 0], np.int64)  # by role; the king is never taken


@inline
def victim_value(position, move):
    """Value of what a move takes, 0 when it takes nothing."""
    piece = np.int64(position.board[target(move)])
    if piece != EMPTY:
        return VALUES[piece >> 1]
    return VALUES[PAWN] if kind(move) == EN_PASSANT else np.int64(0)


@inline
def _least_valuable(position, own):
    """Lowest role among the pieces in ``own`` (not empty)."""
    role = 0
    while not position.roles[role] & own:
        role += 1
    return role


@jit
def _answer(position, square, side, prize, occupied):
    """The most that ``side`` wins by taking the ``prize`` on a last rank's square, or leaving it.

    There a pawn that takes becomes a queen, which the quick loop of :func:`see_ge` can't
    say: how much is at stake depends on who takes next.
    """
    own = attackers(position, square, occupied) & occupied & position.colors[side]
    if not own:
        return np.int64(0)
    role = _least_valuable(position, own)
    after = occupied ^ bit(lsb(own & position.roles[role]))
    if role == KING and attackers(position, square, after) & after & position.colors[side ^ 1]:
        return np.int64(0)
    placed = VALUES[role]
    if role == PAWN:
        placed = VALUES[QUEEN]
        prize += VALUES[QUEEN] - VALUES[PAWN]
    return max(np.int64(0), prize - _answer(position, square, side ^ 1, placed, after))


@jit
def see_ge(position, move, threshold):
    """Whether the exchange that a legal ``move`` begins wins at least ``threshold``.

    Each side takes with its least valuable piece and stops when going on would lose. Pins are not
    seen. The usual loop of the field (as in Stockfish and Ethereal): ``balance`` is what the side
    that has just taken keeps if its piece is lost.
    """
    move_kind = kind(move)
    if move_kind == CASTLING:
        return threshold <= 0
    start, square = origin(move), target(move)
    balance = victim_value(position, move) - threshold
    role = np.int64(position.board[start]) >> 1
    if move_kind >= PROMOTION:
        role = move_kind - PROMOTION + KNIGHT
        balance += VALUES[role] - VALUES[PAWN]
    if balance < 0:
        return False
    last_rank = LAST_RANKS & bit(square)
    if balance >= VALUES[role] and not last_rank:
        return True
    occupied = (position.colors[0] | position.colors[1] | bit(square)) & ~bit(start)
    if move_kind == EN_PASSANT:
        occupied ^= bit(square ^ 8)
    diagonal = position.roles[BISHOP] | position.roles[QUEEN]
    straight = position.roles[ROOK] | position.roles[QUEEN]
    everyone = attackers(position, square, occupied) & occupied
    us = np.int64(position.turn)
    side = us ^ 1
    if last_rank and everyone & position.roles[PAWN]:
        return balance >= _answer(position, square, side, VALUES[role], occupied)
    balance -= VALUES[role]
    if balance >= 0:
        return True
    while True:
        own = everyone & position.colors[side]
        if not own:
            break
        role = _least_valuable(position, own)
        occupied ^= bit(lsb(own & position.roles[role]))
        if role in (PAWN, BISHOP, QUEEN):
            everyone |= attacks.bishop(square, occupied) & diagonal
        if role in (ROOK, QUEEN):
            everyone |= attacks.rook(square, occupied) & straight
        everyone &= occupied
        side ^= 1
        balance = -balance - 1 - VALUES[role]
        if balance >= 0:
            # A king may not take what is still defended.
            if role == KING and everyone & position.colors[side]:
                side ^= 1
            break
    return side != us
