"""Slow, obvious twins of the data room, by python-chess' game tree."""

from __future__ import annotations

import io

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
