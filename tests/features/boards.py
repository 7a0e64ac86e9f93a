"""Boards for tests: of games, and such as no game has."""

from __future__ import annotations

import random

import chess

from tests.conftest import ROOT
from tests.features.test_attacks import real_boards


def of_games(n: int) -> list[chess.Board]:
    """Positions of the games that come with the project."""
    return list(real_boards(ROOT / "resources" / "embedded" / "games.pgn.zst", n))


def strewn(seed: int, men: int) -> chess.Board:
    """Kings and any other pieces anywhere, a third of these pawns; python-chess finds it legal."""
    choose = random.Random(seed)
    while True:
        board = chess.Board(None)
        squares = choose.sample(range(64), men)
        for square, piece in zip(squares, "Kk", strict=False):
            board.set_piece_at(square, chess.Piece.from_symbol(piece))
        for square in squares[2:]:
            pieces = "PPPpppNnBbRrQq" if 0 < chess.square_rank(square) < 7 else "NnBbRrQq"
            board.set_piece_at(square, chess.Piece.from_symbol(choose.choice(pieces)))
        board.turn = choose.choice((chess.WHITE, chess.BLACK))
        if board.is_valid():
            return board
