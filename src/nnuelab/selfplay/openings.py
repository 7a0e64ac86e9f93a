"""Random balanced openings: candidates by number, judged by an engine, each position once."""

from __future__ import annotations

import random

import chess

from nnuelab.errors import UserError
from nnuelab.selfplay.uci import UciEngine

MAX_REJECTED = 10_000  # candidates in a row: where fewer are fit, a set of openings has no end
DECISIVE = 100_000  # centipawns that stand for a mate where scores are compared with bounds


def candidate(seed: int, number: int, attempt: int, plies: int) -> chess.Board:
    """The position after ``plies`` or ``plies + 1`` random legal moves, by seed and numbers alone.

    Moves are drawn uniformly among the legal ones. A game may end on the way; the board then has
    fewer moves and is over.
    """
    # random.Random hashes a string with SHA-512: the same on every platform and version.
    generator = random.Random(f"{seed}/{number}/{attempt}")
    board = chess.Board()
    # Both colours shall move first as often, or the data would know one tempo parity only.
    for _ in range(plies + generator.randrange(2)):
        moves = sorted(board.legal_moves, key=chess.Move.uci)
        if not moves:
            break
        board.push(generator.choice(moves))
    return board


def usable(board: chess.Board) -> bool:
    """Whether a game can begin here: not over, and the side to move isn't in check."""
    return not board.is_check() and not board.is_game_over()


def balanced(engine: UciEngine, board: chess.Board, max_score: int) -> bool:
    """Whether the engine, its memory cleared, finds ``board`` within ``max_score`` centipawns."""
    engine.new_game()
    found = engine.search([move.uci() for move in board.move_stack], board.turn)
    return abs(found.score.relative.score(mate_score=DECISIVE)) <= max_score


def opening(engine: UciEngine, seed: int, number: int, plies: int, max_score: int) -> chess.Board:
    """The first usable and balanced candidate of opening ``number``.

    Raises
    ------
    UserError
        When MAX_REJECTED candidates aren't.
    """
    for attempt in range(MAX_REJECTED):
        board = candidate(seed, number, attempt, plies)
        if usable(board) and balanced(engine, board, max_score):
            return board
    raise UserError(
        f"none of {MAX_REJECTED:,} positions after {plies} or {plies + 1} random plies is within "
        f"{max_score} centipawns; give a larger --max-opening-score or fewer --random-plies"
    )
