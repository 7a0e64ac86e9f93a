"""Positions and moves as text: FEN, UCI and SAN. The only door by which a position comes in.

Kernels trust a position: one king each, no king that can be taken, no pawn on the last ranks. So
everything is checked here.
"""

from __future__ import annotations

import re

import numpy as np

from nnuelab.chess.moves import (
    CASTLING,
    MAX_MOVES,
    NO_MOVE,
    PROMOTION,
    legal_moves,
    make,
)
from nnuelab.chess.position import (
    BLACK,
    EMPTY,
    KING,
    KNIGHT,
    NO_SQUARE,
    PAWN,
    POSITION,
    ROOK,
    WHITE,
    attackers,
    capturable_en_passant,
    compute_key,
    king_square,
    set_checkers,
)
from nnuelab.chess.san import replay, sans
from nnuelab.errors import UserError
from nnuelab.jit import jit

STARTING_FEN = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
PIECES = "PpNnBbRrQqKk"  # by piece code
ROLES = "PNBRQK"
# Home squares of king and rook, by castling letter
_CASTLING = {"K": (1, 4, 7), "Q": (2, 4, 0), "k": (4, 60, 63), "q": (8, 60, 56)}
_SAN = re.compile(r"([PNBRQK])?([a-h])?([1-8])?([x:-])?([a-h][1-8])(?:=?([NBRQKnbrqk]))?")
_MAX_PIECES = 32  # a packed record holds no more


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
        raise ValueError(f"{text!r} is no square")
    return ord(text[0]) - ord("a") + 8 * (int(text[1]) - 1)


