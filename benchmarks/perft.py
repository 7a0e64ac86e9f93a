"""Leaf nodes of perft a second, against python-chess and Stockfish."""

from __future__ import annotations

from collections.abc import Iterator

import chess

from benchmarks.harness import Row, in_turn, rate, row, stockfish
from nnuelab.chess import notation
from nnuelab.chess.perft import perft
from nnuelab.engine.bench import POSITIONS

ROUNDS = 5
PYTHON_DEPTH = 3  # of python-chess
PLACES = {  # FEN, depth, and how many times Stockfish's nodes/s: at least, and the aim
    "start": (POSITIONS[0], 6, 1.3, 2.0),
    "Kiwipete": (POSITIONS[2], 5, 1.6, 3.0),
}


def rows() -> Iterator[Row]:
    """A row for each position and reference."""
    for name, (fen, depth, *against_stockfish) in PLACES.items():
        bounds = {"python-chess": [100.0], "stockfish": against_stockfish}
        found = _measured(fen, depth)
        for side in list(found)[1:]:
            title = f"perft {name} d{depth}, against {side}"
            yield row(title, "nodes/s", found["ours"], found[side], *bounds[side])


def _measured(fen: str, depth: int) -> dict[str, list[float]]:
    position, board, engine = notation.from_fen(fen), chess.Board(fen), stockfish()
    nodes, few = perft(position, depth), perft(position, PYTHON_DEPTH)
    sides = {
        "ours": lambda: rate(nodes, lambda: perft(position, depth)),
        "python-chess": lambda: rate(few, lambda: _python_perft(board, PYTHON_DEPTH)),
    }
    if engine:
        commands = f"position fen {fen}\ngo perft {depth}"
        sides["stockfish"] = lambda: nodes / engine.ask(commands, "Nodes searched")
    found = in_turn(sides, ROUNDS)
    if engine:
        engine.close()
    return found


def _python_perft(board: chess.Board, depth: int) -> int:
    if depth == 1:
        return board.legal_moves.count()
    total = 0
    for move in board.legal_moves:
        board.push(move)
        total += _python_perft(board, depth - 1)
        board.pop()
    return total
