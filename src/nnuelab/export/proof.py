"""What exported code is compared with: positions along games, and what this project says of them.

A game begins at one of some positions rich in special moves, goes on by random legal moves, with a
null move now and then, and is a line for each position::

    FEN;centipawns;active features of White;of Black;hash of White's accumulator;of Black's
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from nnuelab import evaluator
from nnuelab.chess import notation
from nnuelab.features.check import random_games
from nnuelab.features.kernels import feature_set as kernels
from nnuelab.features.tables import Tables, compiled
from nnuelab.nnue.evaluator import NetEvaluator
from nnuelab.nnue.netfile import Net

_MULTIPLIER = 16777619


def lines(net: Net, games: int, seed: int = 0) -> Iterator[str]:
    """The lines of random games; "-" ends a game."""
    powers = np.full(net.l1, _MULTIPLIER, np.uint32)
    powers[-1:] = 1
    powers = np.cumprod(powers[::-1], dtype=np.uint32)[::-1]
    bound, tables = NetEvaluator(net).bind(), compiled(net.features)
    for game in random_games(games, seed):
        for value, position in zip(
            evaluator.values(bound, game.positions), game.positions, strict=True
        ):
            rows = [active(tables, position, perspective) for perspective in range(2)]
            hashes = [_hash(net, of, powers) for of in rows]
            yield ";".join(map(str, [notation.to_fen(position), value, *map(len, rows), *hashes]))
        yield "-"


def active(tables: Tables, position: np.void, perspective: int) -> np.ndarray:
    """int32[n]: the active features of a perspective, 0 White's, in no order."""
    out = np.empty(int(tables.record["max_active"]), np.int32)
    return out[: kernels.active(tables.record, position, perspective, out)]


def _hash(net: Net, rows: np.ndarray, powers: np.ndarray) -> int:
    """Of an accumulator modulo 2^16: h = h * 16777619 + number, modulo 2^32."""
    accumulator = (net.b1 + net.w1[rows].sum(0, dtype=np.int64)).astype(np.uint16)
    return int((accumulator * powers).sum(dtype=np.uint32))
