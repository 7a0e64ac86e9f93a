"""Feature sets and games for the tests: all blocks by registration, products and sums of them."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path

import chess.pgn

from nnuelab.chess import notation
from nnuelab.features import Block, Family, check, pair_list, registry
from nnuelab.features.concepts import SQUARES

PRODUCTS = (
    "H*V",
    "D1*D1",
    "KING*ALL",
    "ALL*KING",
    "KING*PH",
    "PV*H",
    "KB(4)*H",
    "PHASE(2,H)*V",
    "YACGE*V",
    "KING*H*V",
)
LARGEST = 100_000  # features of a block that sums are drawn from


def pair_file(folder: Path) -> Path:
    """A list for TOPK; some pairs have their mirror image in it, some not."""
    squares = [SQUARES.values[s] for s in range(0, 64, 3)]
    places = [(piece, square) for piece in "RnPk" for square in squares]
    lines = [f"{a}{b},{c}{d},9" for (a, b), (c, d) in combinations(places, 2) if b != d]
    path = folder / "pairs.csv"
    path.write_text("\n".join([",".join(pair_list.HEADER), *lines, ""]))
    return path


def blocks() -> list[str]:
    """An expression for every block of the package, and the examples of every family."""
    found: list[str] = []
    for known in dict.fromkeys(registry.load().values()):
        if isinstance(known, Family):
            assert known.examples, f"{known.name} has no examples for the tests"
        found += [known.name] if isinstance(known, Block) else known.examples
    return found


def sums(names: list[str], n: int, seed: int = 4) -> list[str]:
    """Sums of two to four blocks, drawn by a seed."""
    rng = random.Random(seed)
    return ["+".join(rng.sample(names, rng.randint(2, 4))) for _ in range(n)]


def real_games(path: Path, n: int) -> list[check.Game]:
    """The first games of a PGN file that can be replayed to the end."""
    games = []
    with open(path) as file:
        while len(games) < n and (game := chess.pgn.read_game(file)) is not None:
            positions, moves = [notation.from_fen(game.board().fen())], []
            for move in game.mainline_moves():
                moves.append(notation.parse_uci(positions[-1], move.uci()))
                positions.append(notation.after(positions[-1], moves[-1]))
            games.append(check.Game(positions, moves))
    return games
