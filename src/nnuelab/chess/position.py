"""A position as one flat record, and the queries on it.

Colours: WHITE 0, BLACK 1. Roles: P N B R Q K = 0..5. Piece code: role * 2 + colour, EMPTY = 12.
"""

import numpy as np

from nnuelab.chess import attacks
from nnuelab.chess.attacks import bit
from nnuelab.jit import inline, jit, lsb, popcount, table

WHITE, BLACK = 0, 1
PAWN, KNIGHT, BISHOP, ROOK, QUEEN, KING = range(6)
EMPTY = 12
NO_SQUARE = 64
# Home squares of king and rook, by bit of the castling right: K, Q, k, q
KING_HOMES, ROOK_HOMES = np.array([4, 4, 60, 60]), np.array([7, 0, 63, 56])

POSITION = np.dtype(
    [
        ("roles", "u8", 6),  # bitboard of each role, both colours
        ("colors", "u8", 2),  # bitboard of each colour
        ("key", "u8"),  # Zobrist
        ("checkers", "u8"),  # enemy pieces that give check to the side to move
        ("pinned", "u8"),  # pieces of the side to move that are pinned to its king
        ("board", "u1", 64),  # piece code on each square
        ("turn", "u1"),
        ("castling", "u1"),  # rights: bits 0-3 K, Q, k, q
        ("ep", "u1"),  # target square of a legal en-passant capture, else NO_SQUARE
        ("halfmove", "u2"),  # plies since the last capture or pawn move
        ("fullmove", "u2"),
    ],
    align=True,
)
"""All that a move needs: 184 bytes, copied when a move is made, so that undo is free."""


def _zobrist() -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.Generator(np.random.PCG64(20241121)).integers(
        0, 1 << 64, 12 * 64 + 16 + 65 + 1, np.uint64
    )
    numbers[12 * 64 + 16 + 64] = 0  # no en-passant square
    pieces = np.zeros((EMPTY + 1, 64), np.uint64)  # 0 where no piece stands
    pieces[:EMPTY] = numbers[: 12 * 64].reshape(12, 64)
    return pieces, numbers[12 * 64 :].copy()


_PIECES, _STATES = _zobrist()
_piece_keys = table("zobrist_pieces", _PIECES)
_state_keys = table("zobrist_states", _STATES)  # 16 castling rights, 65 en-passant squares, turn


@inline
def piece_key(piece, square):
    """Zobrist number of a piece on a square, 0 for EMPTY."""
    return _piece_keys()[piece, square]


@inline
def castling_key(castling):
    """Zobrist number of a set of castling rights."""
    return _state_keys()[castling]


@inline
def ep_key(square):
    """Zobrist number of an en-passant square, 0 for NO_SQUARE."""
    return _state_keys()[16 + square]


@inline
def turn_key():
    """Zobrist number of Black to move."""
    return _state_keys()[81]


@inline
def king_square(position, color):
    """Square of the king of ``color``."""
    return lsb(position.roles[KING] & position.colors[color])


@inline
def sliders(position, square, occupied):
    """Sliders of both colours that attack ``square`` when ``occupied`` squares block."""
    diagonal = position.roles[BISHOP] | position.roles[QUEEN]
    straight = position.roles[ROOK] | position.roles[QUEEN]
    return (attacks.bishop(square, occupied) & diagonal) | (
        attacks.rook(square, occupied) & straight
    )


@inline
def attackers(position, square, occupied):
    """Pieces of both colours that attack ``square`` when ``occupied`` squares block sliders."""
    return (
        (attacks.pawn(BLACK, square) & position.roles[PAWN] & position.colors[WHITE])
        | (attacks.pawn(WHITE, square) & position.roles[PAWN] & position.colors[BLACK])
        | (attacks.knight(square) & position.roles[KNIGHT])
        | (attacks.king(square) & position.roles[KING])
        | sliders(position, square, occupied)
    )


@inline
def is_attacked(position, square, occupied, us):
    """Whether a piece of the other colour attacks ``square`` when ``occupied`` squares block."""
    queens = position.roles[QUEEN]
    return (
        position.colors[us ^ 1]
        & (
            (attacks.pawn(us, square) & position.roles[PAWN])
            | (attacks.knight(square) & position.roles[KNIGHT])
            | (attacks.king(square) & position.roles[KING])
            | (attacks.bishop(square, occupied) & (position.roles[BISHOP] | queens))
            | (attacks.rook(square, occupied) & (position.roles[ROOK] | queens))
        )
        != 0
    )


@inline
def set_checkers(position):
    """Derives ``checkers`` and ``pinned`` of the side to move from the pieces."""
    us = np.int64(position.turn)
    king = king_square(position, us)
    enemy = position.colors[us ^ 1]
    own = position.colors[us]
    checkers = enemy & (
        (attacks.pawn(us, king) & position.roles[PAWN])
        | (attacks.knight(king) & position.roles[KNIGHT])
    )
    pinned = np.uint64(0)
    # Sliders that would give check if there were none of our own pieces between.
    snipers = enemy & sliders(position, king, enemy)
    while snipers:
        sniper = lsb(snipers)
        snipers &= snipers - np.uint64(1)
        blockers = attacks.between(king, sniper) & own
        if blockers == 0:
            checkers |= bit(sniper)
        elif blockers & (blockers - np.uint64(1)) == 0:
            pinned |= blockers
    position.checkers = checkers
    position.pinned = pinned


@jit
def compute_key(position):
    """The Zobrist key from scratch."""
    key = castling_key(position.castling) ^ ep_key(position.ep)
    if position.turn == BLACK:
        key ^= turn_key()
    for square in range(64):
        key ^= piece_key(position.board[square], square)
    return key


@jit
def insufficient_material(position):
    """True when nobody can mate: bare kings, one minor piece, or bishops of one square colour."""
    heavy = position.roles[PAWN] | position.roles[ROOK] | position.roles[QUEEN]
    if heavy:
        return False
    knights = popcount(position.roles[KNIGHT])
    bishops = position.roles[BISHOP]
    if knights + popcount(bishops) <= 1:
        return True
    dark = np.uint64(0xAA55AA55AA55AA55)
    return knights == 0 and ((bishops & dark) == 0 or (bishops & ~dark) == 0)


@jit
def capturable_en_passant(position, square):
    """True when the side to move has a legal en-passant capture onto ``square``.

    The move removes two pieces from one rank, which no pin mask sees: the king's safety is tested
    on the board as it will be.
    """
    us = np.int64(position.turn)
    captured = square ^ 8
    enemy = position.colors[us ^ 1] & ~bit(captured)
    king = king_square(position, us)
    pawns = attacks.pawn(us ^ 1, square) & position.roles[PAWN] & position.colors[us]
    while pawns:
        origin = lsb(pawns)
        pawns &= pawns - np.uint64(1)
        occupied = ((position.colors[0] | position.colors[1]) ^ bit(origin) ^ bit(captured)) | bit(
            square
        )
        if not attackers(position, king, occupied) & enemy:
            return True
    return False
