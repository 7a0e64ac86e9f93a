"""Slow, obvious twins of the data room, by python-chess' game tree."""

from __future__ import annotations

import io
import statistics
from collections import defaultdict
from collections.abc import Iterator

import chess
import chess.pgn
import numpy as np

QUARTILES = ("lower", "median", "upper")


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
        points = None if score is None else score.relative.score(mate_score=32000)
        yield board, node.move, None if points is None else max(-32_700, min(32_700, points))
        board.push(node.move)


def material(board: chess.Board) -> int:
    """Pieces of both sides in pawns: 1, 3, 3, 5, 9."""
    values = (1, 3, 3, 5, 9, 0)
    return sum(values[piece.piece_type - 1] for piece in board.piece_map().values())


def legal_moves_by_turn(
    boards: list[chess.Board], color: chess.Color, fewest: int
) -> dict[str, list[float]]:
    """Quartiles of the legal moves of a colour, by move number with at least ``fewest`` boards."""
    by_turn: defaultdict[int, list[int]] = defaultdict(list)
    for board in boards:
        if board.turn == color:
            by_turn[board.fullmove_number].append(board.legal_moves.count())
    found: dict[str, list[float]] = {k: [] for k in ("turn", "positions", *QUARTILES)}
    for turn, legal in sorted(by_turn.items()):
        if len(legal) >= fewest:
            quartiles = statistics.quantiles(legal, n=4, method="inclusive")
            row = (turn, len(legal), *quartiles)
            for values, value in zip(found.values(), row, strict=True):
                values.append(value)
    return found


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


def fault(record: np.void) -> int:
    """Kind of a record's first fault by a plain board, in the order of `validation.FAULTS`."""
    board = {}
    squares = [square for square in range(64) if int(record["occupied"]) >> square & 1]
    codes = int(record["pieces_low"]) | int(record["pieces_high"]) << 64
    for place, square in enumerate(squares):
        board[square] = codes >> (4 * place) & 15
    kings = [sum(code == king for code in board.values()) for king in (10, 11)]
    on_edge = any(board.get(square) in (0, 1) for square in [*range(8), *range(56, 64)])
    if len(board) > 32 or any(code >= 12 for code in board.values()) or kings != [1, 1] or on_edge:
        return 1
    flags, ep = int(record["flags"]), int(record["ep"])
    homes = [(4, 10, 7, 6), (4, 10, 0, 6), (60, 11, 63, 7), (60, 11, 56, 7)]
    for right, (king, its_code, rook, rooks_code) in enumerate(homes):
        if flags >> (right + 1) & 1 and (board.get(king), board.get(rook)) != (
            its_code,
            rooks_code,
        ):
            return 2
    black = flags & 1
    wrong_ep = ep != 64 and (
        ep // 8 != (2 if black else 5) or ep in board or board.get(ep ^ 8) != 1 - black
    )
    if flags >= 32 or wrong_ep:
        return 2
    if not -1 <= record["result"] <= 2:
        return 3
    if abs(int(record["score"])) > 32_700 and record["score"] != -32768:
        return 4
    there = chess.Board(None)
    for square, code in board.items():
        there.set_piece_at(square, chess.Piece(code // 2 + 1, code % 2 == 0))
    there.turn = not black
    return 5 if there.was_into_check() else 0
