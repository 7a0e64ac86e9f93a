"""What legal moves change, counted with python-chess and sets."""

from __future__ import annotations

from collections import Counter

import chess

from tests.naive.features import active


def counts(expression: str, fens: list[str]) -> dict[str, Counter[str]]:
    """Sums over positions and legal moves, for the perspective of the mover and of the other."""
    found: dict[str, Counter[str]] = {"mover": Counter(), "other": Counter()}
    for fen in fens:
        board = chess.Board(fen)
        for side, perspective in (("mover", board.turn), ("other", not board.turn)):
            before = set(active(expression, board, perspective))
            found[side] += Counter(positions=1, active=len(before))
            for move in board.legal_moves:
                board.push(move)
                after = set(active(expression, board, perspective))
                board.pop()
                found[side] += Counter(
                    moves=1,
                    added=len(after - before),
                    removed=len(before - after),
                    touched=len(after ^ before),
                )
    return found


def seen(expression: str, fens: list[str]) -> set[int]:
    """Features that are active in any of the positions, for either player."""
    boards = [chess.Board(fen) for fen in fens]
    return {i for board in boards for side in chess.COLORS for i in active(expression, board, side)}
