"""Slow, obvious twins of the data room, by python-chess' game tree."""

from __future__ import annotations

import io
from collections.abc import Iterator

import chess
import chess.pgn


def packed_board(board: chess.Board) -> tuple[int, int, int]:
    """occupied, pieces_low and pieces_high of a record."""
    codes = [
        (piece.piece_type - 1) * 2 + (piece.color == chess.BLACK)
        for _, piece in sorted(board.piece_map().items())
    ]
    nibbles = sum(code << (4 * i) for i, code in enumerate(codes))
    return int(board.occupied), nibbles % 2**64, nibbles >> 64


def played(game: chess.pgn.Game) -> Iterator[tuple[chess.Board, chess.Move, int | None]]:
    """(board, move played, score for the side to move) of each position of the first moves."""
    board = game.board()
    for node in game.mainline():
        before = node.parent
        score = before.eval() if before.parent else None
        yield board, node.move, None if score is None else score.relative.score(mate_score=32000)
        board.push(node.move)


def material(board: chess.Board) -> int:
    """Pieces of both sides in pawns: 1, 3, 3, 5, 9."""
    values = (1, 3, 3, 5, 9, 0)
    return sum(values[piece.piece_type - 1] for piece in board.piece_map().values())


def samples(
    text: str, min_ply: int, skip_check: bool, skip_captures: bool
) -> list[tuple[str, int | None, str]]:
    """(FEN, score for the side to move, move) of each position of one game that is a sample."""
    game = chess.pgn.read_game(io.StringIO(text))
    assert game is not None
    found = []
    for node in game.mainline():
        before = node.parent
        board = before.board()
        if board.ply() < min_ply:
            continue
        if skip_check and board.is_check():
            continue
        if skip_captures and (board.is_capture(node.move) or node.move.promotion):
            continue
        score = before.eval()
        points = None if score is None else score.relative.score(mate_score=32000)
        found.append((board.fen(en_passant="legal"), points, node.move.uci()))
    return found
