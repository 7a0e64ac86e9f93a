"""The search without its guesses is alpha-beta: the same values as an obvious twin."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys

import chess

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from tests.chess.test_moves import SEEDS
from tests.naive import engine as naive

FEW_PIECES = [  # the answer to one move of each is best by castling or en passant: the table's move
    "4k3/3p1p2/8/2P1P1P1/8/8/8/4K3 b - - 0 1",
    "4k2r/8/8/8/8/5p2/3P1P2/4K3 w k - 0 1",
    "r3k3/7p/8/6P1/8/2n5/8/4KR2 b q - 0 1",
    "8/8/8/1k6/3p1p2/8/2P1P1P1/4K2R w K - 0 1",
]
PLAIN_SEARCH = """
import json
import sys
from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from nnuelab.nnue.evaluator import NetEvaluator
from tests.naive.engine import material_net
engine = Engine(NetEvaluator(material_net(noise=3)), hash_mb=1)
for asked in sys.stdin:
    depth, lines, fen = asked.strip().split(" ", 2)
    told = []
    engine.search(
        notation.from_fen(fen), depth=int(depth), multipv=int(lines), on_info=told.append
    )
    last = [line for line in told if line.depth == int(depth)]
    print(json.dumps({notation.move_to_uci(line.move): line.score_cp for line in last}))
"""


def positions() -> list[str]:
    """Positions of random games: castling, promotions, en passant, checks."""
    choose, chosen = random.Random(3), []
    for seed in SEEDS:
        board = chess.Board(seed)
        for move in range(24):
            if move % 8 == 0 and any(board.legal_moves):
                chosen.append(board.fen())
            legal = list(board.legal_moves)
            if not legal:
                break
            board.push(choose.choice(legal))
    return chosen


def test_without_guesses_the_search_is_alpha_beta() -> None:
    """Whatever lists, orders and windows do: no move is lost, none is played that isn't there."""
    asked = [(2, 1, fen) for fen in positions()] + [(3, 99, fen) for fen in FEW_PIECES]
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_SEARCH],
        input="".join(f"{depth} {lines} {fen}\n" for depth, lines, fen in asked),
        env=os.environ | {"NNUELAB_WITHOUT": naive.GUESSES},
        capture_output=True,
        text=True,
        check=True,
    )
    engine = Engine(NetEvaluator(naive.material_net(noise=3)), hash_mb=1)

    def evaluate(board: chess.Board) -> int:
        return engine.evaluate(notation.from_fen(board.fen()))

    for (depth, lines, fen), ours in zip(
        asked, map(json.loads, done.stdout.splitlines()), strict=True
    ):
        board = chess.Board(fen)
        best = naive.alpha_beta(board, evaluate, depth)
        assert max(ours.values()) == best, fen
        if lines == 1:
            continue
        assert set(ours) == {move.uci() for move in board.legal_moves}
        for move in board.legal_moves:
            board.push(move)
            theirs = -naive.alpha_beta(board, evaluate, depth - 1, ply=1)
            board.pop()
            assert ours[move.uci()] == theirs, (fen, move.uci())
