"""Moves as a PGN file writes them: from bytes to role, origins, target and kind, without a board.

`planes.find` looks for the piece.
"""

import numpy as np

from nnuelab.chess.moves import NORMAL, PROMOTION
from nnuelab.chess.position import PAWN
from nnuelab.jit import at, inline, jit, lsb, word_at

CASTLES_SHORT, CASTLES_LONG, ANY_PIECE, NO_MOVE = np.arange(6, 10)
"""In place of a role: castling, whatever stands on the origin, a word that is no move."""
PADDING = 16
"""Bytes that a text has behind its end, so that looking ahead needs no test."""

_FILE, _RANK, _SIGN, _PIECE = np.arange(1, 5)  # classes of characters
_NO_ROLE = np.int64(15)


def _tables() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """By character: its class, the role that it means as a first letter, where it lets start."""
    classes = np.zeros(256, np.uint8)
    roles = np.full(256, _NO_ROLE, np.uint8)
    origins = np.full(256, ~np.uint64(0))
    for i in range(8):
        classes[ord("a") + i], classes[ord("1") + i] = _FILE, _RANK
        origins[ord("a") + i] = np.uint64(0x0101010101010101 << i)
        origins[ord("1") + i] = np.uint64(0xFF << 8 * i)
    classes[list(b"x:-")] = _SIGN
    roles[[0, *b"abcdefgh"]] = PAWN
    for letter, role in zip(b"PNBRQK", range(6), strict=True):
        classes[letter], roles[letter] = _PIECE, role
    return classes, roles, origins


_CLASSES, _ROLES, _ORIGINS = _tables()
_BYTES, _HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_ALL = ~np.uint64(0)
_NOWHERE = np.int64(-1)


@inline
def read_move(text, place):
    """Reads the move that begins at ``text[place]``.

    SAN (``e4``, ``exd5``, ``Nbd2``, ``e8=Q``, ``O-O``, ``0-0``), long algebraic notation
    (``Ng1-f3``) and UCI (``g1f3``, ``e7e8q``). Signs behind a move (``+``, ``!``) may be left over.

    Parameters
    ----------
    text : uint8 [n]
        At least PADDING zeros behind its end.
    place : int64

    Returns
    -------
    role : int64
        P N B R Q K = 0..5, or CASTLES_SHORT, CASTLES_LONG, ANY_PIECE, NO_MOVE.
    origins : uint64
        Squares that it may start from.
    target : int64
    kind : int64
        PROMOTION + (role - KNIGHT) or NORMAL.
    place : int64
        Behind what was read.
    """
    # Nearly all moves are a short word with the target at its end: all its letters at once.
    word = word_at(text, place)
    blanks = (word - np.uint64(0x21) * _BYTES) & ~word & _HIGH_BITS
    if blanks:
        length = lsb(blanks) >> 3
        last = np.int64(text[at(place + length - 1)])
        before = length - 2 - np.int64(last == 0x2B or last == 0x23)  # + #
        file = np.int64(text[at(place + before)]) - 0x61
        rank = np.int64(text[at(place + before + 1)]) - 0x31
        if before >= 0 and before <= 4 and file >= 0 and file < 8 and rank >= 0 and rank < 8:
            prefix = word & ((np.uint64(1) << np.uint64(8 * before)) - np.uint64(1))
            first = at(prefix & np.uint64(255))
            second = at(prefix >> np.uint64(8) & np.uint64(255))
            third = at(prefix >> np.uint64(16) & np.uint64(255))
            fourth = at(prefix >> np.uint64(24))
            role = np.int64(_ROLES[first])
            # "e2e4" and what is longer than "Qa1xb2" or in another order is read slowly.
            plain = _CLASSES[third] <= _SIGN and _CLASSES[fourth] <= _SIGN
            plain &= role != _NO_ROLE and _CLASSES[second] <= _SIGN
            plain &= role != PAWN or second == 0 or second == 0x78
            plain &= role != PAWN or (rank > 0 and rank < 7)
            if plain:
                origins = _ORIGINS[first] & _ORIGINS[second] & _ORIGINS[third] & _ORIGINS[fourth]
                return role, origins, 8 * rank + file, NORMAL, place + length
    return _read_slowly(text, place)


@inline
def _class(text, place):
    return np.int64(_CLASSES[at(text[at(place)])])


@inline
def _square(text, place):
    return np.int64(text[at(place)]) - 0x61 + 8 * (np.int64(text[at(place + 1)]) - 0x31)


@inline
def _is_square(text, place):
    return _class(text, place) == _FILE and _class(text, place + 1) == _RANK


@jit
def _read_slowly(text, place):
    """`read_move` of every word, letter by letter."""
    first = np.int64(text[at(place)])
    if first == 0x4F or first == 0x30:  # O, 0
        return _read_castling(text, place, first)
    role = np.int64(_ROLES[at(first)])
    named = _class(text, place) == _PIECE
    if named:
        place += 1
    else:
        role = np.int64(PAWN)
    origins = _ALL
    target = _NOWHERE
    if _is_square(text, place):
        target = _square(text, place)
        place += 2
        further = place + np.int64(_class(text, place) == _SIGN)
        if _is_square(text, further):
            origins = np.uint64(1) << np.uint64(target)
            target = _square(text, further)
            place = further + 2
            if not named:
                role = ANY_PIECE
    else:
        if _class(text, place) == _FILE or _class(text, place) == _RANK:
            origins = _ORIGINS[at(text[at(place)])]
            place += 1
        place += np.int64(_class(text, place) == _SIGN)
        if not _is_square(text, place):
            return NO_MOVE, origins, target, NORMAL, place
        target = _square(text, place)
        place += 2
    kind = NORMAL
    if role in (PAWN, ANY_PIECE) and (target < 8 or target >= 56):
        kind, place = _read_promotion(text, place)
    return role, origins, target, kind, place


@inline
def _read_castling(text, place, letter):
    length = np.int64(1)
    while (
        length < 5 and text[at(place + length)] == 0x2D and text[at(place + length + 1)] == letter
    ):
        length += 2
    role = NO_MOVE
    if length == 3:
        role = CASTLES_SHORT
    elif length == 5:
        role = CASTLES_LONG
    return role, _ALL, _NOWHERE, NORMAL, place + length


@inline
def _read_promotion(text, place):
    """Kind of a pawn's move by the letter behind it, with or without "="."""
    behind = place + np.int64(text[at(place)] == 0x3D) + 1  # =
    letter = np.int64(text[at(behind - 1)]) & 0xDF  # in upper case
    if letter == 0x51:  # Q
        return PROMOTION + 3, behind
    if letter == 0x52:  # R
        return PROMOTION + 2, behind
    if letter == 0x42:  # B
        return PROMOTION + 1, behind
    if letter == 0x4E:  # N
        return PROMOTION, behind
    return NORMAL, place
