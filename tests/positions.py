"""Positions that many tests begin with."""

from __future__ import annotations

import random

import chess

KIWIPETE = "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1"


def random_fens(seed: int, n: int, plies: range = range(1, 120)) -> list[str]:
    """FENs of games that end after a random number of half-moves."""
    choose, fens = random.Random(seed), []
    while len(fens) < n:
        board = chess.Board()
        for _ in range(choose.randrange(plies.start, plies.stop)):
            legal = list(board.legal_moves)
            if not legal:
                break
            board.push(choose.choice(legal))
        fens.append(board.fen())
    return fens
