"""Moves in standard algebraic notation, a whole game at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nnuelab.chess.fen import write_square
from nnuelab.chess.moves import (
    CASTLING,
    MAX_MOVES,
    PROMOTION,
    is_capture,
    kind,
    legal_moves,
    make,
    origin,
    target,
)
from nnuelab.chess.position import KNIGHT, PAWN, POSITION
from nnuelab.jit import at, jit

WIDTH = 8  # characters: the longest, Qa1xb2+, has 7
_LETTERS = np.frombuffer(b"PNBRQK", np.uint8)
_TAKES, _PROMOTES, _CHECK, _MATE = (np.uint8(ord(letter)) for letter in "x=+#")
_FILE_A, _RANK_1, _SHORT = np.uint8(ord("a")), np.uint8(ord("1")), np.uint8(ord("O"))
_DASH = np.uint8(ord("-"))


@jit
def _write_origin(position, move, moves, text, n):
    """Writes the file or rank of a piece where others of its role could move there, too."""
    start, square = origin(move), target(move)
    piece = position.board[at(start)]
    rivals, on_file, on_rank = False, False, False
    for i in range(legal_moves(position, moves)):
        other = origin(moves[at(i)])
        if target(moves[at(i)]) == square and other != start and position.board[other] == piece:
            rivals = True
            on_file |= other & 7 == start & 7
            on_rank |= other >> 3 == start >> 3
    if rivals and (on_rank or not on_file):
        text[at(n)] = _FILE_A + np.uint8(start & 7)
        n += 1
    if on_file:
        text[at(n)] = _RANK_1 + np.uint8(start >> 3)
        n += 1
    return n


@jit
def _write(positions, played, moves, texts):
    """Writes each move's text, ends of the rows staying 0; ``positions`` has one more."""
    for i in range(len(played)):
        position, move, text = positions[at(i)], played[at(i)], texts[at(i)]
        start, square, move_kind = origin(move), target(move), kind(move)
        role = np.int64(position.board[at(start)]) >> 1
        n = np.int64(0)
        if move_kind == CASTLING:
            for _ in range(1 if square > start else 2):
                text[at(n)], text[at(n + 1)] = _SHORT, _DASH
                n += 2
            text[at(n)] = _SHORT
            n += 1
        else:
            takes = is_capture(position, move)
            if role != PAWN:
                text[0] = _LETTERS[role]
                n = _write_origin(position, move, moves, text, np.int64(1))
            elif takes:
                text[0] = _FILE_A + np.uint8(start & 7)
                n = np.int64(1)
            if takes:
                text[at(n)] = _TAKES
                n += 1
            n = write_square(square, text, n)
            if move_kind >= PROMOTION:
                text[at(n)] = _PROMOTES
                text[at(n + 1)] = _LETTERS[move_kind - PROMOTION + KNIGHT]
                n += 2
        below = positions[at(i + 1)]
        if below.checkers:
            text[at(n)] = _CHECK if legal_moves(below, moves) else _MATE


def sans(positions: np.ndarray, moves: Sequence[int] | np.ndarray) -> list[str]:
    """The moves of a game in SAN, with signs of check and mate.

    Parameters
    ----------
    positions : POSITION [n + 1]
        Before each move, and after the last.
    moves : int [n]
        Legal ones.

    >>> from nnuelab.chess.notation import STARTING_FEN, after, from_fen, parse_uci
    >>> start = from_fen(STARTING_FEN)
    >>> move = parse_uci(start, "g1f3")
    >>> sans(np.array([start, after(start, move)]), [move])
    ['Nf3']
    """
    texts = np.zeros((len(moves), WIDTH), np.uint8)
    played = np.asarray(moves, np.int64)
    _write(positions, played, np.empty(MAX_MOVES, np.int64), texts)
    return [text.decode() for text in texts.view(f"S{WIDTH}").ravel().tolist()]


@jit
def _replay(moves, positions):
    for i in range(len(moves)):
        make(positions[at(i)], positions[at(i + 1)], moves[at(i)])


def replay(start: np.void, moves: Sequence[int] | np.ndarray) -> np.ndarray:
    """POSITION [n + 1]: ``start`` and the positions after each of ``moves``, legal ones."""
    positions = np.empty(len(moves) + 1, POSITION)
    positions[0] = start
    _replay(np.asarray(moves, np.int64), positions)
    return positions
