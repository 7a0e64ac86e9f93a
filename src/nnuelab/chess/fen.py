"""FEN and UCI moves by kernels: the texts of a whole file, each in a fraction of a microsecond.

What these kernels refuse may still be spelled oddly: ask `notation.from_fen`, which reads the same,
and says what is wrong.
"""

import numpy as np

from nnuelab.chess import moves
from nnuelab.chess.attacks import bit
from nnuelab.chess.moves import MAX_MOVES, NO_MOVE, PROMOTION, legal_moves
from nnuelab.chess.position import (
    BLACK,
    EMPTY,
    KING,
    KING_HOMES,
    KNIGHT,
    NO_SQUARE,
    PAWN,
    QUEEN,
    ROOK,
    ROOK_HOMES,
    WHITE,
    attackers,
    capturable_en_passant,
    compute_key,
    king_square,
    set_checkers,
)
from nnuelab.jit import inline, jit, popcount, table

MAX_FEN = 100  # bytes of the longest FEN that is written: 71 + 2 + 5 + 3 + 2 numbers of 5 digits
_HIGHEST = np.int64(60_000)  # of a counter, as in notation
MAX_PIECES = 32  # a packed record holds no more
_LAST_RANKS = np.uint64(0xFF000000000000FF)
_LETTERS = np.frombuffer(b"PpNnBbRrQqKk", np.uint8)  # by piece code
_RIGHTS = np.frombuffer(b"KQkq", np.uint8)  # by bit
_SPACE, _SLASH, _DASH, _ZERO, _NINE = np.frombuffer(b" /-09", np.uint8).astype(np.int64)
_SMALL_A, _SMALL_H, _ONE, _EIGHT = np.frombuffer(b"ah18", np.uint8).astype(np.int64)
_SMALL_B, _SMALL_W = np.frombuffer(b"bw", np.uint8).astype(np.int64)


def _codes() -> np.ndarray:
    """Piece code of each letter, EMPTY for other bytes."""
    found = np.full(256, EMPTY, np.uint8)
    found[_LETTERS] = np.arange(12)
    return found


def _promotions() -> np.ndarray:
    """Kind of the move that promotes to the role of each letter, 0 for other bytes."""
    found = np.zeros(256, np.uint8)
    for letters in (b"nbrq", b"NBRQ"):
        found[np.frombuffer(letters, np.uint8)] = np.arange(4) + PROMOTION
    return found


_code_of = table("fen_codes", _codes())
_promotion_of = table("fen_promotions", _promotions())


@jit
def complete(position, scratch):
    """Derives all other fields from pieces, turn, rights and a candidate en-passant square.

    Parameters
    ----------
    position : POSITION record
        ``board``, ``turn``, ``castling``, ``ep``, ``halfmove`` and ``fullmove`` are set; the rest
        is written, and ``ep`` taken back where no pawn can capture.
    scratch : int64 [2 * MAX_MOVES]

    Returns
    -------
    bool
        Whether it can be played from, that is, whether `notation.from_fen` takes it.
    """
    position.roles[:] = np.uint64(0)
    position.colors[:] = np.uint64(0)
    for square in range(64):
        piece = np.int64(position.board[square])
        if piece != EMPTY:
            position.roles[piece >> 1] |= bit(square)
            position.colors[piece & 1] |= bit(square)
    occupied = position.colors[0] | position.colors[1]
    kings = position.roles[KING]
    if popcount(kings & position.colors[0]) != 1 or popcount(kings & position.colors[1]) != 1:
        return False
    if position.roles[PAWN] & _LAST_RANKS or popcount(occupied) > MAX_PIECES:
        return False
    for right in range(4):
        if position.castling & (1 << right):
            color = right >> 1
            if position.board[KING_HOMES[right]] != 2 * KING + color:
                return False
            if position.board[ROOK_HOMES[right]] != 2 * ROOK + color:
                return False
    us = np.int64(position.turn)
    set_checkers(position)
    if position.ep != NO_SQUARE and not _is_behind_pawn(position, np.int64(position.ep), us):
        position.ep = NO_SQUARE
    if position.ep != NO_SQUARE and not capturable_en_passant(position, np.int64(position.ep)):
        position.ep = NO_SQUARE
    position.key = compute_key(position)
    king = king_square(position, us ^ 1)
    if attackers(position, king, occupied) & position.colors[us]:
        return False
    # Only armies of queens have so many moves.
    return popcount(position.roles[QUEEN]) < 18 or legal_moves(position, scratch) <= MAX_MOVES


