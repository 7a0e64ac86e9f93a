"""Slow, obvious twins of the engine's kernels, and a net whose value is the material."""

from __future__ import annotations

from collections.abc import Callable

import chess
import numpy as np

from nnuelab import features
from nnuelab.engine.state import MATE, MATE_BOUND
from nnuelab.nnue.netfile import Net

VALUES = {
    chess.PAWN: 100,
    chess.KNIGHT: 300,
    chess.BISHOP: 300,
    chess.ROOK: 500,
    chess.QUEEN: 900,
    chess.KING: 0,
}
# What may leave out the best move, or searches it less. Tests of a build without terms leave out
# all of these: each build is compiled for a minute.
GUESSES = (
    "transposition,table-evaluation,null-move,reverse-futility,razoring,internal-reduction,check,"
    "late-pruning,futility,exchange-pruning,late-reduction,delta,late-evasions"
)


def exchange(board: chess.Board, move: chess.Move) -> int:
    """What the exchange that ``move`` begins wins, with both sides stopping when they like."""
    if board.is_castling(move):
        return 0
    square, occupied = move.to_square, board.occupied & ~chess.BB_SQUARES[move.from_square]
    victim = board.piece_type_at(square)
    gain = VALUES[victim] if victim else 0
    if board.is_en_passant(move):
        gain = VALUES[chess.PAWN]
        occupied &= ~chess.BB_SQUARES[square ^ 8]
    placed = VALUES[board.piece_type_at(move.from_square) or chess.PAWN]
    if move.promotion:
        gain += VALUES[move.promotion] - VALUES[chess.PAWN]
        placed = VALUES[move.promotion]
    return gain - _answer(board, not board.turn, square, placed, occupied)


def _answer(board: chess.Board, side: bool, square: int, prize: int, occupied: int) -> int:
    """The most that ``side`` wins by taking ``prize`` on the square or leaving it."""
    attackers = board.attackers_mask(side, square, occupied) & occupied
    if not attackers:
        return 0
    taker = min(chess.scan_forward(attackers), key=lambda s: board.piece_type_at(s) or 0)
    role = board.piece_type_at(taker) or chess.PAWN
    occupied &= ~chess.BB_SQUARES[taker]
    defenders = board.attackers_mask(not side, square, occupied) & occupied
    if role == chess.KING and defenders:
        return 0
    placed = VALUES[role]
    if role == chess.PAWN and chess.square_rank(square) in (0, 7):
        placed = VALUES[chess.QUEEN]
        prize += placed - VALUES[chess.PAWN]
    return max(0, prize - _answer(board, not side, square, placed, occupied))


def material_net(noise: int = 0) -> Net:
    """A net over ALL that counts pieces (1, 3, 3, 5, 9), in pawns of 100 centipawns.

    ``noise`` is the largest extra weight of a feature, so that positions differ.
    """
    size, width = features.parse("ALL").size, 32
    rng = np.random.default_rng(7)
    w1 = np.zeros((size, width), np.int16)
    own = np.array([1, 3, 3, 5, 9, 0])
    for row in range(size):
        role, color = row % 12 // 2, row % 2
        if color == 0:
            w1[row, 0] = own[role]
    if noise:
        w1[:, 1:] = rng.integers(-noise, noise + 1, (size, width - 1))
    w2 = np.zeros((3, 2 * width), np.int8)
    w2[0, 0], w2[0, width] = 64, -64
    w2[1, 0], w2[1, width] = -64, 64
    if noise:
        w2[2] = rng.integers(-9, 10, 2 * width)
    return Net(
        "ALL",
        w1=w1,
        b1=np.zeros(width, np.int16),
        w2=w2,
        b2=np.zeros(3, np.int32),
        w3=np.array([1600, -1600, 32], np.int16),
        b3=np.zeros(1, np.int32),
    )


def groups(
    board: chess.Board, moves: list[chess.Move], first: chess.Move | None
) -> list[list[chess.Move]]:
    """Moves by when they are tried.

    First the table's move; captures and queen promotions that don't lose material; quiet moves;
    those that lose; promotions to less than a queen.
    """
    found: list[list[chess.Move]] = [[] for _ in range(5)]
    for move in moves:
        if move == first:
            place = 0
        elif move.promotion and move.promotion != chess.QUEEN:
            place = 4
        elif move.promotion or board.is_capture(move):
            place = 1 if exchange(board, move) >= 0 else 3
        else:
            place = 2
        found[place].append(move)
    return found


class Unsure(Exception):
    """What is best here depends on the order of moves."""


def _is_draw(board: chess.Board) -> bool:
    return board.is_insufficient_material() or (
        board.halfmove_clock >= 100 and any(board.legal_moves)
    )


def quiescence(
    board: chess.Board,
    evaluate: Callable[[chess.Board], int],
    alpha: int,
    beta: int,
    *,
    ply: int = 0,
    whole: bool = False,
) -> int:
    """A position's value once the captures that don't lose are played out.

    ``whole``: no capture is left out for its small gain, and no answer to a check for being late.

    Raises
    ------
    Unsure
        In check with more than three answers unless ``whole``: quiet ones may be left out.
    """
    if _is_draw(board):
        return 0
    moves = list(board.legal_moves)
    if board.is_check():
        if len(moves) > 3 and not whole:
            raise Unsure
        best = ply - MATE
    else:
        best = evaluate(board)
        moves = [
            move
            for move in moves
            if (board.is_capture(move) and not move.promotion) or move.promotion == chess.QUEEN
        ]
    still = best

    def loses(move: chess.Move) -> bool:
        if move.promotion and move.promotion != chess.QUEEN:
            return True
        return bool(board.is_capture(move) or move.promotion) and exchange(board, move) < 0

    for move in sorted(moves, key=loses):
        if best >= beta or (best > -MATE_BOUND and loses(move)):
            break
        victim = board.piece_type_at(move.to_square)
        gain = still + (VALUES[victim] if victim else 100) + 150
        if not whole and not board.is_check() and not move.promotion and gain <= alpha:
            best = max(best, gain)
            continue
        board.push(move)
        below = quiescence(board, evaluate, -beta, -max(alpha, best), ply=ply + 1, whole=whole)
        best = max(best, -below)
        board.pop()
    return best


def alpha_beta(
    board: chess.Board,
    evaluate: Callable[[chess.Board], int],
    depth: int,
    alpha: int = -MATE,
    beta: int = MATE,
    ply: int = 0,
) -> int:
    """The value of a position to a depth below 4, where nothing can repeat, without any pruning."""
    if depth == 0:
        return quiescence(board, evaluate, alpha, beta, ply=ply, whole=True)
    if ply and _is_draw(board):
        return 0
    best = None
    for move in sorted(board.legal_moves, key=board.is_capture, reverse=True):
        board.push(move)
        below = alpha_beta(
            board,
            evaluate,
            depth - 1,
            -beta,
            -(alpha if best is None else max(alpha, best)),
            ply + 1,
        )
        board.pop()
        best = -below if best is None else max(best, -below)
        if best >= beta:
            break
    if best is None:
        return ply - MATE if board.is_check() else 0
    return best
