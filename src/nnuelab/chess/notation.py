"""Positions and moves as text: FEN and UCI, with all that may be wrong in them.

Kernels trust a position: one king each, no king that can be taken, no pawn on the last ranks. So
everything is checked here.
"""

from __future__ import annotations

import numpy as np

from nnuelab.chess import fen as fen_kernels
from nnuelab.chess.fen import MAX_PIECES
from nnuelab.chess.moves import MAX_MOVES, NO_MOVE, PROMOTION, legal_moves, make
from nnuelab.chess.position import BLACK, EMPTY, KING, NO_SQUARE, POSITION, ROOK, WHITE
from nnuelab.errors import UserError, quoted

STARTING_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
PIECES = "PpNnBbRrQqKk"  # by piece code
# Home squares of king and rook, by castling letter
_CASTLING = {"K": (1, 4, 7), "Q": (2, 4, 0), "k": (4, 60, 63), "q": (8, 60, 56)}


class FenError(UserError, ValueError):
    """A FEN that describes no position that can be played from."""


class Chess960Error(FenError):
    """Castling rights of a start position of Chess960."""


def square_name(square: int) -> str:
    """``e4`` for 28."""
    return "abcdefgh"[square % 8] + str(square // 8 + 1)


def parse_square(text: str) -> int:
    """28 for ``e4``; ValueError when it is no square."""
    if len(text) != 2 or text[0] not in "abcdefgh" or text[1] not in "12345678":
        raise ValueError(f"{quoted(text)} is not a square")
    return ord(text[0]) - ord("a") + 8 * (int(text[1]) - 1)


def _place(position: np.void, placement: str) -> None:
    rows = placement.split("/")
    if len(rows) != 8:
        raise FenError(f"the board has {len(rows)} ranks instead of 8")
    position["board"][:] = EMPTY
    for rank, row in zip(range(7, -1, -1), rows, strict=True):
        file = 0
        for letter in row:
            if letter in "12345678":
                file += int(letter)
            elif letter in PIECES:
                if file < 8:
                    position["board"][file + 8 * rank] = PIECES.index(letter)
                file += 1
            else:
                raise FenError(f"{letter!r} is not a piece")
        if file != 8:
            raise FenError(f"rank {rank + 1} has {file} squares instead of 8")
    for king, name in (("K", "White"), ("k", "Black")):
        if (kings := placement.count(king)) != 1:
            raise FenError(f"{name} has {kings} kings instead of one")
    if {"P", "p"} & {*rows[0], *rows[7]}:
        raise FenError("a pawn stands on the first or last rank")
    if sum(map(str.isalpha, placement)) > MAX_PIECES:
        raise FenError(f"more than {MAX_PIECES} pieces")


def _set_castling(position: np.void, text: str) -> None:
    if text == "-":
        return
    for letter in text:
        if letter in _CASTLING:
            right, king, rook = _CASTLING[letter]
            color = WHITE if letter.isupper() else BLACK
            if (
                position["board"][king] != 2 * KING + color
                or position["board"][rook] != 2 * ROOK + color
            ):
                raise Chess960Error(
                    f"castling right {letter!r} needs king and rook on their home squares; "
                    "Chess960 castling is not supported"
                )
            position["castling"] |= right
        elif letter.lower() in "abcdefgh":
            raise Chess960Error(f"castling right {letter!r}: Chess960 castling is not supported")
        else:
            raise FenError(f"{letter!r} is not a castling right")


def _set_en_passant(position: np.void, text: str) -> None:
    if text == "-":
        return
    try:
        square = parse_square(text)
    except ValueError as error:
        raise FenError(f"en passant: {error}") from None
    rank = 5 if position["turn"] == WHITE else 2
    if square // 8 != rank:
        raise FenError(f"en-passant square {text} is not on rank {rank + 1}")
    position["ep"] = square


def _counter(text: str, name: str, least: int) -> int:
    if not text.isascii() or not text.isdigit():
        raise FenError(f"{name} {quoted(text)} is not a number")
    try:
        number = int(text)
    except ValueError:  # Python reads no more than 4,300 digits
        raise FenError(f"{name} has {len(text)} digits") from None
    return min(max(number, least), 60000)


def from_fen(fen: str) -> np.void:
    """The position of a FEN; move counters may be missing (as in an EPD).

    Positions that no game reaches are accepted as long as they can be played from. An en-passant
    square is kept only when a pawn can legally take there.

    Returns
    -------
    numpy.void of dtype POSITION
        A writable element of a fresh array of one.

    Raises
    ------
    FenError
        With what is wrong: one line that holds the FEN.

    Examples
    --------
    >>> to_fen(from_fen("4k3/8/8/8/8/8/8/4K2R w K e6"))
    '4k3/8/8/8/8/8/8/4K2R w K - 0 1'
    """
    position = np.zeros(1, POSITION)[0]
    fields = fen.split()
    try:
        if len(fields) not in (4, 5, 6):
            raise FenError(f"{len(fields)} fields instead of 6 (or 4 without move counters)")
        _place(position, fields[0])
        if fields[1] not in ("w", "b"):
            raise FenError(f"side to move {quoted(fields[1])} is neither w nor b")
        position["turn"] = WHITE if fields[1] == "w" else BLACK
        _set_castling(position, fields[2])
        position["ep"] = NO_SQUARE
        _set_en_passant(position, fields[3])
        position["halfmove"] = _counter(fields[4], "half-move clock", 0) if len(fields) > 4 else 0
        position["fullmove"] = _counter(fields[5], "move number", 1) if len(fields) > 5 else 1
        scratch = np.zeros(2 * MAX_MOVES, np.int64)
        playable = fen_kernels.complete(position, scratch)
        if legal_moves(position, scratch) > MAX_MOVES:
            raise FenError(f"more than {MAX_MOVES} legal moves")
        if not playable:
            raise FenError("the side that is not to move is in check")
    except FenError as error:
        raise type(error)(f"broken FEN {quoted(fen)}: {error}") from None
    return position


def to_fen(position: np.void) -> str:
    """The FEN of a position, with the en-passant square only where a capture is legal."""
    out = np.empty(fen_kernels.MAX_FEN, np.uint8)
    return out[: fen_kernels.write_fen(position, out, 0)].tobytes().decode()


def moves_of(position: np.void) -> list[int]:
    """The legal moves as Python integers."""
    out = np.empty(MAX_MOVES, np.int64)
    return out[: legal_moves(position, out)].tolist()


def after(position: np.void, move: int) -> np.void:
    """The position after a legal move, as a new record."""
    new = np.empty(1, POSITION)[0]
    make(position, new, move)
    return new


def move_to_uci(move: int) -> str:
    """``e7e8q``; ``0000`` for no move."""
    if move == NO_MOVE:
        return "0000"
    kind = move >> 12 & 7
    promotion = "nbrq"[kind - PROMOTION] if kind >= PROMOTION else ""
    return square_name(move & 63) + square_name(move >> 6 & 63) + promotion


def parse_uci(position: np.void, text: str) -> int:
    """The legal move that a UCI string names; ValueError when there is none."""
    for move in moves_of(position):
        if move_to_uci(move) == text:
            return move
    raise ValueError(f"{quoted(text)} is not a legal move in {to_fen(position)}")