@inline
def _is_behind_pawn(position, square, us):
    """Whether a pawn of the other side can just have passed over ``square``."""
    if square >> 3 != (5 if us == WHITE else 2):
        return False
    behind = square + 8 if us == WHITE else square - 8
    return (
        position.board[square ^ 8] == 2 * PAWN + (us ^ 1)
        and position.board[square] == EMPTY
        and position.board[behind] == EMPTY
    )


@inline
def _skip_spaces(text, at, stop):
    while at < stop and text[at] == _SPACE:
        at += 1
    return at


@inline
def _number(text, at, stop):
    """A number up to _HIGHEST and where it ends; -1 when there is none."""
    value = np.int64(-1)
    while at < stop and _ZERO <= text[at] <= _NINE:
        digit = np.int64(text[at]) - _ZERO
        value = digit if value < 0 else value * 10 + digit
        if value > _HIGHEST:
            value = _HIGHEST
        at += 1
    return value, at


@jit
def read_fen(text, start, stop, position, scratch):
    """Reads the FEN in ``text[start:stop]``, of 4 or 6 fields.

    Parameters
    ----------
    text : uint8 [n]
    start, stop : int64
    position : POSITION record, written
    scratch : int64 [2 * MAX_MOVES]

    Returns
    -------
    bool
        False when it is broken, or spelled unlike any program does.
    """
    at = _skip_spaces(text, start, stop)
    position.board[:] = EMPTY
    rank, file = np.int64(7), np.int64(0)
    while at < stop and text[at] != _SPACE:
        letter = np.int64(text[at])
        piece = _code_of()[letter]
        if piece != EMPTY:
            if file > 7:
                return False
            position.board[8 * rank + file] = piece
            file += 1
        elif _ONE <= letter <= _EIGHT:
            file += letter - _ZERO
        elif letter == _SLASH and file == 8 and rank > 0:
            rank, file = rank - 1, np.int64(0)
        else:
            return False
        at += 1
    if rank > 0 or file != 8:
        return False
    at = _skip_spaces(text, at, stop)
    if at + 1 >= stop or text[at + 1] != _SPACE or text[at] not in (_SMALL_B, _SMALL_W):
        return False
    position.turn = WHITE if text[at] == _SMALL_W else BLACK
    at = _skip_spaces(text, at + 1, stop)
    position.castling = 0
    if at < stop and text[at] == _DASH:
        at += 1
    else:
        begun = at
        while at < stop and text[at] != _SPACE:
            right = np.int64(0)
            while right < 4 and _RIGHTS[right] != text[at]:
                right += 1
            if right == 4:
                return False
            position.castling |= 1 << right
            at += 1
        if at == begun:
            return False
    if at >= stop or text[at] != _SPACE:
        return False
    at = _skip_spaces(text, at, stop)
    position.ep = NO_SQUARE
    if at < stop and text[at] == _DASH:
        at += 1
    else:
        if at + 2 > stop or not (_SMALL_A <= text[at] <= _SMALL_H):
            return False
        if text[at + 1] != (_ONE + 5 if position.turn == WHITE else _ONE + 2):
            return False
        position.ep = np.int64(text[at]) - _SMALL_A + 8 * (np.int64(text[at + 1]) - _ONE)
        at += 2
    position.halfmove, position.fullmove = 0, 1
    if at < stop:
        if text[at] != _SPACE:
            return False
        at = _skip_spaces(text, at, stop)
    if at < stop:
        number, at = _number(text, at, stop)
        if number < 0 or at >= stop or text[at] != _SPACE:
            return False
        position.halfmove = number
        number, at = _number(text, _skip_spaces(text, at, stop), stop)
        if number < 0 or _skip_spaces(text, at, stop) < stop:
            return False
        position.fullmove = max(number, 1)
    return complete(position, scratch)


@inline
def _write_number(out, at, value):
    divisor = np.int64(1)
    while value // divisor >= 10:
        divisor *= 10
    while divisor:
        out[at] = _ZERO + value // divisor % 10
        at += 1
        divisor //= 10
    return at


