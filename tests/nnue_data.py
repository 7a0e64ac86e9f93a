"""Small datasets for the tests of training."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import chess
import numpy as np

from nnuelab.data.records import NO_SCORE, RECORD, from_fen

VALUES = {chess.PAWN: 100, chess.KNIGHT: 300, chess.BISHOP: 300, chess.ROOK: 500, chess.QUEEN: 900}


def material(board: chess.Board) -> int:
    """Centipawns for the side to move."""
    return sum(
        value * (len(board.pieces(role, board.turn)) - len(board.pieces(role, not board.turn)))
        for role, value in VALUES.items()
    )


def pack_move(board: chess.Board, move: chess.Move) -> int:
    """A move of python-chess in the layout of ``chess.moves``."""
    kind = 0
    if move.promotion:
        kind = move.promotion + 2  # knight (2) .. queen (5) -> 4 .. 7
    elif board.is_castling(move):
        kind = 2
    elif board.is_en_passant(move):
        kind = 3
    elif board.pawns >> move.from_square & 1 and abs(move.to_square - move.from_square) == 16:
        kind = 1
    return move.from_square | move.to_square << 6 | kind << 12


@cache
def games(count: int, greedy: bool = False, plies: int = 160) -> np.ndarray:
    """Every position of random games, with the material balance as its score, and the move.

    Greedy moves take the most valuable piece that can be taken; the game goes on by others.
    """
    found = []
    for seed in range(count):
        rng, board = np.random.default_rng(seed), chess.Board()
        while board.ply() < plies and not board.is_game_over():
            moves = list(board.legal_moves)
            played = move = moves[rng.integers(len(moves))]
            if greedy:
                taken = [VALUES.get(board.piece_type_at(m.to_square) or 0, 0) for m in moves]
                move = moves[taken.index(max(taken))]
            record = from_fen(board.fen())
            record["score"], record["move"] = material(board), pack_move(board, move)
            record["result"], record["game"] = np.sign(record["score"]), seed
            found.append(record)
            board.push(played)
    return np.array(found, RECORD)


def write_datasets(folder: Path, greedy: bool = False) -> tuple[Path, Path]:
    """Files to train on and to validate with; some positions have no score."""
    every, held_out = games(40 if greedy else 12, greedy).copy(), 1000 if greedy else 200
    every["score"][::50] = NO_SCORE
    paths = folder / "train.npy", folder / "validation.npy"
    np.save(paths[0], every[:-held_out])
    np.save(paths[1], every[-held_out:])
    return paths
