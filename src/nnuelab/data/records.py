"""A labelled position in 40 bytes, the unit of dataset files, and its conversion.

The board is the set of occupied squares and one nibble per piece, as in Stockfish's binpack and in
bulletformat: a batch of 16,384 positions fits into a core's cache, and numpy, pandas and jitted
code read the same bytes.
"""

from __future__ import annotations

import numpy as np

from nnuelab.chess import notation
from nnuelab.chess.position import (
    EMPTY,
    POSITION,
    attackers,
    compute_key,
    king_square,
    set_checkers,
)
from nnuelab.jit import jit, local_record, lsb

_position = local_record(POSITION)

RECORD = np.dtype(
    [
        ("occupied", "<u8"),  # squares with a piece, a1 = bit 0
        (
            "pieces_low",
            "<u8",
        ),  # codes (role * 2 + colour) of the first 16 of them, low nibble first
        ("pieces_high", "<u8"),  # of the others
        ("flags", "u1"),  # bit 0 Black to move, bits 1-4 castling K Q k q
        ("ep", "u1"),  # target square of a legal en-passant capture, else 64
        ("halfmove", "u1"),  # plies since the last capture or pawn move, at most 255
        ("result", "i1"),  # of the game, for the side to move: 1, 0, -1; UNKNOWN_RESULT
        ("score", "<i2"),  # centipawns for the side to move; NO_SCORE; mates: `mate_score`
        ("ply", "<u2"),  # half-moves played before
        ("game", "<u4"),  # number of the game in its source
        ("move", "<u2"),  # played next: from | to << 6 | kind << 12; 0 unknown
        ("padding", "<u2"),
    ]
)
"""40 bytes, little-endian, every field on its natural boundary."""
assert RECORD.itemsize == 40

NO_SCORE = -32768
UNKNOWN_RESULT = 2
MATE = 32_000  # centipawns of a mate on the board


def mate_score(moves: int) -> int:
    """Centipawns of a mate in ``moves``: 32000 less one for each move, negative when being mated.

    The rule of UCI engines inside, so that a limit on scores drops mates with other extremes.

    >>> mate_score(3), mate_score(-1)
    (31997, -31999)
    """
    return MATE - moves if moves > 0 else -MATE - moves


def captures(records: np.ndarray, moves: np.ndarray) -> np.ndarray:
    """Whether moves are captures or promotions.

    Parameters
    ----------
    records : ndarray of RECORD [n]
    moves : ndarray of uint16 [n]
        One in each position, in the layout of ``chess.moves``; 0, an unknown one, is neither.

    Returns
    -------
    ndarray of bool [n]
    """
    target = (moves >> 6 & 63).astype(np.uint64)
    onto_piece = (records["occupied"] >> target & np.uint64(1)).astype(bool)
    return (moves != 0) & (onto_piece | (moves >> 12 >= 3))  # kind 3: en passant, above: promotions


def white_results(records: np.ndarray) -> np.ndarray:
    """Results of games for White, int8 [n]: 1, 0, -1; UNKNOWN_RESULT stays."""
    result = records["result"]
    turned = (records["flags"] & 1).astype(bool) & (result != UNKNOWN_RESULT)
    return np.where(turned, -result, result)


@jit
def pack(position, record):
    """Writes the board, side to move, castling, en passant and half-move clock of a record.

    Parameters
    ----------
    position : POSITION record
        At most 32 pieces (``notation.from_fen`` accepts no more).
    record : RECORD record, written
        The fields result, score, ply, game and move stay as they are.
    """
    occupied = position.colors[0] | position.colors[1]
    low = np.uint64(0)
    high = np.uint64(0)
    shift = np.uint64(0)
    left = occupied
    while left:
        square = lsb(left)
        left &= left - np.uint64(1)
        nibble = np.uint64(position.board[square])
        if shift < np.uint64(64):
            low |= nibble << shift
        else:
            high |= nibble << (shift - np.uint64(64))
        shift += np.uint64(4)
    record.occupied = occupied
    record.pieces_low = low
    record.pieces_high = high
    record.flags = position.turn | (position.castling << 1)
    record.ep = position.ep
    record.halfmove = min(position.halfmove, 255)


@jit
def unpack_board(record, position):
    """The position of a record without derived fields: for any bytes at all.

    Parameters
    ----------
    record : RECORD record
    position : POSITION record, written
        But for key, checkers and pins. Its move number follows from the ply.
    """
    position.roles[:] = np.uint64(0)
    position.colors[:] = np.uint64(0)
    position.board[:] = EMPTY
    left = record.occupied
    low = record.pieces_low
    high = record.pieces_high
    while left:
        square = lsb(left)
        mask = left & (~left + np.uint64(1))
        left ^= mask
        piece = np.int64(low & np.uint64(15))
        low = (low >> np.uint64(4)) | (high << np.uint64(60))
        high >>= np.uint64(4)
        if piece >= EMPTY:  # in a damaged file
            continue
        position.board[square] = piece
        position.roles[piece >> 1] |= mask
        position.colors[piece & 1] |= mask
    position.turn = record.flags & 1
    position.castling = record.flags >> 1
    position.ep = record.ep
    position.halfmove = record.halfmove
    position.fullmove = record.ply // 2 + 1


@jit
def in_check(records):
    """Whether the side to move is in check, bool [n]: of RECORD [n] that are positions."""
    found = np.empty(len(records), np.bool_)
    position = _position()
    for i in range(len(records)):
        unpack_board(records[i], position)
        us = np.int64(position.turn)
        occupied = position.colors[0] | position.colors[1]
        enemy = position.colors[us ^ 1]
        found[i] = attackers(position, king_square(position, us), occupied) & enemy != 0
    return found


@jit
def unpack(record, position):
    """The position of a record, complete with key, checkers and pins.

    Parameters
    ----------
    record : RECORD record
        Of a position that can be played from.
    position : POSITION record, written
    """
    unpack_board(record, position)
    set_checkers(position)
    position.key = compute_key(position)


def from_fen(fen: str) -> np.void:
    """A record of a FEN, without score, result, game and move; raises FenError."""
    position = notation.from_fen(fen)
    record = np.zeros(1, RECORD)[0]
    pack(position, record)
    record["score"], record["result"] = NO_SCORE, UNKNOWN_RESULT
    ply = 2 * (int(position["fullmove"]) - 1) + int(position["turn"])
    record["ply"] = min(ply, np.iinfo(np.uint16).max)
    return record


def to_fen(record: np.void) -> str:
    """The FEN of a record (move number by its ply)."""
    position = np.zeros(1, POSITION)[0]
    unpack(record, position)
    return notation.to_fen(position)
