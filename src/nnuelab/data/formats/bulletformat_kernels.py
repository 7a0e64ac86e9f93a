"""Kernels of `bulletformat`."""

import numpy as np

from nnuelab.chess.fen import complete
from nnuelab.chess.position import BLACK, EMPTY, KING, NO_SQUARE, POSITION, WHITE
from nnuelab.data.records import pack, unpack_board
from nnuelab.jit import byteswap, jit, local_record, lsb

BULLET = np.dtype(
    [
        ("occupied", "<u8"),
        ("pieces_low", "<u8"),  # role | opponent << 3, low nibble first
        ("pieces_high", "<u8"),
        ("score", "<i2"),
        ("result", "u1"),
        ("king", "u1"),
        ("opponent_king", "u1"),
        ("extra", "u1", 3),
    ]
)
"""32 bytes."""
assert BULLET.itemsize == 32

_position = local_record(POSITION)


@jit
def decode(bullet, records, good, scratch):
    """Turns records of bulletformat into ours, White to move.

    Parameters
    ----------
    bullet : BULLET [n]
    records : RECORD [n], written
        All but ``game``.
    good : bool [n], written
        Whether it is a position that can be played from, with a result.
    scratch : int64 [2 * MAX_MOVES]
    """
    position = _position()
    position.turn, position.castling, position.ep = WHITE, 0, NO_SQUARE
    position.halfmove, position.fullmove = 0, 1
    for i in range(len(bullet)):
        position.board[:] = EMPTY
        left, low, high = bullet[i].occupied, bullet[i].pieces_low, bullet[i].pieces_high
        valid = bullet[i].result <= 2
        n = 0
        while left:
            square = lsb(left)
            left &= left - np.uint64(1)
            nibble = np.int64(low & np.uint64(15))
            low = (low >> np.uint64(4)) | (high << np.uint64(60))
            high >>= np.uint64(4)
            n += 1
            valid = valid and nibble & 7 <= KING and n <= 32
            position.board[square] = 2 * (nibble & 7) + (nibble >> 3) if valid else EMPTY
        good[i] = valid and complete(position, scratch)
        if good[i]:
            pack(position, records[i])
            records[i].score = bullet[i].score
            records[i].result = np.int64(bullet[i].result) - 1


@jit
def encode(records, bullet):
    """Turns our records into those of bulletformat.

    Parameters
    ----------
    records : RECORD [n]
        With scores and results.
    bullet : BULLET [n], written
    """
    position = _position()
    for i in range(len(records)):
        unpack_board(records[i], position)
        us = np.int64(position.turn)
        turned = 56 if us == BLACK else 0
        kings = position.roles[KING]
        bullet[i].king = lsb(kings & position.colors[us]) ^ turned
        bullet[i].opponent_king = lsb(kings & position.colors[1 - us]) ^ turned ^ 56
        occupied = byteswap(records[i].occupied) if us == BLACK else records[i].occupied
        low, high, shift = np.uint64(0), np.uint64(0), np.uint64(0)
        left = occupied
        while left:
            piece = np.int64(position.board[lsb(left) ^ turned])
            nibble = np.uint64((piece >> 1) | ((piece & 1) ^ us) << 3)
            left &= left - np.uint64(1)
            if shift < np.uint64(64):
                low |= nibble << shift
            else:
                high |= nibble << (shift - np.uint64(64))
            shift += np.uint64(4)
        bullet[i].occupied, bullet[i].pieces_low, bullet[i].pieces_high = occupied, low, high
        bullet[i].score = records[i].score
        bullet[i].result = records[i].result + 1