@jit
def _finish(position):
    """Derives the rest from pieces, turn, castling and a candidate en-passant square."""
    set_checkers(position)
    if position.ep != NO_SQUARE and not capturable_en_passant(position, np.int64(position.ep)):
        position.ep = NO_SQUARE
    position.key = compute_key(position)
    us = np.int64(position.turn)
    king = king_square(position, us ^ 1)
    occupied = position.colors[0] | position.colors[1]
    return (attackers(position, king, occupied) & position.colors[us]) == 0


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
                    piece, square = PIECES.index(letter), file + 8 * rank
                    position["board"][square] = piece
                    position["roles"][piece // 2] |= np.uint64(1 << square)
                    position["colors"][piece % 2] |= np.uint64(1 << square)
                file += 1
            else:
                raise FenError(f"{letter!r} is no piece")
        if file != 8:
            raise FenError(f"rank {rank + 1} has {file} squares instead of 8")
    for color, name in ((WHITE, "White"), (BLACK, "Black")):
        kings = int(position["roles"][KING] & position["colors"][color]).bit_count()
        if kings != 1:
            raise FenError(f"{name} has {kings} kings instead of one")
    if int(position["roles"][PAWN]) & 0xFF000000000000FF:
        raise FenError("a pawn stands on the first or last rank")
    if int(position["colors"][0] | position["colors"][1]).bit_count() > _MAX_PIECES:
        raise FenError(f"more than {_MAX_PIECES} pieces")


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
            raise FenError(f"{letter!r} is no castling right")


def _set_en_passant(position: np.void, text: str) -> None:
    if text == "-":
        return
    try:
        square = parse_square(text)
    except ValueError as error:
        raise FenError(f"en passant: {error}") from None
    turn = int(position["turn"])
    rank = 5 if turn == WHITE else 2
    if square // 8 != rank:
        raise FenError(f"en-passant square {text} is not on rank {rank + 1}")
    behind = square + (8 if turn == WHITE else -8)
    pawn_moved = (
        position["board"][square ^ 8] == 2 * PAWN + (turn ^ 1)
        and position["board"][square] == EMPTY
        and position["board"][behind] == EMPTY
    )
    if pawn_moved:  # otherwise the square is idle: nothing can be taken there
        position["ep"] = square


def _counter(text: str, name: str, least: int) -> int:
    if not text.isascii() or not text.isdigit():
        raise FenError(f"{name} {text!r} is no number")
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
            raise FenError(f"side to move {fields[1]!r} is neither w nor b")
        position["turn"] = WHITE if fields[1] == "w" else BLACK
        _set_castling(position, fields[2])
        position["ep"] = NO_SQUARE
        _set_en_passant(position, fields[3])
        position["halfmove"] = _counter(fields[4], "half-move clock", 0) if len(fields) > 4 else 0
        position["fullmove"] = _counter(fields[5], "move number", 1) if len(fields) > 5 else 1
        if not _finish(position):
            raise FenError("the side that is not to move is in check")
        if legal_moves(position, np.zeros(2 * MAX_MOVES, np.int64)) > MAX_MOVES:
            raise FenError(f"more than {MAX_MOVES} legal moves")
    except FenError as error:
        raise type(error)(f"broken FEN {fen!r}: {error}") from None
    return position


def to_fen(position: np.void) -> str:
    """The FEN of a position, with the en-passant square only where a capture is legal."""
    rows = []
    for rank in range(7, -1, -1):
        row = "".join(
            "1" if piece == EMPTY else PIECES[piece]
            for piece in position["board"][8 * rank : 8 * rank + 8].tolist()
        )
        rows.append(re.sub("1+", lambda ones: str(len(ones[0])), row))
    castling = "".join(c for c, (right, *_) in _CASTLING.items() if position["castling"] & right)
    ep = int(position["ep"])
    return " ".join(
        [
            "/".join(rows),
            "w" if position["turn"] == WHITE else "b",
            castling or "-",
            "-" if ep == NO_SQUARE else square_name(ep),
            str(position["halfmove"]),
            str(position["fullmove"]),
        ]
    )


def moves_of(position: np.void) -> list[int]:
    """The legal moves as Python integers."""
    out = np.empty(MAX_MOVES, np.int64)
    return out[: legal_moves(position, out)].tolist()


def after(position: np.void, move: int) -> np.void:
    """The position after a legal move, as a new record."""
    new = np.empty(1, POSITION)[0]
    make(position, new, move)
    return new


def _parts(move: int) -> tuple[int, int, int]:
    return move & 63, move >> 6 & 63, move >> 12 & 7


def move_to_uci(move: int) -> str:
    """``e7e8q``; ``0000`` for no move."""
    if move == NO_MOVE:
        return "0000"
    start, square, move_kind = _parts(move)
    promotion = "nbrq"[move_kind - PROMOTION] if move_kind >= PROMOTION else ""
    return square_name(start) + square_name(square) + promotion


def parse_uci(position: np.void, text: str) -> int:
    """The legal move that a UCI string names; ValueError when there is none."""
    for move in moves_of(position):
        if move_to_uci(move) == text:
            return move
    raise ValueError(f"{text!r} is no legal move in {to_fen(position)}")


def move_to_san(position: np.void, move: int) -> str:
    """Standard algebraic notation with check and mate signs."""
    return sans(replay(position, [move]), [move])[0]


def parse_san(position: np.void, text: str) -> int:
    """The legal move that a SAN string names, tolerant of missing or superfluous signs.

    Raises
    ------
    ValueError
        When no legal move or more than one fits.
    """
    bare = text.rstrip("+#!?").replace("0", "O") if text[:1] in "O0" else text.rstrip("+#!?")
    moves = moves_of(position)
    if bare in ("O-O", "O-O-O"):
        fits = [
            move
            for move in moves
            for start, to, move_kind in [_parts(move)]
            if move_kind == CASTLING and (to > start) == (bare == "O-O")
        ]
    else:
        match = _SAN.fullmatch(bare)
        if match is None:
            raise ValueError(f"{text!r} is no move in SAN")
        letter, file, rank, _, goal, promotion = match.groups()
        role = ROLES.index(letter) if letter else PAWN
        square = parse_square(goal)
        fits = []
        for move in moves:
            start, to, move_kind = _parts(move)
            promoted = ROLES[move_kind - PROMOTION + KNIGHT] if move_kind >= PROMOTION else None
            if (
                to == square
                and move_kind != CASTLING
                and position["board"][start] // 2 == role
                and (file is None or square_name(start)[0] == file)
                and (rank is None or square_name(start)[1] == rank)
                and promoted == (promotion.upper() if promotion else None)
            ):
                fits.append(move)
    if len(fits) != 1:
        reason = "ambiguous" if fits else "no legal move"
        raise ValueError(f"{text!r} is {reason} in {to_fen(position)}")
    return fits[0]
