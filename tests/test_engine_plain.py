"""The search without its guesses is alpha-beta: the same values as an obvious twin."""

from __future__ import annotations

import os
import random
import subprocess
import sys

import chess

from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from tests.naive import engine as naive
from tests.test_chess import SEEDS

GUESSES = (  # what may leave out the best move, or searches it less
    "transposition,table-evaluation,null-move,reverse-futility,razoring,internal-reduction,check,"
    "late-pruning,futility,exchange-pruning,late-reduction,delta,late-evasions"
)
PLAIN_SEARCH = """
import sys
from nnuelab.chess import notation
from nnuelab.engine.search import Engine
from tests.naive.engine import material_net
engine = Engine(material_net(noise=3), hash_mb=1)
for line in sys.stdin:
    depth, fen = line.split(" ", 1)
    print(engine.search(notation.from_fen(fen.strip()), depth=int(depth)).score_cp)
"""


def positions() -> list[tuple[int, str]]:
    """Depths and positions of random games: castling, promotions, en passant, checks."""
    choose, chosen = random.Random(3), []
    for seed in SEEDS:
        board = chess.Board(seed)
        for move in range(24):
            if move % 8 == 0 and any(board.legal_moves):
                depth = 3 if chess.popcount(board.occupied) < 9 else 2
                chosen.append((depth, board.fen()))
            legal = list(board.legal_moves)
            if not legal:
                break
            board.push(choose.choice(legal))
    return chosen


def test_without_guesses_the_search_is_alpha_beta() -> None:
    """Whatever lists, orders and windows do: no move is lost, none is played that isn't there."""
    asked = positions()
    done = subprocess.run(
        [sys.executable, "-c", PLAIN_SEARCH],
        input="".join(f"{depth} {fen}\n" for depth, fen in asked),
        env=os.environ | {"NNUELAB_WITHOUT": GUESSES},
        capture_output=True,
        text=True,
        check=True,
    )
    engine = Engine(naive.material_net(noise=3), hash_mb=1)

    def evaluate(board: chess.Board) -> int:
        return engine.evaluate(notation.from_fen(board.fen()))

    ours = dict(zip(asked, map(int, done.stdout.split()), strict=True))
    assert ours == {
        (depth, fen): naive.alpha_beta(chess.Board(fen), evaluate, depth) for depth, fen in asked
    }