@jit
def write_fen(position, out, at):
    """Writes the FEN of a position to ``out[at:]``.

    Parameters
    ----------
    position : POSITION record
    out : uint8 [at + MAX_FEN or more], written
    at : int64

    Returns
    -------
    int64
        Where it ends.
    """
    for row in range(8):
        gap = np.int64(0)
        for file in range(8):
            piece = np.int64(position.board[8 * (7 - row) + file])
            if piece == EMPTY:
                gap += 1
                continue
            if gap:
                out[at] = _ZERO + gap
                at += 1
                gap = np.int64(0)
            out[at] = _LETTERS[piece]
            at += 1
        if gap:
            out[at] = _ZERO + gap
            at += 1
        if row < 7:
            out[at] = _SLASH
            at += 1
    out[at] = _SPACE
    out[at + 1] = _SMALL_W if position.turn == WHITE else _SMALL_B
    out[at + 2] = _SPACE
    at += 3
    if not position.castling:
        out[at] = _DASH
        at += 1
    for right in range(4):
        if position.castling & (1 << right):
            out[at] = _RIGHTS[right]
            at += 1
    out[at] = _SPACE
    at += 1
    if position.ep == NO_SQUARE:
        out[at] = _DASH
        at += 1
    else:
        at = write_square(np.int64(position.ep), out, at)
    out[at] = _SPACE
    at = _write_number(out, at + 1, np.int64(position.halfmove))
    out[at] = _SPACE
    return _write_number(out, at + 1, np.int64(position.fullmove))


@inline
def write_square(square, out, at):
    """Writes ``e4`` to ``out[at:]``; returns where it ends."""
    out[at] = _SMALL_A + (square & 7)
    out[at + 1] = _ONE + (square >> 3)
    return at + 2


@jit
def write_uci(move, out, at):
    """Writes a move to ``out[at:]`` (5 bytes at most) as `notation.move_to_uci` does."""
    if move == NO_MOVE:
        out[at : at + 4] = _ZERO
        return at + 4
    at = write_square(moves.target(move), out, write_square(moves.origin(move), out, at))
    if moves.is_promotion(move):
        out[at] = _LETTERS[2 * (moves.kind(move) - PROMOTION + KNIGHT) + 1]
        at += 1
    return at


@jit
def find_move(position, start, square, promotion, scratch):
    """The legal move between two squares.

    Parameters
    ----------
    position : POSITION record
    start, square : int64
        Castling may also be spelled as the king taking its own rook.
    promotion : int64
        Kind of the move for a promotion, else 0.
    scratch : int64 [MAX_MOVES or more]

    Returns
    -------
    int64
        NO_MOVE when there is none.
    """
    us = np.int64(position.turn)
    if position.board[start] == 2 * KING + us and position.board[square] == 2 * ROOK + us:
        square = start + 2 if square > start else start - 2
    for i in range(legal_moves(position, scratch)):
        move = scratch[i]
        if moves.origin(move) == start and moves.target(move) == square:
            if moves.is_promotion(move):
                if moves.kind(move) == promotion:
                    return move
            elif promotion == 0:
                return move
    return np.int64(NO_MOVE)


@jit
def read_uci(position, text, start, stop, scratch):
    """The legal move that ``text[start:stop]`` names; NO_MOVE without one. See `find_move`."""
    length = stop - start
    if length < 4 or length > 5:
        return np.int64(NO_MOVE)
    for i in range(4):
        letter = text[start + i]
        if i & 1:
            if letter < _ONE or letter > _EIGHT:
                return np.int64(NO_MOVE)
        elif letter < _SMALL_A or letter > _SMALL_H:
            return np.int64(NO_MOVE)
    promotion = np.int64(0)
    if length == 5:
        promotion = np.int64(_promotion_of()[text[start + 4]])
        if promotion == 0:
            return np.int64(NO_MOVE)
    first = np.int64(text[start]) - _SMALL_A + 8 * (np.int64(text[start + 1]) - _ONE)
    last = np.int64(text[start + 2]) - _SMALL_A + 8 * (np.int64(text[start + 3]) - _ONE)
    return find_move(position, first, last, promotion, scratch)
